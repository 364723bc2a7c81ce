"""What an action is: a name, a description, its arguments, and what the agent observes afterwards.

    @action("Copy File", returns="whether the file was copied")
    async def copy_file(context: ActionContext, source: Annotated[str, "the file to copy"], …) -> str:
        \"\"\"Copy a file.\"\"\"

Names, arguments and meanings are those of MLAgentBench; the descriptions are shown to models.
"""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, get_type_hints

from assay.agents.observation import ActionFailed, Observation
from assay.agents.prompts import Templates
from assay.agents.workbench import Workbench
from assay.core.errors import ModelError, PromptTooLong

Implementation = Callable[..., Awaitable[str | Observation]]

PROSE = "prose"
"""Marks an argument that only a model or a person reads, so that a list or an object serves as well as a text."""


@dataclass(frozen=True)
class ActionContext:
    """What actions work with: the workbench, the prompt templates, and limits from the agent's settings."""

    bench: Workbench
    templates: Templates
    script_seconds: float | None = None
    session_seconds: float | None = None
    max_output: int = 20_000
    published: bool = False
    """Whether observations have the published form, and edits are written as there even if they were cut off."""


@dataclass(frozen=True)
class Argument:
    """A required argument of an action, either text or an integer; `prose` if it is text for a model or a person."""

    name: str
    kind: type
    description: str
    prose: bool = False


@dataclass(frozen=True)
class Action:
    """Something an agent can do in one step."""

    name: str
    description: str
    arguments: tuple[Argument, ...]
    returns: str
    implementation: Implementation

    @property
    def tool_name(self) -> str:
        """The name as a tool name: `Edit Script (AI)` is `edit_script_ai`."""
        return tool_name(self.name)

    def usage(self) -> dict[str, str]:
        """Return the description of each argument."""
        return {argument.name: argument.description for argument in self.arguments}

    def mismatch(self, arguments: Mapping[str, Any]) -> str | None:
        """Return which arguments are missing or unknown, or None if exactly the right ones are there."""
        mismatches = self._find_mismatches(arguments)
        return self._describe_mismatches(mismatches) if mismatches else None

    async def perform(self, context: ActionContext, arguments: Mapping[str, Any]) -> Observation:
        """Perform the action; raise `ActionFailed` if the arguments are wrong or it does not succeed."""
        result = await self.implementation(context, **self._check_arguments(arguments))
        return result if isinstance(result, Observation) else Observation(result)

    def _check_arguments(self, values: Mapping[str, Any]) -> dict[str, str | int]:
        mismatches = self._find_mismatches(values)
        checked: dict[str, str | int] = {}
        for argument in self.arguments:
            if argument.name not in values:
                continue
            value = _convert(argument, values[argument.name])
            if value is None:
                kind = "an integer" if argument.kind is int else "a string"
                mismatches.append(f"{argument.name!r} must be {kind}, not {values[argument.name]!r:.100}")
            else:
                checked[argument.name] = value
        if mismatches:
            raise ActionFailed("arguments", self._describe_mismatches(mismatches))
        return checked

    def _find_mismatches(self, values: Mapping[str, Any]) -> list[str]:
        known = {argument.name for argument in self.arguments}
        missing = [f"{name!r} is missing" for name in sorted(known - set(values))]
        return missing + [f"there is no argument {name!r}" for name in sorted(set(values) - known)]

    def _describe_mismatches(self, mismatches: Sequence[str]) -> str:
        usage = "; ".join(f"{name}: {description}" for name, description in self.usage().items())
        return f"Wrong arguments for {self.name}: {', '.join(mismatches)}. Usage: {usage}."


def action(name: str, *, returns: str) -> Callable[[Implementation], Action]:
    """Make an action from a function: its docstring is the description, its annotated parameters the arguments."""

    def make(implementation: Implementation) -> Action:
        hints = get_type_hints(implementation, include_extras=True)
        names = list(inspect.signature(implementation).parameters)[1:]
        arguments = tuple(_make_argument(each, hints[each]) for each in names)
        description = " ".join((inspect.getdoc(implementation) or "").split())
        return Action(name, description, arguments, returns, implementation)

    return make


def tool_name(name: str) -> str:
    """Return the name of an action in lower case with single underscores between words."""
    return re.sub(r"[\W_]+", "_", name.lower()).strip("_")


@contextmanager
def model_errors_as_failures() -> Iterator[None]:
    """Turn errors of a model that is asked in the middle of an action into a failure of that action."""
    try:
        yield
    except PromptTooLong as error:
        raise ActionFailed("too long", f"The input is too long for the assistant: {error}.") from None
    except ModelError as error:
        raise ActionFailed("connection", f"The assistant is unavailable: {error}.") from None


def _make_argument(name: str, hint: Any) -> Argument:
    description, *marks = hint.__metadata__
    return Argument(name, hint.__origin__, description, PROSE in marks)


def _convert(argument: Argument, value: Any) -> str | int | None:
    """Return a value as an argument's type: numbers may be given as text and text as numbers.

    In prose, lists and objects are shown as they are, as in MLAgentBench. Anything else has no such reading.
    """
    if argument.prose and isinstance(value, list | dict):
        return str(value)
    if isinstance(value, bool):
        return None
    if argument.kind is int:
        if isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,18}\s*", value):
            return int(value)
        return value if isinstance(value, int) else None
    return str(value) if isinstance(value, str | int | float) else None
