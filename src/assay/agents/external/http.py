"""A minimal HTTP/1.1 server for a model endpoint, over any stream; clients are not trusted."""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message
from http import HTTPStatus
from typing import Any

import anyio
import h11
from anyio.abc import ByteStream, SocketListener

MAX_HEAD = 64 * 1024
MAX_PART_HEAD = 10_000
MAX_PARTS = 20
MAX_BODY = 32 * 10**6
MAX_BUFFERED = 64 * 10**6
"""Max bytes of all request bodies that are being received or answered at the same time."""
REQUEST_SECONDS = 120.0
MAX_CONNECTIONS = 64
ROLE_HEADER = b"x-assay-role"
_CHUNK = 65_536


@dataclass(frozen=True)
class HttpRequest:
    """A request: its method, its path without the query, its whole body, and what its headers say about that.

    `role` is the role of a model that it names.
    """

    method: str
    path: str
    query: str
    body: bytes
    role: str = ""
    content_type: str = ""


@dataclass(frozen=True)
class HttpResponse:
    """A response: a body in one piece, or the pieces of an event stream."""

    status: int
    content_type: str
    pieces: Iterable[bytes]
    headers: Mapping[str, str] = field(default_factory=dict)


Respond = Callable[[HttpRequest], Awaitable[HttpResponse]]


class RequestRefused(Exception):
    """A request that is refused before it is parsed, and the status that says why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class BodyBudget:
    """Counts the bytes of bodies of all connections, so that many large ones together cannot exhaust the memory."""

    def __init__(self, max_bytes: int = MAX_BUFFERED, max_body: int = MAX_BODY) -> None:
        self.max_body = max_body
        self._free = max_bytes

    def take(self, count: int) -> None:
        """Reserve bytes; refuse the request if there is no room."""
        if count > self._free:
            raise RequestRefused(503, "too many large requests at the same time; retry later")
        self._free -= count

    def release(self, count: int) -> None:
        """Return reserved bytes."""
        self._free += count


async def serve_all(listener: SocketListener, respond: Respond, max_body: int = MAX_BODY) -> None:
    """Answer clients, a limited number of them at the same time, until cancelled."""
    slots = anyio.Semaphore(MAX_CONNECTIONS)
    budget = BodyBudget(MAX_BUFFERED + max_body - MAX_BODY, max_body)

    async def handle(stream: ByteStream) -> None:
        try:
            await serve(stream, respond, budget)
        finally:
            slots.release()

    async with anyio.create_task_group() as connections:
        while True:
            await slots.acquire()
            connections.start_soon(handle, await listener.accept())


async def serve(stream: ByteStream, respond: Respond, budget: BodyBudget) -> None:
    """Answer requests until the client disconnects, stays silent, or violates HTTP."""
    disconnected = (TimeoutError, anyio.BrokenResourceError, anyio.ClosedResourceError, h11.LocalProtocolError)
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
    async with stream:
        with suppress(*disconnected):
            while await _serve_one(stream, connection, respond, budget):
                connection.start_next_cycle()


def json_response(status: int, content: Mapping[str, Any], **headers: str) -> HttpResponse:
    """Return a response in JSON; underscores in the names of headers stand for hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpResponse(status, "application/json", [json.dumps(content).encode()], named)


def read_upload(content_type: str, body: bytes) -> bytes | None:
    """Return the content of the field `file` of a form, or None if it is not among the first parts."""
    header = Message()
    header["Content-Type"] = content_type
    boundary = header.get_boundary()
    if header.get_content_type() != "multipart/form-data" or not boundary:
        return None
    parts = (b"\r\n" + body).split(b"\r\n--" + boundary.encode(errors="replace"), MAX_PARTS + 1)
    for part in parts[1 : MAX_PARTS + 1]:
        head, end_of_head, content = part.partition(b"\r\n\r\n")
        if end_of_head and len(head) < MAX_PART_HEAD:
            fields = message_from_bytes(head.lstrip(b"\r\n"))
            if fields.get_param("name", header="Content-Disposition") == "file":
                return content
    return None


def format_event(content: Mapping[str, Any], name: str | None = None) -> bytes:
    """Return one event of an event stream."""
    return (f"event: {name}\n" if name else "").encode() + b"data: " + json.dumps(content).encode() + b"\n\n"


async def _serve_one(stream: ByteStream, connection: h11.Connection, respond: Respond, budget: BodyBudget) -> bool:
    """Answer one request; return False if the connection cannot be used for another."""
    body = _Body(budget)
    try:
        with anyio.fail_after(REQUEST_SECONDS):
            request = await _read_request(stream, connection, body)
        if request is None:
            return False
        await _send_response(stream, connection, request.method, await respond(request))
    except RequestRefused as refusal:
        error = json_response(refusal.status, {"error": {"message": str(refusal)}})
        await _send_response(stream, connection, "POST", error)
        return False
    finally:
        body.release()
    return connection.our_state is h11.DONE and connection.their_state is h11.DONE


class _Body:
    """The body of a request while it is received and answered."""

    def __init__(self, budget: BodyBudget) -> None:
        self.content = bytearray()
        self._budget = budget
        self._taken = 0

    def add(self, data: bytes) -> None:
        if len(self.content) + len(data) > self._budget.max_body:
            raise RequestRefused(413, f"the body of a request is limited to {self._budget.max_body:,} bytes")
        self._budget.take(len(data))
        self._taken += len(data)
        self.content += data

    def release(self) -> None:
        self._budget.release(self._taken)
        self._taken = 0


async def _read_request(stream: ByteStream, connection: h11.Connection, body: _Body) -> HttpRequest | None:
    """Return the next request; None if there is no more."""
    head: h11.Request | None = None
    while True:
        event = await _next_event(stream, connection)
        if isinstance(event, h11.Request):
            head = event
            # Some clients send the body only after `100 Continue`.
            if connection.they_are_waiting_for_100_continue:
                await _send(stream, connection, h11.InformationalResponse(status_code=100, headers=[]))
        elif isinstance(event, h11.Data):
            body.add(bytes(event.data))
        elif isinstance(event, h11.EndOfMessage) and head is not None:
            path, _, query = head.target.decode("ascii", errors="replace").partition("?")
            headers = {name: value.decode("ascii", errors="replace").strip() for name, value in head.headers}
            method = head.method.decode("ascii", errors="replace")
            role, kind = headers.get(ROLE_HEADER, ""), headers.get(b"content-type", "")
            return HttpRequest(method, path, query, bytes(body.content), role, kind)
        else:
            return None


async def _next_event(stream: ByteStream, connection: h11.Connection) -> object:
    try:
        while (event := connection.next_event()) is h11.NEED_DATA:
            try:
                connection.receive_data(await stream.receive(_CHUNK))
            except anyio.EndOfStream:
                connection.receive_data(b"")
    except h11.RemoteProtocolError as error:
        raise RequestRefused(error.error_status_hint, "this is not an HTTP request") from None
    return event


async def _send_response(stream: ByteStream, connection: h11.Connection, method: str, response: HttpResponse) -> None:
    headers = {"content-type": response.content_type, **response.headers}
    pieces = response.pieces
    if isinstance(pieces, list):
        headers["content-length"] = str(sum(len(piece) for piece in pieces))
    if connection.their_state is h11.ERROR:
        headers["connection"] = "close"
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    reason = HTTPStatus(response.status).phrase.encode()
    await _send(stream, connection, h11.Response(status_code=response.status, headers=encoded, reason=reason))
    for piece in pieces if method != "HEAD" else ():
        await _send(stream, connection, h11.Data(data=piece))
    await _send(stream, connection, h11.EndOfMessage())


async def _send(
    stream: ByteStream,
    connection: h11.Connection,
    event: h11.Response | h11.InformationalResponse | h11.Data | h11.EndOfMessage,
) -> None:
    if data := connection.send(event):
        with anyio.fail_after(REQUEST_SECONDS):
            await stream.send(data)
