"""What the wire formats have in common: the parsed request, the limits on its size, and checked access to JSON."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic import ValidationError

from assay.core.text import describe_validation_error
from assay.core.untrusted import count_values, find_unrecordable
from assay.models import Message, Reply, Sampling, Tool, ToolCall

Json = Mapping[str, Any]

NOT_TEXT = "[content other than text was omitted]"
CHARACTERS_PER_TOKEN = 4
MAX_VALUES = 200_000
MAX_MESSAGES = 10_000
MAX_PARTS = 10_000
MAX_TOOLS = 500
MAX_SCHEMA_NODES = 2_000
MAX_SCHEMA_CHARACTERS = 1_000_000


class Malformed(Exception):
    """A request that does not follow its wire format, or exceeds a limit; its message says how."""


@dataclass(frozen=True)
class ClientRequest:
    """A request as a client made it; the `model` it names is recorded, and otherwise ignored unless it is a role.

    `choice` is the tool that must be called, `any` or `none` of them, or None if the model decides. `freeform` are the
    tools whose argument is plain text instead of JSON.
    """

    messages: Sequence[Message]
    tools: Sequence[Tool] = ()
    choice: str | None = None
    model: str = ""
    streamed: bool = False
    freeform: frozenset[str] = field(default_factory=frozenset)
    sampling: Sampling | None = None


class RequestLimits:
    """The limits on what one request may contain; each method raises `Malformed` when one is exceeded.

    The schema limits hold for all tools of a request together.
    """

    def __init__(self) -> None:
        self._values = MAX_VALUES
        self._schema_nodes = MAX_SCHEMA_NODES * 10
        self._schema_characters = MAX_SCHEMA_CHARACTERS * 10

    def load_json(self, text: bytes) -> Any:
        """Parse JSON, but only after counting its values, because parsed values take far more memory than text."""
        self._count_values(text)
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            raise Malformed("the body is not valid JSON") from None
        _check_recordable(value)
        return value

    def load_arguments(self, arguments: object) -> dict[str, Any]:
        """Parse the arguments of a tool call as clients repeat them.

        Text that is not a JSON object is the model's own mistake, and counts as no arguments.
        """
        if isinstance(arguments, str):
            self._count_values(arguments.encode(errors="replace"))
            try:
                arguments = json.loads(arguments)
            except (ValueError, RecursionError):
                return {}
            _check_recordable(arguments)
        return arguments if isinstance(arguments, dict) else {}

    def take_schema_node(self, characters: int) -> None:
        """Count a node of a tool's schema and the characters of the values it keeps."""
        self._schema_nodes -= 1
        self._schema_characters -= characters
        if self._schema_nodes < 0 or self._schema_characters < 0:
            raise Malformed("the schemas of the tools are too large")

    def _count_values(self, text: bytes) -> None:
        self._values -= count_values(text)
        if self._values < 0:
            raise Malformed(f"a request may contain at most {MAX_VALUES:,} JSON values")


class WireProtocol(Protocol):
    """A format of requests and replies."""

    name: str

    def parse_request(self, body: Json, limits: RequestLimits) -> ClientRequest:
        """Return the request in a body; raise `Malformed` if there is none."""
        ...

    def format_reply(self, reply: Reply, request: ClientRequest) -> dict[str, Any]:
        """Return a reply as one JSON object."""
        ...

    def stream_reply(self, reply: Reply, request: ClientRequest) -> Iterator[bytes]:
        """Return a reply as a stream of events."""
        ...

    def format_error(self, status: int, message: str, *, too_long: bool = False) -> dict[str, Any]:
        """Return an error; `too_long` says that the prompt does not fit into the model's context."""
        ...


def require_object(value: object, what: str) -> dict[str, Any]:
    """Return a value that must be a JSON object."""
    if not isinstance(value, dict):
        raise Malformed(f"{what} must be an object")
    return value


def require_list(value: object, what: str, max_length: int = MAX_PARTS) -> list[Any]:
    """Return a value that must be a JSON list of limited length; None counts as empty."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise Malformed(f"{what} must be a list")
    if len(value) > max_length:
        raise Malformed(f"{what} has {len(value):,} items, and the maximum is {max_length:,}")
    return value


def require_text(value: object, what: str) -> str:
    """Return a value that must be a non-empty string."""
    if not isinstance(value, str) or not value:
        raise Malformed(f"{what} must be a non-empty string")
    return value


def join_text(content: object) -> str:
    """Return the text of a content, which is a string or a list of parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "\n".join(_part_text(part) for part in require_list(content, "content"))


def parse_sampling(body: Json, **names: str) -> Sampling | None:
    """Return how a request asks to be sampled; `names` has what the format calls each setting."""
    asked = {setting: body[name] for setting, name in names.items() if body.get(name) is not None}
    stop = asked.pop("stop", [])
    asked["stop"] = [stop] if isinstance(stop, str) else [text for text in require_list(stop, "stop") if text]
    try:
        sampling = Sampling.model_validate(asked)
    except ValidationError as error:
        raise Malformed(describe_validation_error(error, names=names)[:400]) from None
    return sampling if sampling != Sampling() else None


def assistant_message(text: str, calls: Sequence[ToolCall]) -> Message:
    """Return an earlier turn of the model."""
    return Message(role="assistant", text=text, tool_calls=tuple(calls))


def count_characters(request: ClientRequest) -> int:
    """Return the length of a request, for clients that ask for a token count in advance."""
    texts = sum(len(message.text) for message in request.messages)
    calls = sum(len(str(call.arguments)) for message in request.messages for call in message.tool_calls)
    return texts + calls + sum(len(tool.description) + len(str(tool.parameters)) for tool in request.tools)


def _check_recordable(value: object) -> None:
    """Refuse values over which later recursive code would stumble, or that would make a record invalid."""
    if reason := find_unrecordable(value):
        raise Malformed(f"the JSON cannot be recorded: {reason}")


def _part_text(part: object) -> str:
    if isinstance(part, str):
        return part
    text = require_object(part, "a part of the content").get("text")
    return text if isinstance(text, str) else NOT_TEXT
