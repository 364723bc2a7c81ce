"""As much of HTTP as a model endpoint needs, over any stream; whoever is at the other end is not trusted."""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import anyio
import h11
from anyio.abc import ByteStream, SocketListener

LARGEST_HEAD = 64 * 1024
LARGEST_BODY = 32 * 10**6
SECONDS_TO_ASK = 120.0
CONNECTIONS = 64
_CHUNK = 65_536


@dataclass(frozen=True)
class Request:
    """What somebody asks for: the path without its query, and the whole body."""

    method: str
    path: str
    query: str
    body: bytes


@dataclass(frozen=True)
class Response:
    """What is answered: a body in one piece, or several pieces of an event stream."""

    status: int
    kind: str
    pieces: Iterable[bytes]
    headers: Mapping[str, str] = field(default_factory=dict)


Respond = Callable[[Request], Awaitable[Response]]


class Refused(Exception):
    """A request that is not even looked at, and the status that says why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


async def serve_all(listener: SocketListener, respond: Respond) -> None:
    """Answer whoever connects, so many at once and no more, until cancelled."""
    places = anyio.Semaphore(CONNECTIONS)

    async def answer(stream: ByteStream) -> None:
        try:
            await serve(stream, respond)
        finally:
            places.release()

    async with anyio.create_task_group() as connections:
        while True:
            await places.acquire()
            connections.start_soon(answer, await listener.accept())


async def serve(stream: ByteStream, respond: Respond) -> None:
    """Answer one request after the other until the other end hangs up, asks nothing, or speaks no HTTP."""
    gone = (TimeoutError, anyio.BrokenResourceError, anyio.ClosedResourceError, h11.LocalProtocolError)
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=LARGEST_HEAD)
    async with stream:
        with suppress(*gone):  # nobody is there any more to be answered
            while await _serve_one(stream, connection, respond):
                connection.start_next_cycle()


def json_response(status: int, content: Mapping[str, Any], **headers: str) -> Response:
    """An answer in JSON."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status, "application/json", [json.dumps(content).encode()], named)


def event(content: Mapping[str, Any], name: str | None = None) -> bytes:
    """One piece of an event stream."""
    return (f"event: {name}\n" if name else "").encode() + b"data: " + json.dumps(content).encode() + b"\n\n"


async def _serve_one(stream: ByteStream, connection: h11.Connection, respond: Respond) -> bool:
    """Answer one request; False when another one cannot follow."""
    try:
        with anyio.fail_after(SECONDS_TO_ASK):
            request = await _request(stream, connection)
    except Refused as refusal:
        answer = json_response(refusal.status, {"error": {"message": str(refusal)}})
        await _answer(stream, connection, "POST", answer)
        return False
    if request is None:
        return False
    await _answer(stream, connection, request.method, await respond(request))
    return connection.our_state is h11.DONE and connection.their_state is h11.DONE


async def _request(stream: ByteStream, connection: h11.Connection) -> Request | None:
    """The next request; None when there is no more, `Refused` when it is none or too large."""
    head: h11.Request | None = None
    body = bytearray()
    while True:
        found = await _next(stream, connection)
        if isinstance(found, h11.Request):
            head = found
            # Some clients send nothing before they are told to go on.
            if connection.they_are_waiting_for_100_continue:
                await _send(stream, connection, h11.InformationalResponse(status_code=100, headers=[]))
        elif isinstance(found, h11.Data):
            body += found.data
            if len(body) > LARGEST_BODY:
                raise Refused(413, f"a request may have {LARGEST_BODY:,} bytes")
        elif isinstance(found, h11.EndOfMessage) and head is not None:
            path, _, query = head.target.decode("ascii", errors="replace").partition("?")
            return Request(head.method.decode("ascii", errors="replace"), path, query, bytes(body))
        else:
            return None


async def _next(stream: ByteStream, connection: h11.Connection) -> object:
    try:
        while (found := connection.next_event()) is h11.NEED_DATA:
            try:
                connection.receive_data(await stream.receive(_CHUNK))
            except anyio.EndOfStream:
                connection.receive_data(b"")
    except h11.RemoteProtocolError as error:
        raise Refused(error.error_status_hint, "this is no HTTP request") from None
    return found


async def _answer(stream: ByteStream, connection: h11.Connection, method: str, response: Response) -> None:
    headers = {"content-type": response.kind, **response.headers}
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
    what: h11.Response | h11.InformationalResponse | h11.Data | h11.EndOfMessage,
) -> None:
    if data := connection.send(what):
        with anyio.fail_after(SECONDS_TO_ASK):
            await stream.send(data)
