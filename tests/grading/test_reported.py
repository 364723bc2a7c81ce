"""A submission that states its own time, which the published edition of one task believes."""

from pathlib import Path

import pytest

from assay.grading.reported import UNREADABLE, judge_reported
from assay.tasks import Registry


@pytest.mark.parametrize(
    ("content", "score"),
    [
        (b"0.25\n", 0.25),
        (b" 3 \r\nanything else\n", 3.0),
        (b"fast\n1.0\n", UNREADABLE),
        (b"nan", UNREADABLE),
        (b"\xff\xfe", UNREADABLE),
        (b"1" * 1_000_000, UNREADABLE),  # a line too long to be a time is read no further than its start
    ],
)
def test_only_the_first_line_counts(content: bytes, score: float, tmp_path: Path):
    task = Registry().task("mlagentbench/vectorization").in_edition("published")
    path = tmp_path / task.submission.file
    path.write_bytes(content)
    for source in (content, path):
        assert judge_reported(source, path.name, task).score == score


def test_an_empty_file_is_not_a_submission():
    task = Registry().task("mlagentbench/vectorization").in_edition("published")
    judgement = judge_reported(b"", "submission.csv", task)
    assert judgement.score is None and judgement.why == "submission.csv is empty."
