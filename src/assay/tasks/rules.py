"""How a submission is checked and scored: `[submission]`, `[metric]` and `[rules]` of `task.toml`.

`[submission]` and `[metric]` state the competition's own rules. `[rules.EDITION]` overrides them for one edition:
tables are merged, all other values are replaced. Every override is explained by a quirk from the suite's catalog, and
grades carry the names of the quirks.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from assay.core.plugins import split_path
from assay.core.quantities import Bytes, Model, Seconds

Judged = Literal["table", "speed", "checkpoint", "tests"] | Annotated[str, Field(pattern=r"\.py:\w+$")]
"""How a submission is graded: a table is compared with the answers, code is timed, a checkpoint is run in a lab, hidden
tests are run on the files of the workspace.

`path.py:name`, relative to the task's folder, is a function that returns the score of a submitted file's content.
"""

Scalar = bool | int | float | str
Ids = Literal[
    "one_to_one",
    "nth_occurrence",
    "join",
    "superset",
    "subset",
    "ids_equal_sorted",
    "ids_subset_sorted",
    "sorted_unchecked",
    "positional",
    "positional_prefix",
]
"""How submitted rows are paired with answers. `docs/add-a-task.md` has an example of each.

- one_to_one: every id of the answers exactly once, in any order.
- nth_occurrence: ids may repeat in the answers; the n-th row with an id is paired with its n-th answer.
- join: the same set of ids; a repeated id is joined to its answer every time it appears.
- superset: at least the ids of the answers; rows with other ids are ignored.
- subset: at most the ids of the answers; only the submitted rows count, and an id that counts may not repeat.
- ids_equal_sorted: the same set of ids and number of rows; both sides are sorted by id and paired in order.
- ids_subset_sorted: the same number of rows, all with ids of the answers; both sides are sorted and paired in order.
- sorted_unchecked: both sides are sorted by id and paired in order; ids are never compared.
- positional: ids are ignored; rows are paired in the order of the file.
- positional_prefix: the same, but the file may end early.

Published graders do all of these. Strict parsing requires every id as often as the answers have it: it treats join,
ids_equal_sorted, ids_subset_sorted and sorted_unchecked as one_to_one (nth_occurrence where ids repeat), and
positional_prefix as positional.
"""


class Codec(Model):
    """How a text cell encodes something else: a mask, boxes, points, a list of words.

    For parameters see `assay.formats`.
    """

    name: Literal["mask", "points", "rectangles", "boxes", "boxes_3d", "words", "integers", "span"]
    params: dict[str, Scalar | None] = Field(default={})
    answers: dict[str, str] = Field(default={}, description="parameter -> the column of the answers that holds it")


class Column(Model):
    """What one column of a submission must hold."""

    type: Literal["number", "integer", "boolean", "category", "text"]
    min: float | None = None
    max: float | None = None
    values: tuple[Scalar, ...] | None = None
    missing: Literal["refuse", "keep"] | Scalar = Field(
        default="refuse",
        description="how an empty cell is treated: refused, kept as NaN, or read as this value",
    )
    codec: Codec | None = None
    truth: Codec | None = Field(default=None, description="how the answers encode it, if not the same way")
    answer: str | None = Field(default=None, description="its name in the answers, if not the same")
    only_text: bool = Field(default=False, description="whether text that pandas reads as numbers is refused")
    only_numbers: bool = Field(
        default=False, description="whether a lenient parser refuses all of it if pandas reads any of it as text"
    )
    no_booleans: bool = Field(
        default=False, description="whether a lenient parser refuses a column of numbers that pandas reads as booleans"
    )
    python_numbers: bool = Field(
        default=False,
        description="whether a lenient parser accepts integers of more than 64 bits, and booleans with gaps",
    )
    other_kinds: bool = Field(
        default=False,
        description="whether a lenient parser counts text in place of numeric classes as wrong, and numbers for text",
    )
    scored: bool = Field(default=True, description="whether it counts, or only has to be present")


class RowSum(Model):
    """What the values of each row must add up to, such as probabilities to 1."""

    to: float = 1.0
    tolerance: float
    decimals: int | None = Field(default=None, description="decimals to round the sum to before comparing")


class Skip(Model):
    """Rows that do not count: those whose answer has `value` in `column`."""

    column: str
    value: Scalar


class Submission(Model):
    """What is submitted, and the rules it must satisfy before it is scored.

    Columns that share a rule may be written together, as `[[submission.alike]]` with `names` and the rule.
    """

    form: Literal["csv", "file", "workspace"]
    file: str
    paths: tuple[str, ...] = Field(
        default=(), description="files and folders that are submitted of a workspace; default: all of it"
    )
    id: str | None = None
    id_with: tuple[str, ...] = Field(default=(), description="columns that identify a row together with id")
    ids: Ids = "one_to_one"
    skip: Skip | None = None
    columns: dict[str, Column] = Field(default={})
    more_columns: bool = Field(default=False, description="whether further columns are ignored or refused")
    by_position: bool = Field(default=False, description="whether columns are matched by position, not by name")
    ignore_names: bool = Field(
        default=False, description="whether a lenient parser that matches by position accepts any names of columns"
    )
    order: Literal["any", "id-first", "exact"] = Field(default="any", description="the order that columns must have")
    row_sum: RowSum | None = None
    lenient: bool = Field(default=False, description="whether files are parsed as the published graders do")
    max_size: Bytes = 100 * 10**6
    judge_time: Seconds = Field(default=600.0, description="time limit for running a checkpoint or tests")

    @property
    def by_id(self) -> bool:
        """Whether rows are paired with answers by id, not by their position in the file."""
        return self.id is not None and self.ids not in ("positional", "positional_prefix")

    @model_validator(mode="before")
    @classmethod
    def _expand(cls, content: Any) -> Any:
        return expand_columns(content) if isinstance(content, Mapping) else content


class Metric(Model):
    """The named function that turns answers and submission into a score."""

    name: str = Field(description="of a registered metric, or `metric.py:NAME` for one in the task's folder")
    file: str | None = Field(default=None, description="the part of `name` before the colon")
    direction: Literal["higher", "lower"]
    params: dict[str, Scalar | tuple[Scalar, ...]] = Field(default={})
    answers: dict[str, str | tuple[str, ...]] = Field(
        default={}, description="parameter -> column or columns of the answers that it receives"
    )
    positions: str | None = Field(
        default=None, description="parameter that receives the position of each row in the submitted file, from 0"
    )
    unit: str | None = Field(
        default=None,
        description="what the test rows were sampled in, if not row by row: a column of the answers, or COLUMN:PATTERN "
        "for the part of it that the group of a regular expression matches, such as the image of a pixel",
    )

    @model_validator(mode="before")
    @classmethod
    def _split_name(cls, content: Any) -> Any:
        path = split_path(content["name"]) if isinstance(content, Mapping) and "name" in content else None
        return {**content, "file": str(path[0]), "name": path[1]} if path else content

    @property
    def reference(self) -> str:
        """The name by which the metric is loaded."""
        return f"{self.file}:{self.name}" if self.file else self.name

    def as_written(self) -> dict[str, Any]:
        """Return the section as `task.toml` has it, for the rules of an edition to change."""
        return {**self.model_dump(exclude_unset=True, exclude={"file"}), "name": self.reference}

    def better(self, score: float, other: float) -> bool:
        """Whether `score` is strictly better than `other`."""
        return score > other if self.direction == "higher" else score < other


class Quirk(Model):
    """One known departure of a published grader, or of its data, from the competition's own rules."""

    text: str
    rules: tuple[str, ...] = Field(default=(), description="the overrides it explains, such as submission.more_columns")


class EditionRules(Model):
    """What is particular to one edition of a task.

    In `task.toml`, `quirks` is a list of names from the suite's catalog; loading adds their text.
    """

    quirks: dict[str, str] = Field(default={}, description="name -> how the edition departs from the competition")
    repairs: dict[str, str] = Field(default={}, description="name -> what this edition repairs of the published one")
    indicative: bool = Field(default=False, description="whether medals are only indicative: other rows or metric")
    judged: Judged | None = Field(default=None, description="how the edition grades, if not as the task does")
    baseline: float | None = Field(
        default=None, description="the published baseline, where it is a constant; it replaces measured figures"
    )
    data_in_workspace: bool = Field(
        default=False, description="whether the data files are next to the scripts too, as links into the data folder"
    )
    data: dict[str, Any] = Field(default={}, description="settings of [data] that differ; empty text unsets one")
    source: dict[str, Any] = Field(default={}, description="settings of [source] that differ")
    selection: dict[str, Any] = Field(default={}, description="settings of [selection] that differ")
    submission: dict[str, Any] = Field(default={})
    metric: dict[str, Any] = Field(default={})


def merge_rules(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with `changes`: tables are merged, all other values replaced.

    With `replace_columns = true` among the changes, their columns replace those of `base` instead of being merged. A
    table `every_column` changes all columns of `base`.
    """
    merged = dict(base)
    changes = expand_columns(changes)
    if "every_column" in changes:
        shared, own = changes.pop("every_column"), changes.get("columns", {})
        changes["columns"] = {name: {**shared, **own.get(name, {})} for name in {**merged["columns"], **own}}
    if changes.pop("replace_columns", False):
        merged["columns"] = {}
    for key, value in changes.items():
        old = merged.get(key)
        merged[key] = merge_rules(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def expand_columns(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a submission section with the columns of `alike` written out, after the others."""
    expanded = {key: value for key, value in content.items() if key != "alike"}
    groups = content.get("alike", ())
    if groups:
        columns = dict(expanded.get("columns", {}))
        for group in groups:
            rule = {key: value for key, value in group.items() if key != "names"}
            columns |= dict.fromkeys(group["names"], rule)
        expanded["columns"] = columns
    return expanded
