"""A little OpenAI and Anthropic on a port of 127.0.0.1, which answers as a test tells it to, one deed per request.

    with ModelServer(Fail(429, headers={"retry-after-ms": "50"}), Say("Hello.")) as server:
        settings = ModelSettings(base_url=server.openai)

It speaks OpenAI's chat completions and responses and Anthropic's messages, streamed where it is asked to, and lets
nobody in without `KEY`. `server.requests` is what came in.
"""

import json
import os
import socket
import struct
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from protocols import Say, anthropic_message, chat_completion, response, stream

KEY = "key-of-somebody"


@dataclass(frozen=True)
class Fail:
    """Refuse with an error of the provider's form."""

    status: int
    message: str = "no"
    code: str | None = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Garbage:
    """Answer with status 200 and something that is no JSON."""

    text: str = "{not json"


@dataclass(frozen=True)
class Reset:
    """Drop the connection."""


@dataclass(frozen=True)
class Silence:
    """Say nothing until the other side hangs up."""


Deed = Say | Fail | Garbage | Reset | Silence
TOO_LONG = Fail(400, "prompt is too long: 210000 tokens > 200000 maximum", code="context_length_exceeded")


@dataclass(frozen=True)
class Request:
    """What a client sent."""

    path: str
    body: dict[str, Any]


class ModelServer:
    """The server, up for as long as the block lasts."""

    def __init__(self, *deeds: Deed, port: int = 0) -> None:
        self.requests: list[Request] = []
        self.hung_up = threading.Event()
        self.arrived = threading.Event()
        self._deeds = list(deeds)
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _Handler)
        self._server.daemon_threads = True
        self._server.owner = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> "ModelServer":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def anthropic(self) -> str:
        """The address for Anthropic's client."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def openai(self) -> str:
        """The address for OpenAI's client."""
        return f"{self.anthropic}/v1"

    def next(self, request: Request) -> Deed:
        """What to do about a request."""
        with self._lock:
            self.requests.append(request)
            self.arrived.set()
            return self._deeds.pop(0) if self._deeds else Fail(400, "the test has given me nothing more to say")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if KEY not in (self.headers["X-Api-Key"], (self.headers["Authorization"] or "").removeprefix("Bearer ")):
            self.fail(Fail(401, "invalid x-api-key", code="invalid_api_key"))
            return
        owner: ModelServer = self.server.owner  # type: ignore[attr-defined]
        deed = owner.next(Request(self.path, body))
        if isinstance(deed, Reset):
            self.reset()
        elif isinstance(deed, Silence):
            self.connection.recv(1)
            owner.hung_up.set()
            self.close_connection = True
        elif isinstance(deed, Garbage):
            self.answer(200, deed.text.encode())
        elif isinstance(deed, Fail):
            self.fail(deed)
        elif self.path == "/v1/chat/completions":
            self.answer(200, json.dumps(chat_completion(deed, body["model"])).encode())
        elif self.path == "/v1/responses":
            self.answer(200, json.dumps(response(deed, body["model"])).encode())
        elif body.get("stream"):
            events = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in stream(deed, body))
            self.answer(200, events.encode(), {"Content-Type": "text/event-stream"})
        else:
            self.answer(200, json.dumps(anthropic_message(deed, body["model"])).encode())

    def fail(self, deed: Fail) -> None:
        kinds = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error", 500: "api_error"}
        error = {"type": kinds.get(deed.status, "invalid_request_error"), "message": deed.message, "code": deed.code}
        self.answer(deed.status, json.dumps({"type": "error", "error": error}).encode(), deed.headers)

    def answer(self, status: int, content: bytes, headers: dict[str, str] = {}) -> None:  # noqa: B006
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers, "Content-Length": len(content)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(content)

    def reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())
        self.close_connection = True

    def log_message(self, *words: object) -> None:
        pass
