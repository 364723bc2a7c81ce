"""Grade a time that a submission states about itself, as the published grader of mlagentbench/vectorization does.

Only published editions grade this way. The first value of the first line that is not blank counts, whatever follows it;
text that is not a number counts as the time that the published grader sets for it.
"""

import math
from pathlib import Path

from assay.core.errors import InvalidSubmission
from assay.grading.result import Judgement
from assay.grading.submission.read import open_submission
from assay.tasks import Task

UNREADABLE = 1e10
_MAX_LINE = 1000


def judge_reported(source: bytes | Path, name: str, task: Task) -> Judgement:
    """Return the number that a submission begins with."""
    try:
        with open_submission(source, name, task.submission.max_size) as file:
            head = bytes(file.content[:_MAX_LINE])
    except InvalidSubmission as error:
        return Judgement(why=str(error))
    line = next((line for line in head.splitlines() if line.strip()), b"")
    try:
        seconds = float(line.split(b";")[0].decode())
    except ValueError:  # a UnicodeDecodeError is one, too
        return Judgement(score=UNREADABLE)
    return Judgement(score=seconds if math.isfinite(seconds) else UNREADABLE)
