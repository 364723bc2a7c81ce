"""Profiles: data files that say how external agents are run."""

import sys
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from assay.core.errors import UsageError
from assay.core.quantities import Model
from assay.core.text import describe_validation_error, did_you_mean
from assay.models import MAIN


class Profile(Model):
    """How an agent is run, as read from `profiles/NAME.toml` or a custom file.

    In the command, the variables and the files, these placeholders are replaced by their values in the lab: `{task}`,
    `{endpoint}`, `{port}`, `{model}`, `{seconds}`, `{max_seconds}`, `{steps}`, `{half_steps}`, `{submission}`,
    `{workspace}`, `{agent}`, `{python}`, `{seed}` and `{resumed}`.

    `submissions` are further paths in the workspace to which the agent writes submissions; `trajectory` are patterns of
    files that document its work. `python` is the oldest Python version of a lab it runs in.
    """

    format: Literal["profile/1"] = "profile/1"
    title: str = ""
    about: str = ""
    python: tuple[int, int] = (3, 11)
    environment: str | None = None
    command: tuple[str, ...] = Field(min_length=1)
    variables: dict[str, str] = Field(default_factory=dict)
    files: dict[str, str] = Field(default_factory=dict)
    submissions: tuple[str, ...] = ()
    trajectory: tuple[str, ...] = ()
    model: str = MAIN

    @property
    def unmet_requirement(self) -> str | None:
        """What this machine lacks to run the agent."""
        if sys.version_info[:2] >= self.python:
            return None
        needed, here = (".".join(map(str, version)) for version in (self.python, sys.version_info[:2]))
        return f"{self.title} requires Python {needed} in the lab, and this is {here}; use a newer Python"


def load_profile(name: str) -> Profile:
    """Return the profile that is shipped under a name, or read from a file."""
    custom = name.endswith(".toml")
    source = Path(name) if custom else files("assay.agents.external").joinpath("profiles", f"{name}.toml")
    if not source.is_file():
        raise UsageError(f"no profile is called {name!r}; {did_you_mean(name, [*profile_names(), 'path.toml'])}")
    try:
        return Profile.model_validate(tomllib.loads(source.read_text("utf-8")))
    except ValidationError as error:
        known = {"": Profile.model_fields}
        raise UsageError(f"profile {name}: {describe_validation_error(error, known)}") from None
    except ValueError as error:
        raise UsageError(f"profile {name}: {error}") from None


def profile_names() -> list[str]:
    """Return the names of the shipped profiles."""
    found = (entry.name for entry in files("assay.agents.external").joinpath("profiles").iterdir())
    return sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml"))
