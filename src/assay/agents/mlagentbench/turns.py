"""What a model decides in one turn: its thoughts, one action, and the action's arguments."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.core.untrusted import find_unrecordable


@dataclass(frozen=True)
class ThoughtField:
    """A field that the model fills in before it acts."""

    name: str
    description: str


@dataclass(frozen=True)
class ActionCall:
    """One decision of the model.

    `parse_error` says why the arguments could not be parsed, if they could not; `ignored` is the number of further
    actions in the same reply, which are not executed.
    """

    thoughts: Mapping[str, str]
    action: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    parse_error: str | None = None
    ignored: int = 0


@dataclass(frozen=True)
class Turn:
    """An action call and its observation, as the model is shown it again.

    `malformed` marks a call that was not performed and took no step; it is shown until the next one that is.
    """

    call: ActionCall
    observation: str
    malformed: bool = False


def find_unserializable(arguments: Mapping[str, Any]) -> str | None:
    """Return why arguments can be neither recorded nor shown to a model again, or None when they can.

    Unpaired surrogates, numbers that are not finite and very deep lists all pass as JSON.
    """
    try:
        json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        return str(error)
    return find_unrecordable(arguments)
