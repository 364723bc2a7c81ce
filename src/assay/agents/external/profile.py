"""Profiles: data files that say how external agents are run."""

import sys
import tomllib
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from pydantic import Field, ValidationError

from assay.agents.external.agent import Protocol
from assay.core.errors import RecordError, UsageError
from assay.core.quantities import Model
from assay.core.text import describe_validation_error, did_you_mean
from assay.core.untrusted import read_plain, read_toml, refuse_links
from assay.models import MAIN
from assay.records.code import Solution

MAX_INCLUDED = 10 * 10**6
"""Max bytes of a file that a profile includes."""


class Profile(Model):
    """How an agent is run, as read from `profiles/NAME.toml` or a custom file.

    In the command, the variables and the files, these placeholders are replaced by their values in the lab: `{task}`,
    `{endpoint}`, `{port}`, `{model}`, `{seconds}`, `{max_seconds}`, `{steps}`, `{half_steps}`, `{submission}`,
    `{workspace}`, `{agent}`, `{python}`, `{seed}`, `{arguments}` and `{resumed}`.
    """

    format: Literal["profile/1"] = "profile/1"
    title: str = ""
    about: str = ""
    command: tuple[str, ...] = Field(min_length=1, description="program and arguments, run in the workspace")
    arguments: str = Field(default="", description="value of {arguments}; a trial can add others")
    protocol: Protocol = Field(default="none", description="how it is given the task: acp, or by its command alone")
    asks_models: bool = Field(default=True, description="whether it asks a model; if not, no --model is needed")
    environment: str | None = Field(
        default=None, description="lab environment with its packages: a name or requirements file"
    )
    python: tuple[int, int] = Field(default=(3, 11), description="the oldest Python version of a lab it runs in")
    variables: dict[str, str] = Field(default_factory=dict, description="environment variables")
    files: dict[str, str] = Field(default_factory=dict, description="path in the workspace -> content")
    include: tuple[str, ...] = Field(
        default=(), description="files next to the profile, copied to the workspace unchanged"
    )
    included: dict[str, str] = Field(default_factory=dict, description="their content, read with the profile")
    submissions: tuple[str, ...] = Field(default=(), description="more paths to which it writes submissions")
    solution: tuple[str, ...] = Field(
        default=Solution().command, description="command that repeats its best solution, where code is submitted"
    )
    solution_files: tuple[str, ...] = Field(
        default=Solution().files, description="patterns of the files of the workspace that this command needs"
    )
    trajectory: tuple[str, ...] = Field(default=(), description="patterns of files to keep with the record")
    model: str = Field(default=MAIN, description="value of {model}")

    @property
    def unmet_requirement(self) -> str | None:
        """What is missing on this machine to run the agent."""
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
        profile = Profile.model_validate(_read(source))
        if custom and profile.environment and profile.environment.endswith(".txt"):
            profile = profile.model_copy(update={"environment": _locate_requirements(Path(name), profile.environment)})
        if not profile.include:
            return profile
        if not custom:
            raise ValueError("include: only a file of your own can include others")
        return profile.model_copy(update={"included": _read_included(Path(name).parent, profile.include)})
    except ValidationError as error:
        known = {"": Profile.model_fields}
        raise UsageError(f"profile {name}: {describe_validation_error(error, known)}") from None
    except ValueError as error:
        raise UsageError(f"profile {name}: {error}") from None


def _read(source: Traversable) -> dict[str, Any]:
    return read_toml(source) if isinstance(source, Path) else tomllib.loads(source.read_text("utf-8"))


def _locate_requirements(profile: Path, name: str) -> str:
    """Return the path of a requirements file, which is in the folder of the profile or in a folder below it."""
    folder = profile.absolute().parent
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"environment: {name} is outside the folder of the profile")
    refuse_links(*(folder / above for above in (path, *path.parents[:-1])))
    return str(folder / path)


def _read_included(folder: Path, names: tuple[str, ...]) -> dict[str, str]:
    """Return the text of files in the folder of a profile."""
    texts = {}
    for name in names:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts:
            raise ValueError(f"include: {name} is outside the folder of the profile")
        try:
            # A profile may be untrusted: a link would bring a file of this machine into the lab.
            refuse_links(*(folder / above for above in (path, *path.parents[:-1])))
            texts[path.as_posix()] = read_plain(folder / path, MAX_INCLUDED).decode()
        except OSError as error:
            raise ValueError(f"include: {folder / path} cannot be read: {error.strerror}") from None
        except RecordError as error:
            raise ValueError(f"include: {error}") from None
    return texts


def profile_names() -> list[str]:
    """Return the names of the shipped profiles."""
    names = (entry.name for entry in files("assay.agents.external").joinpath("profiles").iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))
