"""What grading tests share: small tasks made on the spot, prepared without any download."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay.tasks import Column, Leaderboard, Measured, Task

GRADED = "id,price\n007,10\n8,20\n9,30\n"

MakeTask = Callable[..., Task]


@dataclass(frozen=True)
class Prepared:
    """The part of a prepared task that grading uses."""

    private: Path
    edition: str = "v1"
    variant: str = "real"


@pytest.fixture
def prepared(tmp_path: Path) -> Prepared:
    """Answers for three rows."""
    private = tmp_path / "private"
    private.mkdir()
    (private / "answers.csv").write_text(GRADED)
    return Prepared(private)


@pytest.fixture
def make_task() -> MakeTask:
    """A task with a table of ids and prices, unless told otherwise."""

    def make(
        column: Column | None = None,
        *,
        metric: str = "mae",
        direction: str = "lower",
        leaderboard: Leaderboard | None = None,
        measured: Measured | None = None,
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
                "source": {"about": "made up", "licence": "MIT"},
                "submission": form | submission,
                "metric": {"name": metric, "direction": direction},
                "budget": {"time": "1m"},
                "leaderboard": leaderboard,
                "measured": measured,
                "suite": "made-up",
                "name": "prices",
                "folder": Path("/nowhere"),
                "editions": ["v1"],
            }
        )

    return make
