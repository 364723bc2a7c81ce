"""The score on test rows of another distribution, and how far it drops."""

import json
from pathlib import Path

import pytest

from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import prepare
from assay.grading import grade_submission
from assay.tasks import Registry
from assay.tasks.model import SecondSetting
from tiny_run import TESTS


@pytest.mark.parametrize(
    ("values", "scores", "drop"),
    [
        # All rows but the last two coins are right: 28 of 28 and 0 of 2.
        (("58", "59"), (0.0, 1.0), 1.0),
        (("30", "59"), (0.5, 0.96429), 0.46429),
        (("no coin",), None, None),
    ],
)
def test_the_score_on_other_rows_is_next_to_that_on_all(tmp_path: Path, values, scores, drop):
    task = Registry([TESTS / "tiny"]).task("tiny/coin")
    second = SecondSetting(title="late coins", column="coin", values=values)
    home = Home(tmp_path)
    prepared = prepare(home, task.model_copy(update={"second": second}), progress=NoProgress())
    rows = "".join(f"{coin},{int(coin % 3 == 0) if coin < 58 else 1 - int(coin % 3 == 0)}\n" for coin in range(30, 60))
    grade = grade_submission(f"coin,side\n{rows}".encode(), prepared, home=home)
    assert grade.score == 0.93333
    if scores is None:
        assert grade.second is None
    else:
        assert (grade.second.score, grade.second.rest) == scores
        assert grade.second.drop(lower_is_better=False) == pytest.approx(drop)


def test_a_report_shows_both_scores_and_the_drop(tiny, tmp_path: Path):
    folder = tmp_path / "suite"
    for path in sorted((TESTS / "tiny").rglob("*")):
        if path.is_file():
            target = folder / path.relative_to(TESTS / "tiny")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    task = folder / "coin" / "task.toml"
    task.write_text(task.read_text() + '\n[second]\ntitle = "the last"\ncolumn = "coin"\nvalues = ["58", "59"]\n')
    (folder / "suite.toml").write_text((folder / "suite.toml").read_text().replace('"tiny"', '"tiny-second"'))
    assay = tiny.assay
    assert assay("--trust", "--tasks", folder, "prepare", "tiny-second", "--quiet").returncode == 0
    out = tmp_path / "run"
    done = assay(
        "--trust",
        "--tasks",
        folder,
        "run",
        "tiny-second",
        "--agent",
        "starter",
        "--seeds",
        "1",
        "--out",
        out,
        "--quiet",
    )
    assert done.returncode == 0, done.stderr
    assert "second setting" not in assay("report", out).stdout
    report = assay("report", out, "--explain").stdout
    assert "second setting" in report and "Drop" in report
    assert json.loads(assay("report", out, "--json").stdout)["trials"][0]["grade"]["second"]["score"] == 1.0
    assert assay("--trust", "--tasks", folder, "verify", out).returncode == 0
