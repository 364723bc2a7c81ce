"""What an agent's model decides at a time: its thoughts, one action, and the arguments of that."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Field:
    """A thought that a model is asked to write down, under a name, before it acts."""

    name: str
    about: str


@dataclass(frozen=True)
class Move:
    """One decision.

    `fault` says why the arguments could not be read, if they could not; `ignored` counts further actions in the same
    reply, which are not carried out.
    """

    thoughts: Mapping[str, str]
    action: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    fault: str | None = None
    ignored: int = 0


@dataclass(frozen=True)
class Turn:
    """A move and what came of it, as the model is shown it again."""

    move: Move
    observation: str


class Unreadable(Exception):
    """A reply that holds no move, and why."""


def unwritable(arguments: Mapping[str, Any]) -> str | None:
    """Why arguments can neither be kept nor shown to a model again, or None when they can.

    Halves of characters, numbers that are not finite or have no end, and lists too deep all pass for JSON.
    """
    try:
        json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        return str(error)
    return None
