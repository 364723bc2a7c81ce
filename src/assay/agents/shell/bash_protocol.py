"""Bash commands in model replies: as calls of one tool, or as one code block in plain text."""

import math
import re
from dataclasses import dataclass
from typing import Literal

from assay.agents.replies import UnreadableReply
from assay.models import Message, Reply, Tool, ToolCall

Protocol = Literal["tools", "text"]
_OPENING = re.compile(r"^```(?:bash|sh)[ \t]*+(\S*+)[ \t]*+\n", re.MULTILINE)
_CLOSING = re.compile(r"^```[ \t]*+$", re.MULTILINE)
MAX_COMMAND_BYTES = 100_000
BASH_TOOL = Tool(
    name="bash",
    description="Run a bash command in the workspace.",
    parameters={
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "the bash command, of one or more lines"},
            "seconds": {
                "type": "number",
                "description": "its time limit in seconds; default: a share of the remaining time",
            },
        },
        "required": ["command"],
    },
)


@dataclass(frozen=True)
class BashCommand:
    """A command issued by the model, its time limit if it has one, and the id of the tool call it came in."""

    command: str
    seconds: float | None = None
    call_id: str | None = None


def parse_commands(reply: Reply, protocol: Protocol) -> list[BashCommand]:
    """Return the commands of a reply; raise `UnreadableReply` if there is none or one of them is malformed."""
    if protocol == "tools":
        if not reply.message.tool_calls:
            raise UnreadableReply("It does not call the tool `bash`.")
        return [_parse_call(call) for call in reply.message.tool_calls]
    blocks = _find_blocks(reply.message.text)
    if len(blocks) != 1:
        raise UnreadableReply(
            f"It contains {len(blocks) or 'no'} blocks that start with ```bash; it must contain exactly one."
        )
    ((seconds, command),) = blocks
    return [BashCommand(_check_command(command), _parse_seconds(seconds or None))]


def rejection_messages(reply: Reply, reason: str) -> list[Message]:
    """Return the messages that reject an unreadable reply: one per tool call, because providers require an answer."""
    cut_off = " It was cut off because it was too long; be brief." if reply.stop == "length" else ""
    text = f"Your previous reply could not be used, and nothing was run: {reason}{cut_off}"
    return [result_message(text, call.id) for call in reply.message.tool_calls] or [result_message(text)]


def result_message(text: str, call_id: str | None = None) -> Message:
    """Return the message with the result of a command, in answer to a tool call if it came in one."""
    return Message(role="tool" if call_id else "user", text=text, tool_call_id=call_id)


def _find_blocks(text: str) -> list[tuple[str, str]]:
    """Return the time limit and the content of each closed block, in one pass over the text."""
    blocks, position = [], 0
    while opening := _OPENING.search(text, position):
        closing = _CLOSING.search(text, opening.end())
        if closing is None:
            break
        blocks.append((opening[1], text[opening.end() : closing.start()]))
        position = closing.end()
    return blocks


def _parse_call(call: ToolCall) -> BashCommand:
    if call.parse_error:
        raise UnreadableReply(call.parse_error)
    if call.name != "bash":
        raise UnreadableReply(f"There is no tool {call.name!r}; the only tool is `bash`.")
    seconds = _parse_seconds(call.arguments.get("seconds"))
    return BashCommand(_check_command(call.arguments.get("command")), seconds, call.id)


def _check_command(command: object) -> str:
    if not isinstance(command, str) or not command.strip() or "\0" in command:
        raise UnreadableReply("Its command is missing, empty, or not text.")
    try:
        size = len(command.encode())
    except UnicodeEncodeError:
        raise UnreadableReply("Its command contains unpaired surrogate characters.") from None
    if size > MAX_COMMAND_BYTES:
        raise UnreadableReply(
            f"Its command has {size:,} bytes, and the maximum is {MAX_COMMAND_BYTES:,}; split it into several."
        )
    return command.strip()


def _parse_seconds(value: object) -> float | None:
    """Return a time limit given as a number or as text; None, for the default, if it is missing or not positive."""
    if value is None:
        return None
    try:
        seconds = float(str(value))
    except ValueError:
        raise UnreadableReply(f"{value!r} is not a number of seconds.") from None
    return seconds if seconds > 0 and math.isfinite(seconds) else None
