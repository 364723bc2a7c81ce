"""What grading tests share: small tasks made on the spot, prepared without any download."""

import textwrap
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from task_metrics import find_anywhere

from assay.core.home import Home
from assay.grading import Grade, grade_submission
from assay.tasks import Column, Leaderboard, Measured, Task

GRADED = "id,price\n007,10\n8,20\n9,30\n"

MakeTask = Callable[..., Task]
Judge = Callable[..., Grade]
ReplaceFile = Callable[[Path, str | bytes], None]

REFERENCE = """
import numpy as np

def squares(numbers):
    result = np.zeros(len(numbers))
    for place in range(len(numbers)):
        result[place] = numbers[place] * numbers[place]
    return result
"""

CASES = """
import numpy as np

FUNCTION = "squares"

def checks(random):
    yield (random.standard_normal(1),)
    yield (random.standard_normal(1000),)

def timed(random):
    return (random.standard_normal(100_000),)

def difference(output, expected):
    return None if np.allclose(output, expected) else "the output is wrong"
"""


@dataclass(frozen=True)
class Prepared:
    """The part of a prepared task that grading uses."""

    task: Task
    private: Path
    edition: str = "v1"
    variant: str = "real"


@pytest.fixture(scope="session")
def replace_file() -> ReplaceFile:
    """Write a file that may exist; removed first, because ext4 waits for the disk when a file is truncated."""

    def replace_file(path: Path, content: str | bytes) -> None:
        path.unlink(missing_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    return replace_file


@pytest.fixture
def prepared(make_task: MakeTask, tmp_path: Path) -> Prepared:
    """Answers for three rows of prices."""
    private = tmp_path / "private"
    private.mkdir()
    (private / "answers.csv").write_text(GRADED)
    return Prepared(make_task(), private)


@pytest.fixture
def make_task() -> MakeTask:
    """A task with a table of ids and prices, unless the arguments say otherwise."""

    def make(
        column: Column | None = None,
        *,
        metric: str = "mae",
        direction: str = "lower",
        params: dict[str, object] | None = None,
        takes: dict[str, object] | None = None,
        positions: str | None = None,
        leaderboard: Leaderboard | None = None,
        measured: Measured | None = None,
        rules: dict[str, object] | None = None,
        **submission: object,
    ) -> Task:
        form = {
            "form": "csv",
            "file": "submission.csv",
            "id": "id",
            "columns": {"price": column or Column(type="number")},
        }
        return Task.model_validate(
            {
                "format": "task/1",
                "title": "Prices",
                "summary": "Prices.",
                "kind": "tabular-regression",
                "source": {"about": "made up", "license": "MIT"},
                "submission": form | submission,
                "metric": {
                    "name": find_anywhere(metric),
                    "direction": direction,
                    "params": params or {},
                    "answers": takes or {},
                    "positions": positions,
                },
                "budget": {"time": "1m"},
                "leaderboard": leaderboard,
                "measured": measured,
                "rules": rules or {},
                "suite": "made-up",
                "name": "prices",
                "folder": Path("/nowhere"),
                "editions": ["v1"],
            }
        )

    return make


@pytest.fixture
def graded(tmp_path: Path, prepared: Prepared, replace_file: ReplaceFile) -> Judge:
    """Grade a table against another one, both given as text or bytes."""

    def graded(task: Task, answers: str, submission: str | bytes, name: str = "submission.csv") -> Grade:
        replace_file(prepared.private / task.data.answers, answers)
        path = tmp_path / name
        replace_file(path, submission)
        return grade_submission(path, replace(prepared, task=task.in_edition(prepared.edition)), home=Home(tmp_path))

    return graded


@pytest.fixture
def squares(tmp_path: Path, prepared: Prepared) -> Task:
    """A small timed task: square the numbers."""
    (prepared.private / "reference.py").write_text(REFERENCE)
    (tmp_path / "cases.py").write_text(CASES)
    return Task.model_validate(
        {
            "format": "task/1",
            "title": "Squares",
            "summary": "Squares.",
            "kind": "code",
            "judged": "speed",
            "source": {"about": "made up", "license": "MIT"},
            "submission": {"form": "file", "file": "squares.py", "max_size": 10_000},
            "metric": {"name": "speedup", "direction": "higher"},
            "budget": {"time": "1m"},
            "resources": {"memory": "500 MB"},
            "suite": "made-up",
            "name": "squares",
            "folder": tmp_path,
            "editions": ["v1"],
        }
    )


@pytest.fixture
def judge(squares: Task, home: Home, prepared: Prepared, tmp_path: Path) -> Judge:
    """Grade pieces of code, put together, on the small timed task, in one round unless it is `real`."""

    def graded(*code: str, variant: str = "synthetic-0") -> Grade:
        path = tmp_path / "squares.py"
        path.write_text("".join(map(textwrap.dedent, code)))
        return grade_submission(path, replace(prepared, task=squares, variant=variant), home=home)

    return graded


@pytest.fixture
def reference() -> str:
    """The code that the small timed task compares with."""
    return REFERENCE
