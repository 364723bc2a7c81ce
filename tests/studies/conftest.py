"""A suite of four small tasks with leaderboards, and the command line on it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import prepare
from assay.tasks import Registry
from command_line import Assay, Done

TESTS = Path(__file__).parent.parent
AGENTS = Path(__file__).with_name("study_agents.py")
TASKS = {
    # name: (kind, teams)
    "early-coin": ("tabular-classification", 100),
    "late-coin": ("tabular-classification", 1000),
    "early-text": ("text-classification", 100),
    "late-text": ("text-classification", 100),
}
DATES = {"early-coin": "2020-01-01", "late-coin": "2025-01-01", "early-text": "2020-02-01", "late-text": "2025-02-01"}
LEADERBOARD = "\n[leaderboard]\ngold = 0.95\nsilver = 0.9\nbronze = 0.8\nmedian = 0.4\nteams = {teams}\n"

Study = Callable[..., Any]


@pytest.fixture(scope="session")
def exam_home(shared_home: Callable[[str, Callable[[Home], None]], Home]) -> Home:
    """A home with the suite `exam`, whose tasks are prepared.

    A medal takes 24 of 30 coins. The description of `late-text` is the same when obfuscated.
    """
    return shared_home("exam", write_exam)


def write_exam(home: Home) -> None:
    """Write the suite `exam` to a home and prepare its tasks."""
    suite = home.root / "exam"
    suite.mkdir()
    names = ", ".join(f'"{name}"' for name in TASKS)
    (suite / "suite.toml").write_text(
        f'format = "suite/1"\nname = "exam"\ntitle = "Coins."\neditions = ["v1"]\ntasks = [{names}]\n'
    )
    for name, (kind, teams) in TASKS.items():
        shutil.copytree(TESTS / "tiny" / "coin", suite / name)
        file = suite / name / "task.toml"
        text = file.read_text().replace("tabular-classification", kind)
        file.write_text(text + LEADERBOARD.format(teams=teams))
        description = "The Great Coin Cup: which side of each coin is up?\n"
        (suite / name / "description.md").write_text(description)
        (suite / name / "starter" / "evaluate.py").write_text("print('compares two files')\n")
        obfuscated = description if name == "late-text" else "Predict a bit.\n"
        (suite / name / "obfuscated.md").write_text(obfuscated)
    rows = "".join(f"exam/{name},{day}\n" for name, day in DATES.items())
    (suite / "dates.csv").write_text("task,closed\n" + rows)
    for name in TASKS:
        (suite / name / "facts.json").write_text('{"format": "facts/1", "sample_score": 0.5}')
    for task in Registry([suite]).select("exam"):
        prepare(home, task, progress=NoProgress())


@pytest.fixture
def exam(exam_home: Home, assay: Assay, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """Run a command on the suite `exam`, in its folder."""
    suite = exam_home.root / "exam"
    monkeypatch.chdir(suite)
    return lambda *words, **options: assay("--trust", "--tasks", suite, *words, home=exam_home, **options)


@pytest.fixture
def study(exam: Callable[..., Done], tmp_path: Path) -> Study:
    """Run a study of an agent of `study_agents.py` on tasks and return the rows of its tables; draw a figure, too."""

    def run(name: str, agent: str, *words: str, out: str = "run") -> Any:
        figure = tmp_path / f"{name}.svg"
        done = exam(
            "study", name, *words, "--agent", f"{AGENTS}:{agent}", "--out", tmp_path / out, "--quiet", "--json",
            "--figure", figure,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert figure.read_text().startswith("<svg")
        return {name: table["rows"] for name, table in json.loads(done.stdout)["tables"].items()}

    return run
