"""Submissions of agents are read in a process with limits: hostile files cost little, honest ones score the same."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.core.errors import InvalidSubmission
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import Prepared, prepare
from assay.grading import grade_submission
from assay.grading.isolated import SMALL, judge_isolated, validate_isolated
from assay.tasks import Registry

TWEETS = Registry().task("mlebench/tweet-sentiment-extraction")
CODE_AND_LIBRARIES = 400 * 10**6
PROGRAM = """
import resource, sys
from pathlib import Path
from assay.core.home import Home
from assay.data import load_prepared
from assay.grading.isolated import judge_isolated
from assay.tasks import Registry
task = Registry().task(sys.argv[2])
data = load_prepared(Home(Path(sys.argv[1])), task, sys.argv[3], "synthetic-0")
print(judge_isolated(Path(sys.argv[4]), data).why)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
"""


@pytest.fixture(scope="module")
def home_of_tweets(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def tweets(home_of_tweets: Home) -> Prepared:
    return prepare(home_of_tweets, TWEETS, "v1", "synthetic-0", progress=NoProgress())


def sample(ready: Prepared) -> bytes:
    return (ready.public / "sample_submission.csv").read_bytes()


def with_cell(ready: Prepared, cell: bytes) -> bytes:
    """The sample submission with another first prediction."""
    head, first, *others = sample(ready).splitlines()
    return b"\n".join([head, first.split(b",")[0] + b"," + cell, *others]) + b"\n"


def words(size: int) -> bytes:
    return b" ".join(b"%x" % number for number in range(size // 7))


HOSTILE: dict[str, tuple[Callable[[Prepared], bytes], str]] = {
    "a cell of four million words": (lambda ready: with_cell(ready, words(30 * 10**6)), "of memory"),
    "line breaks": (lambda ready: sample(ready) + b"\n" * 30 * 10**6, "rows are needed"),
    "separators": (lambda ready: sample(ready) + b",\n" * 15 * 10**6, "rows are needed"),
    "columns": (lambda ready: sample(ready) + b"," * 30 * 10**6 + b"\n", "is not a CSV table"),
    "quotes": (lambda ready: with_cell(ready, b'"' * 30 * 10**6), "None"),  # escaped quotes: strange, but valid
}


@pytest.mark.parametrize(("make", "says"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_submission_is_judged_in_bounded_memory(
    tweets: Prepared, home_of_tweets: Home, tmp_path: Path, make: Callable[[Prepared], bytes], says: str
) -> None:
    path = tmp_path / "submission.csv"
    path.write_bytes(make(tweets))
    words = [PROGRAM, str(home_of_tweets.root), TWEETS.id, "v1", str(path)]
    done = subprocess.run([sys.executable, "-c", *words], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    why, peak = done.stdout.splitlines()
    assert says in why
    assert int(peak) <= 5 * path.stat().st_size + 300 * 10**6 + CODE_AND_LIBRARIES


def test_an_honest_submission_has_the_same_score_in_and_out_of_isolation(
    tweets: Prepared, home_of_tweets: Home, tmp_path: Path
) -> None:
    path = tmp_path / "submission.csv"
    path.write_bytes(with_cell(tweets, b"good " * (2 * SMALL // 5)))
    outside = grade_submission(path, tweets, home=home_of_tweets)
    inside = grade_submission(path, tweets, home=home_of_tweets, isolated=True)
    assert outside.score is not None and inside.score == outside.score
    assert judge_isolated(path, tweets).score is not None
    validate_isolated(path.read_bytes(), tweets)
    with pytest.raises(InvalidSubmission, match="rows"):
        validate_isolated(sample(tweets) + b"x,y\n" * SMALL, tweets)


def test_a_message_that_would_quote_megabytes_is_not_an_infrastructure_failure(home_of_tweets: Home) -> None:
    task = Registry().task("mlebench/AI4Code")
    ready = prepare(home_of_tweets, task, "v1", "synthetic-0", progress=NoProgress())
    head, first, *others = sample(ready).splitlines()
    for size in (SMALL // 2, 3 * SMALL):
        hostile = b"\n".join([head, first + b" " + b"x" * size, *others])
        judgement = judge_isolated(hostile, ready)
        assert judgement.why is not None and "does not belong" in judgement.why and len(judgement.why) < 200
