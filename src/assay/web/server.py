"""The server: bound to the loopback address, with a random token in its address."""

import secrets
import socket
import threading
from collections.abc import Callable, Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from assay.core.errors import UsageError

_LOOPBACK = "127.0.0.1"


class Viewer:
    """Serves the pages of runs until it is stopped.

    Args:
        folders: Run folders, or folders with runs below them.
        imported: Files and folders of other harnesses.
        port: The port to listen on; 0 takes a free one.
    """

    def __init__(self, folders: Sequence[Path], port: int = 0, imported: Sequence[Path] = ()) -> None:
        import uvicorn

        from assay.web.app import make_app
        from assay.web.guard import Guard
        from assay.web.runs import Runs

        self._runs = runs = Runs(folders, imported)
        self._socket = _listen(port)
        self.port: int = self._socket.getsockname()[1]
        self.token = secrets.token_urlsafe(24)
        config = uvicorn.Config(
            Guard(make_app(runs, self._is_stopping), self.token, self.port),
            log_level="error",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=5,
        )
        self._server = uvicorn.Server(config)

    @property
    def address(self) -> str:
        """The address of the first page, with the token."""
        return f"http://{_LOOPBACK}:{self.port}/?token={self.token}"

    def serve(self, on_ready: Callable[[], None] | None = None) -> None:
        """Serve until `stop` is called or the process is interrupted; connections already wait before `on_ready`."""
        threading.Thread(target=self._runs.load_only, daemon=True).start()
        if on_ready:
            on_ready()
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._socket.close()

    def stop(self) -> None:
        """Make `serve` return."""
        self._server.should_exit = True

    def _is_stopping(self) -> bool:
        return self._server.should_exit


def serve_files(folder: Path, port: int, on_ready: Callable[[str], None]) -> None:
    """Serve the files of a static site on this machine until interrupted; `on_ready` gets its address."""
    try:
        server = ThreadingHTTPServer((_LOOPBACK, port), partial(_Quiet, directory=str(folder)))
    except OSError as error:
        raise UsageError(f"Cannot listen on port {port}: {error.strerror}; choose another with --port") from None
    with server:
        on_ready(f"http://{_LOOPBACK}:{server.server_port}/")
        server.serve_forever()


class _Quiet(SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, *words: Any) -> None:
        pass


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((_LOOPBACK, port))
    except OSError as error:
        listener.close()
        raise UsageError(f"Cannot listen on port {port}: {error.strerror}; choose another with --port") from None
    listener.listen(128)
    return listener
