"""The conversation of a trial, restored from its record."""

from collections.abc import Iterator, Sequence

from assay.agents.outcomes import format_streams
from assay.models import MAIN
from assay.models.messages import Message, Reply, ToolCall
from assay.records.events import ActionRequest, ActionResult, CommandRequest, CommandResult, ModelRequest, ModelResult
from assay.records.tape import Call, Past

_MAX_OUTPUT = 20_000
"""Characters of what a command printed."""


def conversation_of(past: Past, opening: str) -> list[Message]:
    """Return the main model's conversation if its last prompt holds all of it, else the steps after the `opening`."""
    replies = [
        (position, call.number, reply) for position, call in enumerate(past.calls) if (reply := _main_reply(call))
    ]
    steps = list(_steps(past.calls))
    if not replies:
        return [Message(role="user", text=opening), *steps]
    position, number, last = replies[-1]
    prompt = past.prompts.messages(number)
    complete = sum(message.role == "assistant" for message in prompt) == len(replies) - 1
    if not complete and steps:
        return [Message(role="user", text=opening), *steps]
    observations = [call.result.observation for call in past.calls[position:] if isinstance(call.result, ActionResult)]
    answered = zip(last.message.tool_calls, observations, strict=False)
    results = [Message(role="tool", text=text, tool_call_id=call.id) for call, text in answered]
    return [*prompt, last.message, *results]


def last_reply(calls: Sequence[Call]) -> Reply | None:
    """Return the last reply of the main model."""
    return next((reply for call in reversed(calls) if (reply := _main_reply(call))), None)


def _main_reply(call: Call) -> Reply | None:
    asked = isinstance(call.request, ModelRequest) and call.request.role == MAIN
    return call.result.reply if asked and isinstance(call.result, ModelResult) else None


def _steps(calls: Sequence[Call]) -> Iterator[Message]:
    """Yield each step as a tool call and its result: its action, or the commands where it has none.

    The text of the main model before it is part of the tool call.
    """
    with_action = {call.step for call in calls if isinstance(call.request, ActionRequest)}
    text = ""
    for number, call in enumerate(calls):
        if reply := _main_reply(call):
            text = reply.message.text
            continue
        request, result = call.request, call.result
        if isinstance(request, ActionRequest) and isinstance(result, ActionResult):
            tool_call = ToolCall(id=f"call-{number}", name=request.name, arguments=request.arguments)
            output = result.observation
        elif isinstance(request, CommandRequest) and isinstance(result, CommandResult):
            if not call.changes or call.step in with_action:
                continue
            tool_call = ToolCall(id=f"call-{number}", name="run", arguments={"command": list(request.command)})
            streams = format_streams(result.stdout, result.stderr, _MAX_OUTPUT)
            output = f"Exit code {result.code} ({result.ended}).\n\n{streams}"
        else:
            continue
        yield Message(role="assistant", text=text, tool_calls=(tool_call,))
        yield Message(role="tool", text=output, tool_call_id=tool_call.id)
        text = ""
