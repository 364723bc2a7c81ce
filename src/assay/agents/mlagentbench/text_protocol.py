"""Actions as text: named fields, the last two being the action and its arguments as JSON.

Thought: I need to find the data.
Action: List Files
Action Input: {"dir_path": "."}
"""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from assay.agents.mlagentbench.actions import Action, find_action
from assay.agents.mlagentbench.turns import ActionCall, ThoughtField, Turn, find_unserializable
from assay.agents.replies import MAX_CODE, UnreadableReply

ACTION = ThoughtField("Action", "the name of one action, exactly as it appears in the list")
INPUT = ThoughtField("Action Input", "the arguments of that action, as one JSON object")
OMITTED = "(executed; the observation is omitted here)"

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "/": "/"}
_LONE_BACKSLASH = re.compile(r'(\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))|\\')
_BEFORE_JSON = re.compile(rf"^(?:\s|{INPUT.name}[ \t]*:|[*_\-+>•–·](?!\w)|\d{{1,2}}[.)](?=\s)|`+\w*)*", re.I)


def describe_actions(actions: Sequence[Action]) -> str:
    """Describe all actions with their arguments and results."""
    return "\n".join(["# Actions", *map(_describe_action, actions)])


def describe_fields(thoughts: Sequence[ThoughtField]) -> str:
    """Describe the fields of a reply, in order."""
    return "\n".join(f"{field.name}: {field.description}" for field in (*thoughts, ACTION, INPUT))


def parse_text(text: str, thoughts: Sequence[ThoughtField], actions: Sequence[Action] = ()) -> ActionCall:
    """Return the first action call of a reply; raise `UnreadableReply` if fields are missing.

    Field names may be bold, headings, or in another case. A thought may be left empty, but its field has to be there.
    Whatever follows the first call was invented by the model without having seen an observation, and is ignored.
    Arguments that are not JSON make a call with a parse error, unless the action is one of `actions` and the names of
    its arguments show where each begins.
    """
    if not text.strip():
        raise UnreadableReply("It was empty.")
    names = [field.name for field in (*thoughts, ACTION, INPUT)]
    sections = _split_sections(text, names)
    if not set(names) <= set(sections):
        sections = _split_anywhere(text, names) or sections
    needed = (ACTION.name, INPUT.name)
    missing = [name for name in names if name not in sections or (name in needed and not sections[name].strip())]
    if missing:
        raise UnreadableReply(f"It has no {_enumerate(missing)}.")
    action = _parse_name(sections[ACTION.name])
    if not action:
        raise UnreadableReply(f'It has no "{ACTION.name}".')
    known = find_action(action, actions)
    arguments, reason = _parse_arguments(sections[INPUT.name], list(known.usage()) if known else [])
    kept = {field.name: sections[field.name].strip() for field in thoughts}
    return ActionCall(kept, action, arguments, reason)


def format_turn(turn: Turn, *, with_observation: bool) -> str:
    """Return a turn as the model is shown it again, with its observation or a note in place of it."""
    call = turn.call
    fields = {**call.thoughts, ACTION.name: call.action, INPUT.name: json.dumps(call.arguments, ensure_ascii=False)}
    lines = "\n".join(f"{name}: {text}" for name, text in fields.items())
    return f"{lines}\nObservation:\n{turn.observation if with_observation else OMITTED}"


def _describe_action(action: Action) -> str:
    usage = json.dumps(action.usage(), ensure_ascii=False)
    return f"\n## {action.name}\n{action.description}\n{INPUT.name}: {usage}\nObservation: {action.returns}."


def _split_sections(text: str, names: Sequence[str]) -> dict[str, str]:
    """Return the text under the first heading of each name; the arguments extend to the end of the text."""
    any_name = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    # Possessive, so that a long line of blanks takes linear time.
    heading = re.compile(rf"^[ \t]*+[*_#>`\-]*+[ \t]*+({any_name})[ \t]*+[*_`]*+[ \t]*+:[ \t]*+[*_]*+", re.I | re.M)
    canonical = {name.lower(): name for name in names}
    first: dict[str, re.Match[str]] = {}
    for match in heading.finditer(text):
        name = canonical[match[1].lower()]
        # Arguments only count after an action, and nothing after the arguments is part of the call.
        if name not in first and INPUT.name not in first and (name != INPUT.name or ACTION.name in first):
            first[name] = match
    starts = sorted(match.start() for match in first.values())
    ends = dict(zip(starts, [*starts[1:], len(text)], strict=False))
    return {name: text[match.end() : ends[match.start()]] for name, match in first.items()}


def _split_anywhere(text: str, names: Sequence[str]) -> dict[str, str] | None:
    """Return the text after each name as MLAgentBench's parser does: in order, but not only at the start of lines.

    Some models write all fields on one line. As there, the last of several equal names counts.
    """
    text = text.partition("\nObservation:")[0]
    sections: dict[str, str] = {}
    end = len(text)
    for name in reversed(names[1:]):
        start = text.rfind(f"{name}:", 0, end)
        if start < 0:
            return None
        sections[name] = text[start + len(name) + 1 : end]
        end = start
    first = f"{names[0]}:"
    start = text.find(first, 0, end)
    if start < 0:
        return None
    return {names[0]: text[start + len(first) : end], **sections}


def _parse_name(text: str) -> str:
    """Return the name of an action; the name of the field may be repeated before it."""
    lines = re.sub(rf"^(?:[\s*_#>`\-]*{ACTION.name}[ \t]*:)+", "", text, flags=re.I).strip().splitlines()
    return lines[0].strip(" \t`'\"*_.[]") if lines else ""


def _parse_arguments(text: str, names: Sequence[str]) -> tuple[Mapping[str, Any], str | None]:
    """Parse the first JSON object of a text; tolerate raw line breaks, lone backslashes and Python quotes.

    In front of it there may be the name of the field again, a list bullet or quote mark, and a code fence.
    """
    body = _BEFORE_JSON.sub("", text, count=1)
    try:
        value = _decode_json(body)
    except (ValueError, RecursionError) as error:
        value = _parse_python(body)
        if value is None and names:
            value = _match_arguments(body, names)
        if value is None:
            position = getattr(error, "pos", 0)
            near = body[max(0, position - 30) : position + 30]
            return {}, f"The {INPUT.name} is not JSON: {error}, near {near!r}."
    if not isinstance(value, dict):
        return {}, f'The {INPUT.name} must be a JSON object such as {{"name": "value"}}, not {type(value).__name__}.'
    if reason := find_unserializable(value):
        return {}, f"The {INPUT.name} contains values that cannot be serialized: {reason}."
    return value, None


def _decode_json(text: str) -> object:
    """Decode JSON. If that fails, take backslashes that escape nothing as they are: models write paths and patterns."""
    decoder = json.JSONDecoder(strict=False)
    try:
        return decoder.raw_decode(text)[0]
    except ValueError as error:
        escaped = _LONE_BACKSLASH.sub(lambda match: match[1] or r"\\", text)
        try:
            return decoder.raw_decode(escaped)[0]
        except ValueError:
            raise error from None  # its position is one in the text


def _parse_python(text: str) -> dict[str, Any] | None:
    """Parse a dictionary in Python syntax."""
    body = text.partition("\nObservation:")[0].strip().removesuffix("```").strip()
    if len(body) > MAX_CODE:
        return None
    try:
        value = ast.literal_eval(body)
        json.dumps(value, allow_nan=False)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, dict) and all(isinstance(key, str) for key in value) else None


def _match_arguments(text: str, names: Sequence[str]) -> dict[str, str] | None:
    """Return what follows the name of each argument in broken JSON, in order, as MLAgentBench's parser does.

    Models write quotes and backslashes into texts without escaping them. The last of several equal names counts. A
    value must be a complete text or have no quotes at all, so that nothing of a reply that was cut off counts.
    """
    start = text.find("{")
    end = text.rfind("}")
    body = text[start + 1 : end if end > start else len(text)].strip("{} \t\r\n")
    arguments: dict[str, str] = {}
    for name in reversed(names):
        name_start = body.rfind(f'"{name}":')
        value = body[name_start + len(name) + 3 :].strip()
        if arguments and not value.endswith(","):
            return None
        value = value.removesuffix(",").rstrip()
        quoted = len(value) >= 2 and value[0] == value[-1] == '"'
        if start < 0 or name_start < 0 or not (quoted or (value and '"' not in value and "\n" not in value)):
            return None
        inner = value[1:-1] if quoted else value
        arguments[name] = re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[0]), inner)
        body = body[:name_start]
    return arguments


def _enumerate(names: Sequence[str]) -> str:
    quoted = [f'"{name}"' for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
