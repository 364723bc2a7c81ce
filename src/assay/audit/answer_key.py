"""The answers of a prepared task, by the names of its submission rules."""

import io
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from assay.data.store import Prepared
from assay.grading.submission.answers import read_answers
from assay.tasks import Task


@dataclass(frozen=True)
class AnswerKey:
    """The answers of a prepared task as text, by the names of its submission rules."""

    prepared: Prepared

    @property
    def task(self) -> Task:
        return self.prepared.task

    @cached_property
    def table(self) -> pd.DataFrame:
        content = read_answers(self.task, self.prepared.private / self.task.data.answers)
        return read_text_table(io.BytesIO(content))

    @property
    def id_columns(self) -> list[str]:
        """The columns that together name a row; none where rows count by their order alone."""
        submission = self.task.submission
        if submission.id is None or submission.id not in self.table.columns:
            return []
        return [submission.id, *submission.id_with]

    @property
    def targets(self) -> dict[str, str]:
        """The graded columns that are in the answers, and their names there; a checkpoint may have only some."""
        columns = {name: rule.answer or name for name, rule in self.task.submission.columns.items() if rule.scored}
        return {name: column for name, column in columns.items() if column in self.table.columns}

    def labels(self) -> pd.DataFrame:
        """The true values by the submission's column names."""
        return pd.DataFrame({name: self.table[column] for name, column in self.targets.items()})

    def perfect_submission(self) -> bytes | str:
        """The content of a submission with all answers, or why none can be made."""
        gold, submission = self.task.data.gold, self.task.submission
        if gold:
            table = read_text_table(self.prepared.private / gold.removeprefix("private/"))
            sources = {name: name for name in submission.columns}
        else:
            table = self.table
            sources = {name: rule.answer or name for name, rule in submission.columns.items()}
            if any(rule.truth for rule in submission.columns.values()):
                return "answers and submissions differ in form, and task.toml names no gold submission"
        ids = [submission.id, *submission.id_with] if submission.id else []
        columns = {**{name: name for name in ids}, **sources}
        if missing := [source for source in columns.values() if source not in table.columns]:
            return f"the answers have no column {missing[0]!r}, and task.toml names no gold submission"
        return str(pd.DataFrame({name: table[source] for name, source in columns.items()}).to_csv(index=False)).encode()


def read_text_table(source: Path | io.BytesIO) -> pd.DataFrame:
    """Read a CSV file with every cell as text, empty where it is empty."""
    return pd.read_csv(source, dtype=str, keep_default_na=False)
