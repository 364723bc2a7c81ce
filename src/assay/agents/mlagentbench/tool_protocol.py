"""Moves as native tool calls: every action is a tool, and the thoughts are arguments that each of them has."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.agents.mlagentbench.actions import Action
from assay.agents.mlagentbench.turns import Field, Move, Unreadable

if TYPE_CHECKING:
    from assay.models import Message, Tool


def tools_of(actions: Sequence[Action], thoughts: Sequence[Field]) -> "list[Tool]":
    """The actions as tools."""
    from assay.models import Tool

    return [
        Tool(
            name=action.tool_name,
            description=f"{action.description} You are told: {action.returns}.",
            parameters=_parameters(action, thoughts),
        )
        for action in actions
    ]


def called_move(message: "Message", thoughts: Sequence[Field]) -> Move:
    """The first call of a reply as a move; `Unreadable` if it calls nothing or leaves out its thoughts."""
    if not message.tool_calls:
        raise Unreadable("It calls no tool." if message.text.strip() else "It was empty.")
    call, name = message.tool_calls[0], message.tool_calls[0].name
    if call.parse_error:
        return Move({}, name, {}, f"The arguments of {name} are not JSON: {call.parse_error}.")
    keys = {key_of(field): field.name for field in thoughts}
    missing = [key for key in keys if not str(call.arguments.get(key) or "").strip()]
    if missing:
        raise Unreadable(f"The call of {call.name} leaves out {', '.join(missing)}.")
    kept = {written: str(call.arguments[key]).strip() for key, written in keys.items()}
    own = {key: value for key, value in call.arguments.items() if key not in keys}
    return Move(kept, name, own, ignored=len(message.tool_calls) - 1)


def key_of(field: Field) -> str:
    """The name of a thought in the form of an argument."""
    return re.sub(r"\W+", "_", field.name.lower())


def _parameters(action: Action, thoughts: Sequence[Field]) -> dict[str, object]:
    thinking = {key_of(field): {"type": "string", "description": field.about} for field in thoughts}
    own = {
        argument.name: {"type": "integer" if argument.kind is int else "string", "description": argument.about}
        for argument in action.arguments
    }
    properties = {**thinking, **own}
    return {"type": "object", "properties": properties, "required": list(properties)}
