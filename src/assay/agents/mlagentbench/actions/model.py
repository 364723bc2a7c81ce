"""What an action is: a name, what it does, its arguments, and what the agent is told afterwards.

    @action("Copy File", returns="whether the file was copied")
    async def copy_file(means: ActionContext, source: Annotated[str, "the file to copy"], …) -> str:
        \"\"\"Copy a file.\"\"\"

The names, arguments and meanings are those of MLAgentBench; the descriptions are what models read.
"""

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from assay.agents.observation import ActionFailed, Observation
from assay.agents.prompts import Templates
from assay.agents.workbench import Workbench

Do = Callable[..., Awaitable[str | Observation]]


@dataclass(frozen=True)
class ActionContext:
    """What actions act with: the bench, the words for models, and limits that an agent's settings choose."""

    bench: Workbench
    templates: Templates
    script_seconds: float | None = None
    session_seconds: float | None = None
    longest_output: int = 20_000


@dataclass(frozen=True)
class Argument:
    """One argument of an action; all are texts or whole numbers, and none can be left out."""

    name: str
    kind: type
    about: str


@dataclass(frozen=True)
class Action:
    """Something an agent can do in one step."""

    name: str
    description: str
    arguments: tuple[Argument, ...]
    returns: str
    do: Do

    @property
    def tool_name(self) -> str:
        """The name in the form that models' tools must have: `Edit Script (AI)` is `edit_script_ai`."""
        return tool_name(self.name)

    def usage(self) -> dict[str, str]:
        """Its arguments, and what they mean."""
        return {argument.name: argument.about for argument in self.arguments}

    async def perform(self, means: ActionContext, arguments: Mapping[str, Any]) -> Observation:
        """Do it; `ActionFailed` if it is called wrongly or comes to nothing."""
        done = await self.do(means, **self._checked(arguments))
        return done if isinstance(done, Observation) else Observation(done)

    def _checked(self, given: Mapping[str, Any]) -> dict[str, str | int]:
        wanted = {argument.name for argument in self.arguments}
        faults = [f"{name!r} is missing" for name in sorted(wanted - set(given))]
        faults += [f"there is no argument {name!r}" for name in sorted(set(given) - wanted)]
        values: dict[str, str | int] = {}
        for argument in self.arguments:
            if argument.name in given:
                value = _as(argument.kind, given[argument.name])
                if value is None:
                    kind = "a whole number" if argument.kind is int else "a text"
                    faults.append(f"{argument.name!r} must be {kind}, not {given[argument.name]!r:.100}")
                else:
                    values[argument.name] = value
        if faults:
            usage = "; ".join(f"{name}: {about}" for name, about in self.usage().items())
            raise ActionFailed("arguments", f"{self.name} was called wrongly: {', '.join(faults)}. It takes {usage}.")
        return values


def action(name: str, *, returns: str) -> Callable[[Do], Action]:
    """Make an action of a function: its docstring is the description, its annotated parameters are the arguments."""

    def made(do: Do) -> Action:
        hints = get_type_hints(do, include_extras=True)
        names = list(inspect.signature(do).parameters)[1:]
        arguments = tuple(Argument(each, hints[each].__origin__, hints[each].__metadata__[0]) for each in names)
        return Action(name, " ".join((inspect.getdoc(do) or "").split()), arguments, returns, do)

    return made


def tool_name(name: str) -> str:
    """The name of an action in small letters, with nothing but underscores between words."""
    return re.sub(r"[\W_]+", "_", name.lower()).strip("_")


def _as(kind: type, value: Any) -> str | int | None:
    """A value as the argument wants it: numbers may come as texts and texts as numbers, nothing else is bent."""
    if isinstance(value, bool):
        return None
    if kind is int:
        if isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,18}\s*", value):
            return int(value)
        return value if isinstance(value, int) else None
    return str(value) if isinstance(value, str | int | float) else None
