"""A study: a question about runs or tasks, answered by sentences, tables and figures.

A study is one file. It has a model of its settings, from which its options on the command line come, a function that
computes the result, and a `Study` that names both. It is found by the entry-point group `assay.studies`, or as
`path.py:NAME`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from assay.core.figure import Figure
from assay.core.home import Home
from assay.core.plugins import Plugins
from assay.core.table import Table
from assay.records import RunFolder
from assay.tasks import Registry

if TYPE_CHECKING:
    from assay.runs.plan import Plan

FORMAT = "study/2"


class StudySettings(BaseModel):
    """The settings of a study; a field is an option of the command `assay study`."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Settings = TypeVar("Settings", bound=StudySettings)


def option(
    default: Any, description: str, *, metavar: str | None = None, flag: str | None = None, **limits: Any
) -> Any:
    """Return a field of settings.

    Args:
        default: The default; `...` if it must be set.
        description: The help text.
        metavar: What the help shows in place of the value.
        flag: The name of the option, if it is not that of the field.
        limits: Limits of pydantic's `Field`, such as `ge=0`.
    """
    return Field(default, description=description, json_schema_extra={"metavar": metavar, "flag": flag}, **limits)


@dataclass(frozen=True)
class StudyInput:
    """What a study reads: finished runs, or the names of tasks; and where tasks and their data are."""

    runs: tuple[RunFolder, ...]
    names: tuple[str, ...]
    registry: Registry
    home: Home


@dataclass(frozen=True)
class CodePair:
    """Two pieces of code side by side, and the numbers of the lines that both have."""

    title: str
    note: str
    names: tuple[str, str]
    codes: tuple[str, str]
    shared: tuple[frozenset[int], frozenset[int]]


@dataclass(frozen=True)
class StudyResult:
    """What a study found; the first table and the first figure are what it is about.

    Tables in `more` are for JSON and CSV only, `code` is for pages only. The command of a study that `failed`, because
    it detected something wrong, exits with 1.
    """

    sentences: Sequence[str] = ()
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    more: Sequence[Table] = ()
    code: Sequence[CodePair] = ()
    failed: bool = False

    def table(self, name: str) -> Table:
        """Return the table with this name."""
        return next(table for table in (*self.tables, *self.more) if table.name == name)

    def to_dict(self, study: str, settings: StudySettings) -> dict[str, Any]:
        """Return everything but figures as plain data, in the format `study/2`."""
        return {
            "format": FORMAT,
            "study": study,
            "settings": settings.model_dump(mode="json"),
            "sentences": list(self.sentences),
            "tables": {table.name: table.to_dict() for table in (*self.tables, *self.more)},
        }

    def to_markdown(self) -> str:
        """Return the sentences and tables."""
        return "\n\n".join(["\n".join(self.sentences), *(table.to_markdown() for table in self.tables)])


@dataclass(frozen=True)
class Study(Generic[Settings]):
    """A study.

    It `reads` finished runs, runs if there are any, names of tasks, or a plan: then it can be given finished runs, or
    tasks and agents to run first. `vary` returns the plans to run for a plan, its settings, and whether they run on
    this machine.
    """

    name: str
    summary: str
    settings: type[Settings]
    run: Callable[[StudyInput, Settings], StudyResult]
    reads: Literal["runs", "optional runs", "tasks", "plan"] = "runs"
    vary: "Callable[[Plan, Settings, bool], Sequence[Plan]] | None" = None
    description: str = ""
    examples: Sequence[str] = ()


STUDIES = Plugins[Study[Any]]("studies", "study", lambda value: isinstance(value, Study))
