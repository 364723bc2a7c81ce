"""What an agent's model decides at a time: its thoughts, one action, and the arguments of that."""

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
