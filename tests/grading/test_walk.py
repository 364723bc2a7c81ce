"""Grading one CSV file passes through few source files, so that a reader can follow it."""

from pathlib import Path

import pytest
from tracing import trace_files

from assay.core.progress import NoProgress
from assay.data.store import prepare
from assay.grading import grade_submission
from assay.tasks import Registry

MAX_FILES = 11
CAREFUL = {"strict": "grading/submission/strict.py", "lenient": "grading/submission/lenient.py"}


@pytest.mark.parametrize(
    ("task", "variant", "edition", "path"),
    [
        ("pocket/digits", "real", None, "fast"),
        ("pocket/digits", "real", None, "strict"),
        ("mlebench/spaceship-titanic", "synthetic-0", "v1", "fast"),
        ("mlebench/spaceship-titanic", "synthetic-0", "v1", "lenient"),
        ("mlebench/spaceship-titanic", "synthetic-0", "fixed", "strict"),
    ],
)
def test_grading_a_csv_file_passes_through_few_files(task, variant, edition, path, shared_home, tmp_path):
    loaded = Registry().task(task)
    home = shared_home("walk")
    data = prepare(home, loaded, edition, variant, progress=NoProgress())
    side, _, rest = loaded.data.sample.partition("/")
    content = (Path(getattr(data, side)) / rest).read_bytes()
    if path != "fast":
        header, _, rows = content.partition(b"\n")
        content = b",".join(b'"%s"' % name for name in header.rstrip(b"\r").split(b",")) + b"\n" + rows
    file = tmp_path / "submission.csv"
    file.write_bytes(content)
    grades = []
    files = trace_files(lambda: grades.append(grade_submission(file, data, home=home)))
    assert grades[-1].valid_submission, grades[-1].why
    assert len(files) <= MAX_FILES, files
    assert ("grading/submission/lenient.py" in files) is (path == "lenient")
    if path != "fast":
        assert CAREFUL[path] in files
