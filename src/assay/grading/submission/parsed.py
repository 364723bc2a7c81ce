"""What checking a submission comes to: typed values, and the answers they belong to."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.grading.submission.decoding import decoded
from assay.grading.submission.strict_values import Where, check_row_sums

if TYPE_CHECKING:
    from assay.grading.submission.answers import Answers


@dataclass(frozen=True)
class ParsedSubmission:
    """A submission that passed: its scored columns, in the order of the answers that its rows belong to.

    `rows` are the numbers of those answers, None for all of them, and `places` where each row stood in the file, None
    for the same order; both count from 0. `published` tells that it was read as the published graders read, which its
    answers must be too.
    """

    columns: Mapping[str, NDArray[Any]]
    rows: NDArray[np.int64] | None = None
    places: NDArray[np.signedinteger[Any]] | None = None
    published: bool = False

    @property
    def values(self) -> NDArray[Any]:
        """What a metric takes: one axis for one column, two for several."""
        return stacked(list(self.columns.values()))

    def finished(self, answers: "Answers", name: str, where: Where) -> "ParsedSubmission":
        """The scored columns, their cells decoded, if each row adds up to what it must; else `InvalidSubmission`."""
        submission = answers.task.submission
        columns = {key: values for key, values in self.columns.items() if submission.columns[key].scored}
        for key, values in columns.items():
            codec = submission.columns[key].codec
            if codec:
                cell = f"{name}, column {key!r}, "
                columns[key] = decoded(values, codec, answers.of_row(codec, self), lambda row: cell + where(row))  # noqa: B023
        if submission.row_sum:
            check_row_sums(columns, submission.row_sum, name, where)
        return dataclasses.replace(self, columns=columns)

    def counted(self, skipped: NDArray[np.bool_] | None) -> "ParsedSubmission":
        """Without the rows whose answers do not count."""
        if skipped is None:
            return self
        rows = np.arange(len(skipped)) if self.rows is None else self.rows
        places = rows if self.places is None else self.places
        kept = ~skipped[rows]
        columns = {key: values[kept] for key, values in self.columns.items()}
        return dataclasses.replace(self, columns=columns, rows=rows[kept], places=places[kept])


def stacked(columns: list[NDArray[Any]]) -> NDArray[Any]:
    """One column as it is, several side by side."""
    return columns[0] if len(columns) == 1 else np.column_stack(columns)
