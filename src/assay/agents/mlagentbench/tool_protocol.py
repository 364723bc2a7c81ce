"""Actions as native tool calls: every action is a tool, and thoughts are arguments of each of them."""

import re
from collections.abc import Sequence

from assay.agents.mlagentbench.actions import Action
from assay.agents.mlagentbench.turns import ActionCall, ThoughtField
from assay.agents.replies import UnreadableReply
from assay.models import Message, Tool


def make_tools(actions: Sequence[Action], thoughts: Sequence[ThoughtField]) -> list[Tool]:
    """Return the actions as tools."""
    return [
        Tool(
            name=action.tool_name,
            description=f"{action.description} Returns {action.returns}.",
            parameters=_make_parameters(action, thoughts),
        )
        for action in actions
    ]


def parse_tool_call(message: Message, thoughts: Sequence[ThoughtField]) -> ActionCall:
    """Return the first tool call of a reply; raise `UnreadableReply` if there is none or thoughts are missing."""
    if not message.tool_calls:
        raise UnreadableReply("It calls no tool." if message.text.strip() else "It was empty.")
    call = message.tool_calls[0]
    if call.parse_error:
        return ActionCall({}, call.name, {}, f"The arguments of {call.name} are not JSON: {call.parse_error}.")
    keys = {argument_name(field): field.name for field in thoughts}
    missing = [key for key in keys if call.arguments.get(key) is None]
    if missing:
        raise UnreadableReply(f"The call of {call.name} omits {', '.join(missing)}.")
    kept = {name: str(call.arguments[key]).strip() for key, name in keys.items()}
    arguments = {key: value for key, value in call.arguments.items() if key not in keys}
    return ActionCall(kept, call.name, arguments, ignored=len(message.tool_calls) - 1)


def argument_name(field: ThoughtField) -> str:
    """Return the name of the tool argument for a thought."""
    return re.sub(r"\W+", "_", field.name.lower())


def _make_parameters(action: Action, thoughts: Sequence[ThoughtField]) -> dict[str, object]:
    properties: dict[str, object] = {
        argument_name(field): {"type": "string", "description": field.description} for field in thoughts
    }
    for argument in action.arguments:
        kind = "integer" if argument.kind is int else "string"
        properties[argument.name] = {"type": kind, "description": argument.description}
    return {"type": "object", "properties": properties, "required": list(properties)}
