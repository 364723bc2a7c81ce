"""Moves as text: fields that begin with their names, the last two being the action and its arguments as JSON.

Thought: The data must be somewhere.
Action: List Files
Action Input: {"dir_path": "."}
"""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from assay.agents.mlagentbench.actions import Action
from assay.agents.mlagentbench.turns import Field, Move, Turn, Unreadable, unwritable

ACTION = Field("Action", "the name of one action, exactly as it stands in the list")
INPUT = Field("Action Input", "the arguments of that action, as one JSON object")
LEFT_OUT = "(done; what came of it is left out here)"


def describe_actions(actions: Sequence[Action]) -> str:
    """All actions, each with its arguments and what comes of it."""
    return "\n".join(["# Actions", *map(_describe, actions)])


def describe_fields(thoughts: Sequence[Field]) -> str:
    """The fields of an answer, in order."""
    return "\n".join(f"{field.name}: {field.about}" for field in (*thoughts, ACTION, INPUT))


def read_move(text: str, thoughts: Sequence[Field]) -> Move:
    """The first move in a reply; `Unreadable` says which fields are missing.

    Names of fields may be bold, headings, or in other letters. What follows the first move was made up by the model
    without having seen what came of it, and is ignored. Arguments that are no JSON make a move with a fault.
    """
    if not text.strip():
        raise Unreadable("It was empty.")
    names = [field.name for field in (*thoughts, ACTION, INPUT)]
    found = _sections(text, names)
    missing = [name for name in names if not found.get(name, "").strip()]
    if missing:
        raise Unreadable(f"It has no {_listed(missing)}.")
    arguments, fault = _arguments(found[INPUT.name])
    kept = {field.name: found[field.name].strip() for field in thoughts}
    return Move(kept, _name(found[ACTION.name]), arguments, fault)


def show_turn(turn: Turn, *, observed: bool) -> str:
    """A turn as the model is shown it again; an observation that is not shown is replaced by a note."""
    move = turn.move
    fields = {**move.thoughts, ACTION.name: move.action, INPUT.name: json.dumps(move.arguments, ensure_ascii=False)}
    said = "\n".join(f"{name}: {text}" for name, text in fields.items())
    return f"{said}\nObservation:\n{turn.observation if observed else LEFT_OUT}"


def _describe(action: Action) -> str:
    usage = json.dumps(action.usage(), ensure_ascii=False)
    return f"\n## {action.name}\n{action.description}\n{INPUT.name}: {usage}\nYou are told: {action.returns}."


def _sections(text: str, names: Sequence[str]) -> dict[str, str]:
    """What stands under the first heading of each name; the arguments go to the end of the text."""
    any_name = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    heading = re.compile(rf"^[ \t]*[*_#>`\-]*[ \t]*({any_name})[ \t]*[*_`]*[ \t]*:[ \t]*[*_]*", re.I | re.M)
    written = {name.lower(): name for name in names}
    first: dict[str, re.Match[str]] = {}
    for match in heading.finditer(text):
        name = written[match[1].lower()]
        # An action only counts as one with its arguments after it, and what comes after those is no part of the move.
        if name not in first and INPUT.name not in first and (name != INPUT.name or ACTION.name in first):
            first[name] = match
    starts = sorted(match.start() for match in first.values())
    ends = dict(zip(starts, [*starts[1:], len(text)], strict=False))
    return {name: text[match.end() : ends[match.start()]] for name, match in first.items()}


def _name(text: str) -> str:
    line = text.strip().splitlines()[0]
    return line.strip(" \t`'\"*_.[]")


def _arguments(text: str) -> tuple[Mapping[str, Any], str | None]:
    """The first JSON object of a text, in a fence or not; line breaks in strings and Python's quotes are let pass."""
    body = re.sub(r"^\s*```\w*\s*", "", text).lstrip()
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(body)
    except (ValueError, RecursionError) as error:
        value = _python(body)
        if value is None:
            place = getattr(error, "pos", 0)
            near = body[max(0, place - 30) : place + 30]
            return {}, f"The {INPUT.name} is not JSON: {error}, near {near!r}."
    if not isinstance(value, dict):
        return {}, f'The {INPUT.name} must be a JSON object such as {{"name": "value"}}, not {type(value).__name__}.'
    if why := unwritable(value):
        return {}, f"The {INPUT.name} holds what cannot be written down: {why}."
    return value, None


def _python(text: str) -> dict[str, Any] | None:
    """A dictionary as Python writes it."""
    body = text.partition("\nObservation:")[0].strip().removesuffix("```").strip()
    try:
        value = ast.literal_eval(body)
        json.dumps(value, allow_nan=False)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, dict) and all(isinstance(key, str) for key in value) else None


def _listed(names: Sequence[str]) -> str:
    quoted = [f'"{name}"' for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
