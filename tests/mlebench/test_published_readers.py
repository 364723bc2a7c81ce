"""A task's `published.py` reads submissions as only its published grader does, in the edition that follows it."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from assay.core.home import Home
from assay.grading import Grade, grade_submission
from assay.tasks import Registry

VOTES = ("seizure_vote", "lpd_vote", "gpd_vote", "lrda_vote", "grda_vote", "other_vote")


def grade(name: str, answers: str, submission: str, folder: Path, edition: str = "v1") -> Grade:
    task = Registry().task(name).in_edition(edition)
    private = folder / "private"
    private.mkdir()
    (private / task.data.answers).write_text(answers)
    prepared = SimpleNamespace(task=task, private=private, edition=edition, variant="real")
    return grade_submission(submission.encode(), prepared, home=Home(folder))


def votes(*rows: str, extra: str = "") -> str:
    """A table of the harmful brain activity competition; a row is its first two votes and further columns."""
    header = ",".join(("eeg_id", *VOTES)) + extra
    lines = [f"{id},{first},{second},0,0,0,0{','.join(['', *more])}" for id, (first, second, *more) in
             enumerate((row.split(",") for row in rows), 1)]  # fmt: skip
    return "\n".join([header, *lines]) + "\n"


EXTRA = "submission.csv: column 'c' is not needed and adds to the sum of its row."
SUMS = [
    (votes("0.25,0.75", "0.5,0.5"), None),
    (votes("0.25,0.75,0", "0.5,0.5,0.0", extra=",c"), None),
    (votes("0.25,0.75,", "0.5,0.5,", extra=",c"), None),  # pandas leaves gaps out of sums
    (votes("0.25,0.75,0", "0.5,0.5,0.1", extra=",c"), EXTRA),
    (votes("0.25,0.75,0", "0.5,0.5,x", extra=",c"), EXTRA),
    (votes("0.25,0.75,0", "0.5,0.5,-1", extra=",c"), EXTRA),
    (votes("0.25,0.75,0", "0.5,0.5,2e-5", extra=",c"), EXTRA),
    (votes("0.25,0.75,False", "0.5,0.5,False", extra=",c"), EXTRA),
    (votes("0.25,0.75,0", "0.5,0.500004,8e-6", extra=",c"), EXTRA),  # 1.2e-5 together
    (  # 100000.5, which NumPy rounds to even and Python does not
        votes("0.25,0.75", "0.5,0.500005"),
        "submission.csv: the values of a row must add up to 1, but are 1.000005 for eeg_id '2'.",
    ),
]


@pytest.mark.parametrize(("submission", "why"), SUMS)
def test_votes_add_up_over_all_columns_of_the_file_as_python_rounds(
    submission: str, why: str | None, tmp_path: Path
) -> None:
    graded = grade(
        "mlebench/hms-harmful-brain-activity-classification",
        votes("1,3,7", "2,2,8", extra=",patient_id"),
        submission,
        tmp_path,
    )
    assert (graded.why, graded.valid_submission) == (why, why is None)


COLUMNS = [
    ("id,prediction\n1,0.2\n2,0.7\n3,0.2\n4,0.7\n", None),
    ("id,toxicity\n1,0.2\n2,0.7\n3,0.2\n4,0.7\n", None),
    (
        "id,prediction,toxicity\n1,0.2,1\n2,0.7,1\n3,0.2,1\n4,0.7,1\n",
        "submission.csv has columns 'prediction', 'toxicity', which mean the same; submit one of them.",
    ),
]


@pytest.mark.parametrize(("submission", "why"), COLUMNS)
def test_the_toxicity_column_may_have_the_name_in_the_answers_but_not_both_names(
    submission: str, why: str | None, tmp_path: Path
) -> None:
    name = "mlebench/jigsaw-unintended-bias-in-toxicity-classification"
    identities = Registry().task(name).metric.answers["identities"]
    answers = f"id,toxicity,{','.join(identities)}\n" + "".join(
        f"{id},{(id + 1) % 2}{f',{int(id > 2)}' * 9}\n" for id in (1, 2, 3, 4)
    )
    assert grade(name, answers, submission, tmp_path).why == why


def tags(first: str) -> str:
    columns = Registry().task("mlebench/freesound-audio-tagging-2019").submission.columns
    return f"fname,{','.join(columns)}\na,{first}{',0' * (len(columns) - 2)},1\n"


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("0.5", None),
        ("99999999999999999999999", "must be a number, but is '99999999999999999999999' for fname 'a'."),
        ("1_1", "must be a number, but is '1_1' for fname 'a'."),
    ],
)
def test_tags_are_numbers_that_pandas_to_numeric_reads(value: str, why: str | None, tmp_path: Path) -> None:
    graded = grade("mlebench/freesound-audio-tagging-2019", tags("0"), tags(value), tmp_path)
    assert graded.why == why or str(graded.why).endswith(str(why))


def test_a_table_of_booleans_alone_has_no_tags(tmp_path: Path) -> None:
    submission = tags("True").replace(",0", ",False").replace(",1\n", ",True\n")
    graded = grade("mlebench/freesound-audio-tagging-2019", tags("0"), submission, tmp_path)
    assert graded.why == "submission.csv holds only true and false; the columns must hold numbers."


VISITS = ["a_1,10,a,1", "a_2,,a,2", "b_9,5,b,9", "a_10,30,a,10", "a_9,20,a,9", "b_1,6,b,1", "b_3,7,b,3", "a_8,2,a,8"]
ANSWERS = "Patient_Week,FVC,Patient,Weeks,Confidence\n" + "".join(f"{visit},100\n" for visit in VISITS)


@pytest.mark.parametrize("edition", ["v1", "fixed"])
def test_only_the_last_three_known_visits_of_a_patient_are_scored(edition: str, tmp_path: Path) -> None:
    """Those of a are in weeks 8, 9 and 10, all three of b are known: 99 elsewhere costs nothing."""
    scored = {"b_9": 5, "a_10": 30, "a_9": 20, "b_1": 6, "b_3": 7, "a_8": 2}
    rows = [f"{visit.split(',')[0]},{scored.get(visit.split(',')[0], 99)},100\n" for visit in VISITS]
    submission = "Patient_Week,FVC,Confidence\n" + "".join(rows)
    graded = grade("mlebench/osic-pulmonary-fibrosis-progression", ANSWERS, submission, tmp_path, edition)
    assert graded.score == pytest.approx(-4.95174, abs=1e-5)  # -ln(100 √2): no error at a confidence of 100


def test_only_submitted_visits_are_scored_and_none_twice(tmp_path: Path) -> None:
    submission = "Patient_Week,FVC,Confidence\na_10,31,100\na_10,30,100\nb_3,7,100\n"
    graded = grade("mlebench/osic-pulmonary-fibrosis-progression", ANSWERS, submission, tmp_path)
    assert graded.why == "submission.csv repeats ids of column 'Patient_Week'."
