"""How a submission is checked and scored: `[submission]`, `[metric]` and `[rules]` of `task.toml`.

The parts themselves say what the competition's own text says. `[rules.EDITION]` lays an edition's own rules over them:
tables are merged, everything else is replaced. What differs has a name and a sentence there, and grades carry the name.
"""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, model_validator

from assay.core.quantities import Bytes, Model, Seconds

Scalar = bool | int | float | str
Ids = Literal["aligned", "occurrence", "set", "superset", "subset", "same", "known", "sorted", "position", "head"]
"""How rows find their answers.

- aligned: the same ids as often as in the answers, in any order.
- occurrence: the same, where ids repeat: the n-th row of an id belongs to its n-th answer.
- set: the same ids, whatever their number; repeated ones are joined to the answers each time they appear.
- superset: at least the ids of the answers; others are left out.
- subset: at most the ids of the answers; only the rows handed in count.
- same: the same ids and number of rows, but each id as often as one likes; both sides are sorted and paired in order.
- known: the same number of rows, all with ids of the answers; both sides are sorted and paired in order.
- sorted: both sides are sorted by id and paired in order; ids are never compared.
- position: ids are not looked at, rows count in the order of the file.
- head: the same, and a file may end early.

Published graders do all of these. Strict reading asks for each id as often as the answers have it: it takes set, same,
known and sorted for aligned, which is occurrence where ids repeat, and head for position.
"""


class Codec(Model):
    """How a text spells something that is not text: a mask, boxes, points, a list of words.

    For parameters see `assay.grading.submission.decoding`; `single_spaces` refuses any other whitespace.
    """

    name: Literal["mask", "points", "rectangles", "boxes", "boxes_3d", "words", "integers", "span"]
    params: dict[str, Scalar | None] = Field(default={})
    answers: dict[str, str] = Field(default={}, description="parameter -> the answers' column that holds it")


class Column(Model):
    """What one column of a submission must hold."""

    type: Literal["number", "integer", "boolean", "category", "text"]
    min: float | None = None
    max: float | None = None
    values: tuple[Scalar, ...] | None = None
    missing: Literal["refuse", "keep"] | Scalar = Field(
        default="refuse",
        description="what an empty value is: a fault, NaN for the metric, or this value",
    )
    codec: Codec | None = None
    truth: Codec | None = Field(default=None, description="how the answers spell it, where it is not the same")
    answer: str | None = Field(default=None, description="what the answers call it, where it is not the same")
    aliases: tuple[str, ...] = Field(default=(), description="other names that a published grader takes for it")
    only_text: bool = Field(default=False, description="whether text that pandas reads as numbers is a fault")
    scored: bool = Field(default=True, description="whether it counts, or must only be there")


class RowSum(Model):
    """What the values of each row must add up to."""

    to: float = 1.0
    tolerance: float
    decimals: int | None = Field(default=None, description="round the sum to so many decimals before comparing")
    more_columns: bool = Field(default=False, description="whether further columns must leave the sum as it is")


class Skip(Model):
    """Which rows do not count: those whose answer holds `value` in `column`."""

    column: str
    value: Scalar


class Submission(Model):
    """What is handed in, and what must hold of it before it can be scored.

    Columns that share a rule may be written together, as `[[submission.alike]]` with `names` and the rule.
    """

    form: Literal["csv", "file"]
    file: str
    id: str | None = None
    id_with: tuple[str, ...] = Field(default=(), description="columns that only together with id name a row")
    ids: Ids = "aligned"
    skip: Skip | None = None
    columns: dict[str, Column] = Field(default={})
    more_columns: bool = Field(default=False, description="whether further columns are left out or refused")
    by_position: bool = Field(default=False, description="whether columns count by place and not by name")
    order: Literal["any", "id-first", "exact"] = Field(default="any", description="in which columns must stand")
    row_sum: RowSum | None = None
    lenient: bool = Field(default=False, description="whether files are read as the published graders do")
    max_size: Bytes = 100 * 10**6
    judge_time: Seconds = Field(default=600.0, description="how long running a checkpoint may take")

    @property
    def by_id(self) -> bool:
        """Whether rows find their answers by id, and not by their place in the file."""
        return self.id is not None and self.ids not in ("position", "head")

    @model_validator(mode="before")
    @classmethod
    def _expand(cls, content: Any) -> Any:
        return expanded(content) if isinstance(content, Mapping) else content


class Metric(Model):
    """The named function that turns answers and submission into a score."""

    name: str
    direction: Literal["higher", "lower"]
    params: dict[str, Scalar | tuple[Scalar, ...]] = Field(default={})
    answers: dict[str, str | tuple[str, ...]] = Field(
        default={}, description="parameter -> the answers' column, or columns, whose values it takes"
    )
    places: str | None = Field(
        default=None, description="parameter that takes the place of each row in the submitted file, from 0"
    )

    def better(self, one: float, other: float) -> bool:
        """Whether score `one` is strictly better than `other`."""
        return one > other if self.direction == "higher" else one < other


class EditionRules(Model):
    """What is particular to one edition of a task."""

    quirks: dict[str, str] = Field(default={}, description="name -> where the grader departs from the competition")
    repairs: dict[str, str] = Field(default={}, description="name -> what this edition mends of the published one")
    indicative: bool = Field(default=False, description="whether medals only indicate: other rows or metric")
    submission: dict[str, Any] = Field(default={})
    metric: dict[str, Any] = Field(default={})


def laid_over(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `changes`: tables are merged, everything else is replaced, and so are columns written together."""
    merged = dict(base)
    if "alike" in changes:
        merged["columns"] = {}
    for key, value in expanded(changes).items():
        old = merged.get(key)
        merged[key] = laid_over(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def expanded(content: Mapping[str, Any]) -> dict[str, Any]:
    """A submission part with columns that were written together written out, after those that were not."""
    rest = {key: value for key, value in content.items() if key != "alike"}
    groups = content.get("alike", ())
    if groups:
        alike = {
            name: {key: value for key, value in group.items() if key != "names"}
            for group in groups
            for name in group["names"]
        }
        rest["columns"] = {**rest.get("columns", {}), **alike}
    return rest
