"""The command line prints the rules that a grade follows on one line, and handles scores that are not finite."""

import json
from pathlib import Path

import pytest

SUITE = """
format = "suite/1"
name = "made-up"
title = "For tests."
editions = ["v1", "fixed"]
lenient = ["v1"]
tasks = ["prices"]

[quirks.extra-columns-ignored]
text = "Further columns are ignored."
rules = ["submission.more_columns"]
"""
TASK = """
format = "task/1"
title = "Prices"
summary = "Prices."
kind = "tabular-regression"

[source]
about = "made up"
license = "none needed"

[submission]
form = "csv"
file = "submission.csv"
id = "id"

[submission.columns.price]
type = "number"

[metric]
name = "pearson"
direction = "higher"

[budget]
time = "1m"

[leaderboard]
gold = 0.9
silver = 0.8
bronze = 0.7
median = 0.6
teams = 10

[rules.v1]
quirks = ["extra-columns-ignored"]

[rules.v1.submission]
more_columns = true

[rules.fixed]
indicative = true

[rules.fixed.repairs]
whole-groups = "Groups are on one side of the split."
"""
PREPARE = """
def prepare(job):
    (job.private / "answers.csv").write_text("id,price\\n1,1\\n2,2\\n3,4\\n")
    (job.public / "sample_submission.csv").write_text("id,price\\n1,0\\n2,0\\n3,0\\n")
"""


@pytest.fixture
def printed(assay, tmp_path):
    """What `assay grade` prints of a submission in one edition."""
    folder = tmp_path / "suite" / "prices"
    folder.mkdir(parents=True)
    (folder.parent / "suite.toml").write_text(SUITE)
    for name, content in (("task.toml", TASK), ("prepare.py", PREPARE), ("description.md", "Prices.\n")):
        (folder / name).write_text(content)

    def grade(submission: str, edition: str, *words: str) -> str:
        prepared = assay(
            "--trust", "--tasks", folder.parent, "prepare", "made-up/prices", "--edition", edition, "--quiet"
        )
        assert prepared.returncode == 0, prepared.stderr
        path = Path(tmp_path / "submission.csv")
        path.write_text(submission)
        done = assay("--trust", "--tasks", folder.parent, "grade", path, "made-up/prices", "--edition", edition, *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return grade


def test_quirks_repairs_and_indicative_medals_are_printed_on_one_line(printed):
    lines = printed("id,price,x\n1,1,a\n2,2,a\n3,4,a\n", "v1").splitlines()
    assert lines[1:] == [
        "  pearson 1.00000 (higher is better)",
        "  gold medal, above the median team",
        "  quirks of the published grader: extra-columns-ignored",
    ]
    assert (
        printed("id,price\n1,1\n2,2\n3,4\n", "fixed").splitlines()[-1]
        == "  repairs: whole-groups; medals are indicative only"
    )


def test_a_score_that_is_not_a_number_is_printed_as_such_and_null_in_json(printed):
    constant = "id,price\n1,0\n2,0\n3,0\n"
    assert printed(constant, "v1").splitlines()[1:3] == [
        "  pearson nan (higher is better)",
        "  no medal, not above the median team",
    ]
    grade = json.loads(printed(constant, "v1", "--json"), parse_constant=pytest.fail)
    assert (grade["score"], grade["not_finite"], grade["valid_submission"]) == (None, "nan", True)
    assert (grade["quirks"], grade["repairs"], grade["indicative"]) == (["extra-columns-ignored"], [], False)
    assert "invalid submission: pearson has no finite value" in printed(constant, "fixed")
