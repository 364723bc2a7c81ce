"""Bash commands in a model's answer: how it is asked for them, how they are read, how it is told what came of them."""

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from assay.agents.mlagentbench.turns import Unreadable

if TYPE_CHECKING:
    from assay.models import Message, Reply, Tool, ToolCall

Protocol = Literal["tools", "text"]
BLOCK = re.compile(r"^```(?:bash|sh)[ \t]*(\S*)[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
LONGEST_COMMAND = 100_000
SECONDS = "its time limit in seconds; without one it gets a share of the time that is left"


@dataclass(frozen=True)
class Order:
    """A command that the model gives, its time limit if it has one, and the tool call it came in."""

    command: str
    seconds: float | None = None
    call: str | None = None


def read_orders(reply: "Reply", protocol: Protocol) -> list[Order]:
    """The commands of an answer; `Unreadable` if there is none, or one that cannot be understood."""
    if protocol == "tools":
        if not reply.message.tool_calls:
            raise Unreadable("It does not call the tool `bash`.")
        return [_called(call) for call in reply.message.tool_calls]
    blocks = BLOCK.findall(reply.message.text)
    if len(blocks) != 1:
        raise Unreadable(f"It holds {len(blocks) or 'no'} blocks that begin with ```bash; it must hold exactly one.")
    ((seconds, command),) = blocks
    return [Order(_command(command), _seconds(seconds or None))]


def bash_tool() -> "Tool":
    """The one tool, as models are told of it."""
    from assay.models import Tool

    properties = {
        "command": {"type": "string", "description": "what bash runs, of one or more lines"},
        "seconds": {"type": "number", "description": SECONDS},
    }
    schema = {"type": "object", "properties": properties, "required": ["command"]}
    return Tool(name="bash", description="Run a bash command in the workspace.", parameters=schema)


def complaints(reply: "Reply", fault: str) -> "list[Message]":
    """An answer to every call of an unreadable reply, because providers insist on one, or else to the reply."""
    cut = " It was cut off because it was too long; be brief." if reply.stop == "length" else ""
    text = f"Your last answer could not be used, and nothing was run: {fault}{cut}"
    return [told(text, call.id) for call in reply.message.tool_calls] or [told(text)]


def told(text: str, call: str | None = None) -> "Message":
    """Something the model is told, in answer to a tool call if it made one."""
    from assay.models import Message

    return Message(role="tool" if call else "user", text=text, tool_call_id=call)


def _called(call: "ToolCall") -> Order:
    if call.parse_error or call.name != "bash":
        raise Unreadable(call.parse_error or f"There is no tool {call.name!r}; there is only `bash`.")
    return Order(_command(call.arguments.get("command")), _seconds(call.arguments.get("seconds")), call.id)


def _command(given: object) -> str:
    if not isinstance(given, str) or not given.strip() or "\0" in given:
        raise Unreadable("Its command is missing, empty, or no text.")
    try:
        size = len(given.encode())
    except UnicodeEncodeError:
        raise Unreadable("Its command holds characters that are half of one.") from None
    if size > LONGEST_COMMAND:
        raise Unreadable(f"Its command is {size:,} bytes long, and the longest is {LONGEST_COMMAND:,}; take it apart.")
    return given.strip()


def _seconds(given: object) -> float | None:
    """A time limit as a number or as its text; zero and less, like nothing at all, leave it to the usual share."""
    try:
        seconds = float(str(given)) if given is not None else 0.0
    except ValueError:
        raise Unreadable(f"{given!r} is not a number of seconds.") from None
    return seconds if seconds > 0 and math.isfinite(seconds) else None
