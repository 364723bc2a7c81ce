"""What the wire formats have in common: a question that was read from one, and how to tell that it was none."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from assay.models import Message, Reply, Tool, ToolCall

Json = Mapping[str, Any]

NOT_TEXT = "[something other than text was left out here]"
LETTERS_PER_TOKEN = 4


class Malformed(Exception):
    """What was sent is not a question in the wire format that its path promises."""


@dataclass(frozen=True)
class Question:
    """A question as a client asked it; the `model` it names is written down and otherwise ignored.

    `choice` is the tool that must be called, `any` or `none` of them, or None where the model decides. `freeform` are
    the tools whose argument is a plain text instead of JSON.
    """

    messages: Sequence[Message]
    tools: Sequence[Tool] = ()
    choice: str | None = None
    model: str = ""
    streamed: bool = False
    freeform: frozenset[str] = field(default_factory=frozenset)


class Wire(Protocol):
    """A format in which clients ask and are answered."""

    name: str

    def question(self, body: Json) -> Question:
        """What a request asks; `Malformed` if it asks nothing."""
        ...

    def whole(self, reply: Reply, asked: Question) -> dict[str, Any]:
        """A reply in one piece."""
        ...

    def pieces(self, reply: Reply, asked: Question) -> Iterator[bytes]:
        """A reply as a stream of events."""
        ...

    def error(self, status: int, why: str) -> dict[str, Any]:
        """What went wrong."""
        ...


def text_of(content: object) -> str:
    """The text of a content, which is a text itself or a list of parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "\n".join(_text_of_part(part) for part in listed(content, "content"))


def _text_of_part(part: object) -> str:
    if isinstance(part, str):
        return part
    text = table(part, "a part of the content").get("text")
    return text if isinstance(text, str) else NOT_TEXT


def table(value: object, what: str) -> dict[str, Any]:
    """A JSON object."""
    if not isinstance(value, dict):
        raise Malformed(f"{what} must be an object")
    return value


def listed(value: object, what: str) -> list[Any]:
    """A JSON list; none is an empty one."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise Malformed(f"{what} must be a list")
    return value


def word(value: object, what: str) -> str:
    """A text that may not be missing."""
    if not isinstance(value, str) or not value:
        raise Malformed(f"{what} must be a text")
    return value


def arguments_of(text: object) -> dict[str, Any]:
    """The arguments of a tool call as clients repeat them; what is no JSON object was the model's own mistake."""
    try:
        read = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def said_by_model(text: str, calls: Sequence[ToolCall]) -> Message:
    """An earlier turn of the model."""
    return Message(role="assistant", text=text, tool_calls=tuple(calls))


def letters(question: Question) -> int:
    """How long a question is, for clients that want to know beforehand how many tokens it would have."""
    said = sum(len(message.text) for message in question.messages)
    called = sum(len(str(call.arguments)) for message in question.messages for call in message.tool_calls)
    return said + called + sum(len(tool.description) + len(str(tool.parameters)) for tool in question.tools)
