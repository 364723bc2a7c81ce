"""Submitted code: what it makes in a fresh lab is graded, and what does not come out the same has a cause."""

import json
from datetime import UTC, datetime
from functools import partial

import anyio
import pytest

from assay.records import TrialFolder, read_events
from assay.records.code import make_code
from assay.records.content_store import ContentStore
from assay.records.events import Picked, Reran
from assay.records.signature import run_digest
from assay.runs.code_rerun import CodeLabs, find_unseen_fault, rerun_code
from assay.tasks import Registry
from assay.verification.run import verify_run
from tiny_run import TESTS

IN_2020 = b"""\
import datetime, pathlib, time
assert datetime.date.today().year == datetime.datetime.now().year == time.localtime(time.time()).tm_year == 2020
coins = pathlib.Path("data/test.csv").read_text().split()[1:]
pathlib.Path("submission.csv").write_text("coin,side\\n" + "".join(f"{coin},0\\n" for coin in coins))
"""


def run(tiny, agent, *words):
    done = tiny.call(*tiny.run_words(agent), "--submit", "code", *words)
    return next(iter(tiny.folder.trials())), done


def verify(tiny):
    return verify_run(tiny.folder, run_digest(tiny.folder), Registry([TESTS / "tiny"]), tiny.home)


def test_honest_code_is_rerun_graded_and_reproduced_by_verify(tiny):
    trial, done = run(tiny, "SubmitsCode")
    assert done.returncode == 0, done.stderr
    rerun = trial.grade.rerun
    assert (trial.grade.score, rerun.first_score, rerun.reproduced, rerun.unseen_score) == (1.0, 1.0, True, 1.0)
    assert verify(tiny).grade == "reproduced", verify(tiny).findings


@pytest.mark.parametrize(
    ("agent", "cause", "score", "reason"),
    [
        ("SubmitsCode,code=none", "no code", None, "there is no solution.py"),
        ("SubmitsCode,binary=yes", "refused file", None, "is not UTF-8 text"),
        ("SubmitsCode,code=typed", "typed", None, "without the data"),
        ("SubmitsCode,code=lookup", "unseen inputs", None, "KeyError"),
        ("SubmitsCode,code=fails", "error", None, "no idea"),
        ("SubmitsCode,code=needs file", "state", None, "weights.txt"),
        ("SubmitsCode,code=better with file", "state", 0.0, "the score is 0.0"),
        ("SubmitsCode,code=lucky seed", "seed", 0.0, "with the seed of the agent's own lab"),
    ],
)
def test_code_that_does_not_make_the_same_again_has_a_cause(tiny, agent, cause, score, reason):
    trial, _ = run(tiny, agent)
    rerun = trial.grade.rerun
    assert (rerun.cause, trial.grade.score, rerun.reproduced) == (cause, score, cause == "seed")
    assert reason in rerun.reason
    assert trial.state.failure == (None if score is not None else "failed rerun")
    assert not verify(tiny).errors


def test_code_that_depends_on_the_time_is_told_apart(tiny):
    """The clock cannot be waited for, so the time of the first lab is passed in."""
    trial, _ = run(tiny, "SubmitsCode")
    task = Registry([TESTS / "tiny"]).task("tiny/coin")
    labs = CodeLabs(trial.file, task, tiny.home, ContentStore(trial.snapshots), trial.file.sandbox)
    code = make_code(("python", "solution.py"), {"solution.py": IN_2020})
    content, event = anyio.run(partial(rerun_code, labs, code, b"", None, datetime(2020, 5, 5, tzinfo=UTC)))
    assert content is None and event.cause == "time"


@pytest.mark.parametrize(
    ("score", "again", "unseen", "is_random", "is_fault"),
    [
        (0.95, 0.93, 0.90, True, False),  # less than six standard errors of the difference
        (0.95, 0.95, 0.75, True, True),  # written down, and something simple for other inputs
        (0.80, 0.80, 1.00, True, True),  # labels of training rows are written down
        (0.80, 0.80, 1.00, False, False),  # other groups may be easier
        (0.95, 0.95, 0.75, False, False),  # or somewhat harder
        (0.95, 0.95, 0.45, False, True),  # but not by more than half
        (0.95, 0.45, 0.45, True, True),  # it looks whether there are unseen inputs
        (0.95, 0.70, 0.70, True, False),  # which brings it less than half
        (0.95, 0.95, None, True, False),  # without a score there is nothing to compare
    ],
)
def test_code_that_knows_the_inputs_it_saw_scores_otherwise_on_others(score, again, unseen, is_random, is_fault):
    for lower in (False, True):
        scores = [(None if each is None else 1 / each if lower else each, 0.006) for each in (score, again, unseen)]
        fault = find_unseen_fault(*scores, lower=lower, is_random=is_random)
        assert (fault is not None) is is_fault, fault


def test_a_perfect_error_on_unseen_inputs_has_no_noise():
    assert find_unseen_fault((0.17, 0.01), (0.17, 0.01), (0.0, None), lower=True, is_random=True)


def test_a_rerun_that_was_interrupted_ends_the_same_from_any_moment_of_its_log(tiny):
    trial, _ = run(tiny, "SubmitsCode", "--selection", "hidden")
    lines = trial.events.read_bytes().splitlines(keepends=True)
    kinds = [json.loads(line)["kind"] for line in lines]
    grade = trial.grade
    for length in (kinds.index("picked"), kinds.index("reran"), kinds.index("submitted"), kinds.index("graded")):
        trial.events.write_bytes(b"".join(lines[:length]))
        for name in ("state.json", "grade.json", "submission/manifest.json"):
            (trial.path / name).unlink(missing_ok=True)
        assert tiny.call("resume", str(tiny.out), "--quiet").returncode == 0
        again = TrialFolder(trial.path)
        assert (again.grade.score, again.grade.rerun) == (grade.score, grade.rerun), f"after {length} events"
        assert sum(isinstance(event, Reran) for event in read_events(trial.events)) == 1
    assert verify(tiny).grade == "reproduced", verify(tiny).findings


def test_a_candidate_that_no_code_makes_is_not_selected(tiny):
    trial, done = run(tiny, "PicksBadly", "--selection", "hidden")
    assert done.returncode == 0, done.stderr
    picked = next(event for event in read_events(trial.events) if isinstance(event, Picked))
    assert picked.hidden is None and [entry.score for entry in picked.scores] == [1.0, 0.0]
    assert trial.grade.rerun.cause == "no code" and not verify(tiny).errors


def test_offered_code_is_run_in_a_fresh_lab(tiny):
    trial, done = run(tiny, "OffersCode", "--selection", "hidden", "--feedback", "score")
    assert done.returncode == 0, done.stderr
    assert trial.grade.score == 1.0 and trial.grade.rerun.reproduced
    assert verify(tiny).grade == "reproduced", verify(tiny).findings
    assert "KeyError" not in json.dumps([event.model_dump(mode="json") for event in read_events(trial.events)])
