"""What an agent said and was told, read from the record of its trial."""

from collections.abc import Iterator, Sequence

from assay.agents.outcomes import format_streams
from assay.agents.serialize import completed
from assay.models import MAIN
from assay.models.messages import Message, Reply, ToolCall
from assay.records.tape import Deed

_LONGEST = 20_000
"""Characters of what a command printed."""


def conversation_of(deeds: Sequence[Deed], opening: str) -> list[Message]:
    """The main model's conversation where all of it was in view to the end, else the steps, after the `opening`."""
    asked = [place for place, deed in enumerate(deeds) if _is_reply(deed)]
    steps = list(_steps(deeds))
    if not asked:
        return [Message(role="user", text=opening), *steps]
    last = deeds[asked[-1]]
    said = [Message.model_validate(message) for message in last.about["messages"]]
    whole = sum(message.role == "assistant" for message in said) == len(asked) - 1
    if not whole and steps:
        return [Message(role="user", text=opening), *steps]
    reply = Reply.model_validate(last.result).message
    told = [deed.result["observation"] for deed in deeds[asked[-1] :] if deed.what == "act"]
    answered = zip(reply.tool_calls, told, strict=False)
    return [*said, reply, *(Message(role="tool", text=text, tool_call_id=call.id) for call, text in answered)]


def last_reply(deeds: Sequence[Deed]) -> Reply | None:
    """What the main model said last."""
    return next((Reply.model_validate(deed.result) for deed in reversed(deeds) if _is_reply(deed)), None)


def _is_reply(deed: Deed) -> bool:
    return deed.what == "ask" and deed.request["role"] == MAIN and "message" in deed.result


def _steps(deeds: Sequence[Deed]) -> Iterator[Message]:
    """Each step as a call and its result: its action, or the commands where it has none.

    What the main model said before goes with the call.
    """
    acted = {deed.about["step"] for deed in deeds if deed.what == "act"}
    said = ""
    for number, deed in enumerate(deeds):
        if _is_reply(deed):
            said = Reply.model_validate(deed.result).message.text
            continue
        if deed.what == "act":
            call = ToolCall(id=f"deed-{number}", name=deed.request["name"], arguments=deed.request["arguments"])
            result = deed.result["observation"]
        elif deed.what == "run" and deed.changes and deed.about["step"] not in acted:
            call = ToolCall(id=f"deed-{number}", name="run", arguments={"command": deed.request["command"]})
            ended = completed(deed.result)
            output = format_streams(ended.stdout.text, ended.stderr.text, _LONGEST)
            result = f"Exit code {ended.code} ({ended.ended}).\n\n{output}"
        else:
            continue
        yield Message(role="assistant", text=said, tool_calls=(call,))
        yield Message(role="tool", text=result, tool_call_id=call.id)
        said = ""
