"""The score on test rows of another distribution: later dates, other groups, another place.

They are part of the test set, and agents see them among its inputs. The score on all rows is what counts; how much
worse the second score is than that on the other rows says how far a solution carries.
"""

import math
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.core.errors import InvalidSubmission
from assay.data.selection import key_columns, make_key, select_rows
from assay.grading.result import Judgement, SecondScore
from assay.grading.submission.read import open_submission

if TYPE_CHECKING:
    from assay.data.store import Prepared

_DECIMALS = 5


def judge_second(
    source: bytes | Path, prepared: "Prepared", judge: Callable[[bytes, "Prepared"], Judgement]
) -> SecondScore | None:
    """Return the scores of a valid table on the rows of the second setting and on the others, if it has any."""
    from assay.data.polars_tables import read

    task, rules = prepared.task, prepared.task.second
    if rules is None or task.data.test is None:
        return None
    names, test = key_columns(task), read(prepared.public / task.data.test)
    if rules.column not in test.columns or set(names) - set(test.columns):
        return None
    chosen = test.filter(test[rules.column].is_in(list(rules.values))).select(names)
    keys = frozenset(map(make_key, chosen.iter_rows()))
    if not keys or len(keys) == test.height:
        return None
    with open_submission(source, task.submission.file, task.submission.max_size) as file:
        content = file.read()
    answers = (prepared.private / task.data.answers).read_bytes()
    judged = []
    for inside in (True, False):
        with tempfile.TemporaryDirectory() as folder:
            part = replace(prepared, private=Path(folder))
            Path(folder, task.data.answers).write_bytes(select_rows(answers, names, keys, inside=inside))
            try:
                judged.append(judge(select_rows(content, names, keys, inside=inside), part))
            except InvalidSubmission as problem:
                judged.append(Judgement(why=str(problem)))
    (score, error), (rest, rest_error) = map(_round, judged)
    return SecondScore(title=rules.title, score=score, error=error, rest=rest, rest_error=rest_error)


def _round(judged: Judgement) -> tuple[float | None, float | None]:
    error = judged.noise.error if judged.noise else None
    known = (value if value is not None and math.isfinite(value) else None for value in (judged.score, error))
    return tuple(None if value is None else round(value, _DECIMALS) for value in known)  # type: ignore[return-value]
