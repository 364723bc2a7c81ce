"""A test server with the APIs of OpenAI and Anthropic on 127.0.0.1, which plays a scripted behavior per request.

    with ModelServer(Fail(429, headers={"retry-after-ms": "50"}), Say("Hello.")) as server:
        settings = ModelSettings(base_url=server.openai)

It implements OpenAI's chat completions and responses and Anthropic's messages, streamed on request, and rejects
requests without `KEY`. `server.requests` has all requests but the test prompts of the harness: those are answered while
the next behavior is to say something, and otherwise meet the same fate as the next request will.
"""

import json
import os
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from protocols import Say, anthropic_message, chat_completion, response, stream

KEY = "valid-key"
TEST_PROMPT = "Reply with the word OK."


@dataclass(frozen=True)
class Fail:
    """Respond with an error in the provider's format."""

    status: int
    message: str = "no"
    code: str | None = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Garbage:
    """Respond with status 200 and a body that is not JSON."""

    text: str = "{not json"


@dataclass(frozen=True)
class Reset:
    """Reset the connection."""


@dataclass(frozen=True)
class Silence:
    """Send nothing until the client disconnects."""


Behavior = Say | Fail | Garbage | Reset | Silence
TOO_LONG = Fail(400, "prompt is too long: 210000 tokens > 200000 maximum", code="context_length_exceeded")


@dataclass(frozen=True)
class Request:
    """A request of a client."""

    path: str
    body: dict[str, Any]


class ModelServer:
    """The server, running for the duration of a `with` block."""

    def __init__(
        self,
        *script: Behavior,
        port: int = 0,
        responses_api: bool = True,
        reply: Callable[[str], Behavior] | None = None,
    ) -> None:
        """With `reply`, the behavior depends on the last message of a request, whatever its number."""
        self.reply = reply
        self.test_prompts = 0
        self.responses_api = responses_api
        self.requests: list[Request] = []
        self.disconnected = threading.Event()
        self.arrived = threading.Event()
        self._script = list(script)
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
        """The base URL for Anthropic's client."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def openai(self) -> str:
        """The base URL for OpenAI's client."""
        return f"{self.anthropic}/v1"

    def next(self, request: Request) -> Behavior:
        """Record a request, and return the behavior for it."""
        text = request.body["messages"][-1]["content"] if "messages" in request.body else ""
        with self._lock:
            if text == TEST_PROMPT:
                self.test_prompts += 1
                ahead = self.reply(text) if self.reply else self._script[0] if self._script else Say("OK")
                return Say("OK") if isinstance(ahead, Say) else ahead
            if self.reply:
                self.requests.append(request)
                return self.reply(text)
            self.requests.append(request)
            self.arrived.set()
            return self._script.pop(0) if self._script else Fail(400, "the script of the test server has ended")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if KEY not in (self.headers["X-Api-Key"], (self.headers["Authorization"] or "").removeprefix("Bearer ")):
            self.fail(Fail(401, "invalid x-api-key", code="invalid_api_key"))
            return
        owner: ModelServer = self.server.owner  # type: ignore[attr-defined]
        if not body:  # asks only whether this server has the API
            self.fail(Fail(400, "the model is missing") if owner.responses_api else Fail(404))
            return
        behavior = owner.next(Request(self.path, body))
        if isinstance(behavior, Reset):
            self.reset()
        elif isinstance(behavior, Silence):
            self.connection.recv(1)
            owner.disconnected.set()
            self.close_connection = True
        elif isinstance(behavior, Garbage):
            self.answer(200, behavior.text.encode())
        elif isinstance(behavior, Fail):
            self.fail(behavior)
        elif self.path == "/v1/chat/completions":
            self.answer(200, json.dumps(chat_completion(behavior, body["model"])).encode())
        elif self.path == "/v1/responses":
            self.answer(200, json.dumps(response(behavior, body["model"])).encode())
        elif body.get("stream"):
            events = "".join(
                f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in stream(behavior, body)
            )
            self.answer(200, events.encode(), {"Content-Type": "text/event-stream"})
        else:
            self.answer(200, json.dumps(anthropic_message(behavior, body["model"])).encode())

    def fail(self, failure: Fail) -> None:
        kinds = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error", 500: "api_error"}
        error = {
            "type": kinds.get(failure.status, "invalid_request_error"),
            "message": failure.message,
            "code": failure.code,
        }
        self.answer(failure.status, json.dumps({"type": "error", "error": error}).encode(), failure.headers)

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
