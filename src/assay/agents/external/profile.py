"""Profiles: all there is to know about running somebody else's agent, in a data file."""

import sys
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from assay.core.errors import UsageError
from assay.core.quantities import Model


class Profile(Model):
    """How an agent is run, as `profiles/NAME.toml` or a file of one's own says it.

    In the command, the variables and the files, names in braces are replaced by what holds in the lab: `{task}`,
    `{endpoint}`, `{port}`, `{model}`, `{seconds}`, `{most_seconds}`, `{steps}`, `{half_steps}`, `{submission}`,
    `{workspace}`, `{agent}`, `{python}`, `{seed}` and `{resumed}`.

    `submissions` are further places in the workspace where it writes what it would hand in; `trajectory` are patterns
    of the files that tell how it worked. `python` is the oldest Python whose labs it runs in.
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
    model: str = "main"

    @property
    def missing(self) -> str | None:
        """What this machine lacks to run it."""
        if sys.version_info[:2] >= self.python:
            return None
        needed, here = (".".join(map(str, version)) for version in (self.python, sys.version_info[:2]))
        return f"{self.title} needs labs with Python {needed}, and this is {here}; install Assay in a newer one"


def load_profile(name: str) -> Profile:
    """The profile that comes with Assay under a name, or that is in a file."""
    own = name.endswith(".toml")
    source = Path(name) if own else files("assay.agents.external").joinpath("profiles", f"{name}.toml")
    if not source.is_file():
        raise UsageError(f"no profile {name!r}; there are: {', '.join(profile_names())}, and path.toml")
    try:
        return Profile.model_validate(tomllib.loads(source.read_text()))
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        raise UsageError(f"profile {name}: {faults}") from None
    except ValueError as error:
        raise UsageError(f"profile {name}: {error}") from None


def profile_names() -> list[str]:
    """The profiles that come with Assay."""
    found = (entry.name for entry in files("assay.agents.external").joinpath("profiles").iterdir())
    return sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml"))
