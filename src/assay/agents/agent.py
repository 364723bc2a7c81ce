"""What an agent is, and how one is found by name."""

import difflib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError

from assay.agents.workbench import Workbench
from assay.core.errors import UsageError
from assay.lab.interface import Network
from assay.tasks import Task, load_plugin


class Settings(BaseModel):
    """An agent's settings are its fields: named, typed, checked, and part of a trial's identity."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class Wants:
    """What an agent wants of its lab beyond what every agent gets.

    `tools` is an environment of the agent's own, by name or as a file; `unsealed` says that it must run on the machine
    itself, and that whatever comes of it is marked so.
    """

    tools: str | None = None
    network: Network = "none"
    unsealed: bool = False


class Agent(Settings, ABC):
    """Decides what to do on a task, and does it through a workbench.

    Subclass it, give it a docstring whose first line says what it does, and implement `work`.
    """

    summary: ClassVar[str] = ""
    asks_models: ClassVar[bool] = False
    at_terminal: ClassVar[bool] = False
    """Whether a person must sit at the terminal, who can do only one trial at a time."""

    def label(self, name: str) -> str:
        """How reports call it: its name, and the settings that differ from the defaults."""
        settings = self.model_dump(mode="json", exclude_defaults=True)
        return ",".join([name.rpartition(":")[2], *(f"{setting}={value}" for setting, value in settings.items())])

    def inapplicable(self, task: Task) -> str | None:
        """Why this agent cannot take `task` on, or None when it can."""
        return None

    def wants(self) -> Wants:
        """What it wants of its lab."""
        return Wants()

    @abstractmethod
    async def work(self, bench: Workbench) -> None:
        """Act until satisfied or out of budget; what lies in the workspace at the end is handed in."""


def find_agent(name: str, settings: Mapping[str, Any] | None = None) -> Agent:
    """The agent registered as `name`, or the class `path.py:Class`, with its settings."""
    try:
        return agent_class(name).model_validate(dict(settings or {}))
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        raise UsageError(f"agent {name}: {faults}") from None


def agent_class(name: str) -> type[Agent]:
    """The class of the agent registered as `name`, or `path.py:Class`."""
    return _from_path(name) if ":" in name else _registered(name)


def agent_names() -> list[str]:
    """Every registered agent."""
    return sorted(entry.name for entry in entry_points(group="assay.agents"))


def _registered(name: str) -> type[Agent]:
    for entry in entry_points(group="assay.agents", name=name):
        found: type[Agent] = entry.load()
        return found
    near = difflib.get_close_matches(name, agent_names(), n=1)
    hint = f"; did you mean {near[0]}?" if near else f"; there are: {', '.join(agent_names())}, and path.py:Class"
    raise UsageError(f"no agent is called {name!r}{hint}")


def _from_path(name: str) -> type[Agent]:
    path, _, attribute = name.rpartition(":")
    found = getattr(load_plugin(Path(path)), attribute, None)
    if not (isinstance(found, type) and issubclass(found, Agent)):
        raise UsageError(f"{path} defines no agent class {attribute}")
    return found
