"""The base class of agents, and how an agent is found by its name."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from assay.agents.workbench import Workbench
from assay.core.errors import UsageError
from assay.core.layout import shorten_middle
from assay.core.plugins import Plugins
from assay.core.text import describe_validation_error, one_line
from assay.lab.interface import Network
from assay.records.code import Solution
from assay.records.events import AnyRequest
from assay.tasks import Task

ModelUse = Literal["none", "optional", "required"]
_MAX_VALUE = 32


class Settings(BaseModel):
    """The settings of an agent are its fields: typed, validated, and part of a trial's identity.

    A trial records all of them, so none can depend on whether it was set: a default that depends on other settings is
    None.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    @property
    def model_fields_set(self) -> set[str]:
        """All fields, as when the settings of a trial are read from its record."""
        return set(type(self).model_fields)


@dataclass(frozen=True)
class Requirements:
    """What an agent needs from its lab beyond what every agent gets.

    `tools` is an environment of the agent's own, by name or as a file. `unsealed` means that it must run on the machine
    itself; its results are marked as unsealed.
    """

    tools: str | None = None
    network: Network = "none"
    unsealed: bool = False


class Agent(Settings, ABC):
    """Decides what to do about a task, and does it through a workbench.

    Subclass it, give it a docstring whose first line says what it does, and implement `work`.
    """

    summary: ClassVar[str] = ""
    asks_models: ClassVar[bool] = False
    at_terminal: ClassVar[bool] = False
    """Whether it needs a person at the terminal, who can work on one trial at a time only."""
    scripts: ClassVar[tuple[str, ...]] = ("assay.agents:scripts/session.py",)
    """Python files, as `package:path`, that it writes into workspaces and that are not the work of a model."""
    calls: ClassVar[tuple[str, ...]] = ()
    """Types of the calls that it makes, the one without which it submits nothing first; empty if that is not known."""

    @classmethod
    def settings_name_files(cls, settings: Mapping[str, Any]) -> bool:
        """Whether to validate these settings is to read files that they name; a record may come from anywhere."""
        return False

    def makes(self, request: AnyRequest, task: Task) -> bool:
        """Return whether it may make this call; `assay verify` compares records with this."""
        return not self.calls or request.type in self.calls

    def label(self, name: str) -> str:
        """Return its name in reports: the agent's name, and the settings that differ from the defaults."""
        return format_label(name.rpartition(":")[2], self.model_dump(mode="json", exclude_defaults=True))

    def model_use(self) -> ModelUse:
        """Return whether it asks models; a plan without a model is refused where one is required."""
        return "required" if self.asks_models else "none"

    def inapplicable(self, task: Task) -> str | None:
        """Return why this agent cannot work on `task`, or None if it can."""
        return None

    def requirements(self) -> Requirements:
        """Return what it needs from its lab."""
        return Requirements()

    def find_solution(self, task: Task) -> Solution:
        """Return where the code is that makes the submission, for trials in which code is submitted."""
        return Solution()

    @abstractmethod
    async def work(self, bench: Workbench) -> None:
        """Work until done or out of budget; the submission in the workspace at the end is graded."""


AGENTS = Plugins[type[Agent]]("agents", "agent", lambda value: isinstance(value, type) and issubclass(value, Agent))


def read_shipped_scripts() -> list[str]:
    """Return the scripts that registered agents write into workspaces."""
    names = dict.fromkeys(script for name in agent_names() for script in agent_class(name).scripts)
    resources = (script.partition(":") for script in names)
    return [files(package).joinpath(path).read_text("utf-8") for package, _, path in resources]


def format_label(name: str, settings: Mapping[str, Any]) -> str:
    """Return a name with settings, such as `aide policy=mcts`; long values are shortened."""
    parts = [name]
    for key, value in settings.items():
        text = "+".join(map(str, value)) if isinstance(value, list) else str(value)
        parts.append(f"{key}={shorten_middle(one_line(text), _MAX_VALUE)}")
    return " ".join(parts)


def find_agent(name: str, settings: Mapping[str, Any] | None = None) -> Agent:
    """Return the agent registered as `name`, or of the class `path.py:Class`, with its settings."""
    try:
        return agent_class(name).model_validate(dict(settings or {}))
    except ValidationError as error:
        known = {"": agent_class(name).model_fields}
        raise UsageError(f"agent {name}: {describe_validation_error(error, known)}") from None


def agent_class(name: str) -> type[Agent]:
    """Return the class of the agent registered as `name`, or `path.py:Class`."""
    return AGENTS.load(name)


def agent_names() -> list[str]:
    """Return the names of all registered agents."""
    return AGENTS.names()
