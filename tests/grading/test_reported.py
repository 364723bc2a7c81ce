"""A submission that states its own time, which the published edition of one task believes."""

import pytest

from assay.grading.grade import JUDGES
from assay.tasks import Registry

UNREADABLE = 1e10


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
@pytest.mark.parametrize("name", ["vectorization", "llama-inference"])
def test_only_the_first_line_counts(name: str, content: bytes, score: float):
    task = Registry().task(f"mlagentbench/{name}").in_edition("published")
    assert JUDGES.load(task.judged, task.folder)(content) == score
