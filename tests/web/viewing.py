"""Viewers in threads, and a client that sends exactly the headers a test asks for."""

import http.client
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from assay.web import Viewer

PATIENCE = 120_000
"""Milliseconds that a busy machine may take; nothing waits for them to pass."""


@dataclass(frozen=True)
class Answer:
    """A response."""

    status: int
    headers: dict[str, str]
    body: str


@dataclass(frozen=True)
class Client:
    """Sends requests to a viewer, with the cookie unless a test says otherwise."""

    viewer: Viewer

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.viewer.port}"

    def get(self, path: str, *, method: str = "GET", cookie: bool = True, **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.viewer.port, timeout=120)
        sent = {"Host": self.host} | {name.replace("_", "-"): value for name, value in headers.items()}
        if cookie:
            sent["Cookie"] = f"assay-view-{self.viewer.port}={self.viewer.token}"
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in sent.items():
            connection.putheader(name, value)
        connection.endheaders()
        response = connection.getresponse()
        body = response.read().decode(errors="replace")
        received = {name.lower(): value for name, value in response.getheaders()}
        connection.close()
        return Answer(response.status, received, body)


@contextmanager
def serving(*folders: Path, imported: Sequence[Path] = ()) -> Iterator[Viewer]:
    """Serve pages in a thread."""
    viewer = Viewer(folders, imported=imported)
    thread = threading.Thread(target=viewer.serve)
    thread.start()
    try:
        yield viewer
    finally:
        viewer.stop()
        thread.join()
