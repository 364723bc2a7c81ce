"""Familiarity of a model with texts, by hand with a scripted model and for real with the local one."""

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from assay.core.errors import UsageError
from assay.models import Usage
from assay.studies.familiarity import (
    Document,
    Familiarity,
    collect_documents,
    compare_descriptions,
    correlate,
    measure_documents,
    measure_reliability,
    task_familiarity,
    token_spans,
)
from assay.tasks import Registry

AGENTS = Path(__file__).with_name("study_agents.py")
# Sure of the second word, undecided about the third, ignorant of the fourth; "alph" is a prefix of nothing.
KNOWS = """
import math
TOP = {
    "one": {" two": 0.8, " t": 0.1},
    "one two": {"three": 0.5, "thr": 0.2, "alph": 0.3},
    "one two three": {" five": 0.9},
}
def answer(messages, tools):
    top = TOP[messages[-1].text]
    return {"text": "x", "top_logprobs": {token: math.log(p) for token, p in top.items()}}
"""
FAMILIAR = "We hold these truths to be self-evident, that all men are created equal, that they are endowed"
STRANGE = "Qwv zlork uq 83 mbxo trah, vyg 19 polk dre wuzz, kiv 77 ombra stolp gni"


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.mark.anyio
async def test_familiarity_is_the_mean_probability_of_the_next_word_and_0_outside_of_the_likely_ones(tmp_path):
    (tmp_path / "knows.py").write_text(KNOWS)
    document = Document("suite/task", "original", "description", "one two three four")
    model = f"scripted/{tmp_path / 'knows.py'}:answer"
    (text,), usage = await measure_documents(model, [document], positions=10, length=10, seed=1)
    assert text.positions == 3
    assert text.mean == pytest.approx((0.8 + 0.5 + 0) / 3)
    assert text.error == pytest.approx(
        math.sqrt(((0.8 - 1.3 / 3) ** 2 + (0.5 - 1.3 / 3) ** 2 + (1.3 / 3) ** 2) / 2 / 3)
    )
    assert usage.input_tokens > 0 and usage.cost is None
    (short,), _ = await measure_documents(model, [document], positions=10, length=2, seed=1)
    assert (short.positions, short.mean) == (1, pytest.approx(0.8))


@pytest.mark.anyio
async def test_a_model_without_log_probabilities_is_refused(tmp_path):
    (tmp_path / "mute.json").write_text('["two"]')
    document = Document("suite/task", "original", "description", "one two")
    with pytest.raises(UsageError, match="returns no log probabilities"):
        await measure_documents(f"scripted/{tmp_path / 'mute.json'}", [document], positions=1, length=10, seed=1)


def test_tokens_that_split_a_character_are_no_positions():
    tokens = [b"na", "ï".encode(), b" \xe6", b"\x97", b"\xa5", b"x"]
    assert token_spans(tokens) == [(0, 2), (2, 3), (5, 6)]
    assert ("naï 日x")[5:6] == "x"


@pytest.mark.parametrize("n", [4, 5, 9, 40])
def test_rank_correlations_equal_those_of_scipy(n):
    draw = random.Random(n)
    pairs = [(draw.random(), max(draw.random() - 0.4, 0.0)) for _ in range(n)]  # clipped, so that some tie
    sides = [list(side) for side in zip(*pairs, strict=True)]
    measured = correlate(pairs)
    assert measured.r == pytest.approx(stats.spearmanr(*sides).statistic)
    permuted = stats.permutation_test(
        (sides[0],), lambda x: stats.spearmanr(x, sides[1]).statistic, permutation_type="pairings", n_resamples=2000,
        rng=np.random.default_rng(0),
    )  # fmt: skip
    assert measured.p == pytest.approx(permuted.pvalue, abs=0.05 if n > 7 else 1e-9)
    assert measured.interval.low <= measured.r <= measured.interval.high


def make_documents(noise, tasks=200, seed=0):
    """Texts with a familiarity of variance 1, each half measured with so much noise."""
    draw = random.Random(seed)
    for number in range(tasks):
        truth = draw.gauss()
        halves = draw.gauss(truth, noise), draw.gauss(truth, noise)
        yield Familiarity(f"s/{number}", "original", "description", 2, sum(halves) / 2, None, halves)


@pytest.mark.parametrize("noise", [0.0, 1.0, 3.0])
def test_reliability_is_the_share_of_variance_that_is_no_measurement_error(noise):
    # The mean of two halves has a measurement error of half the variance of one.
    assert measure_reliability(make_documents(noise)) == pytest.approx(1 / (1 + noise**2 / 2), abs=0.08)
    assert measure_reliability(make_documents(noise, tasks=3)) is None


def test_measurement_error_is_corrected_for():
    pairs = [(1.0, 1.0), (2.0, 3.0), (3.0, 2.0), (4.0, 4.0)]
    assert correlate(pairs).corrected is None
    assert correlate(pairs, 0.81).corrected == pytest.approx(0.8 / 0.9)
    assert correlate(pairs, 0.1).corrected == 1  # at most


def test_no_correlation_without_variation():
    assert correlate([(1, 2)] * 9) is None and correlate([(1, 2), (2, 3), (3, 4)]) is None
    perfect = correlate([(1, 2), (2, 4), (3, 6), (4, 8)])
    assert perfect.r == pytest.approx(1) and perfect.p == pytest.approx(2 / 24)  # two of 24 permutations
    assert perfect.interval.low < 0 < perfect.interval.high


def test_a_task_is_as_familiar_as_its_description_and_posts_and_not_as_its_obfuscated_description():
    rows = [
        ("a", "original", 0.4),
        ("a", "post", 0.1),
        ("a", "post", 0.1),
        ("a", "obfuscated", 0.3),
        ("b", "original", 0.6),
    ]
    documents = [Familiarity(task, kind, kind, 5, mean, None) for task, kind, mean in rows]
    assert task_familiarity(documents) == {"a": pytest.approx(0.2), "b": 0.6}
    difference = compare_descriptions(documents)
    assert (difference.difference, difference.pairs) == (pytest.approx(0.1), 1)
    assert compare_descriptions(documents[4:]) is None


def test_all_competitions_have_both_descriptions():
    documents = collect_documents(Registry().select_all(["mlebench"]), None)
    assert [text.kind for text in documents].count("original") == 82
    assert [text.kind for text in documents].count("obfuscated") == 82


@pytest.mark.slow
def test_planted_familiarity_correlates_with_the_performance_of_an_agent_that_remembers(exam, tmp_path):
    out, posts, figure = tmp_path / "run", tmp_path / "posts", tmp_path / "familiarity.svg"
    agent = ["--agent", f"{AGENTS}:Rememberer", "--seeds", "1"]
    assert exam("run", "exam", *agent, "--out", out, "--quiet").returncode == 0
    for task in ("early-coin", "early-text", "late-coin", "late-text"):
        (posts / task).mkdir(parents=True)
        (posts / task / "post.txt").write_text(FAMILIAR if task.startswith("early") else STRANGE)
    words = ["study", "familiarity", "exam", "--model", "local/smollm2", "--positions", "8", "--length", "16"]
    done = exam(*words, "--posts", posts, "--run", out, "--figure", figure, "--json", "--quiet", in_process=False)
    assert done.returncode == 0, done.stderr
    tables = json.loads(done.stdout)["tables"]
    values = {(text["task"], text["kind"]): text["mean"] for text in tables["texts"]["rows"]}
    assert len(values) == 12 and all(0 <= value <= 1 for value in values.values())
    assert values["exam/early-coin", "post"] > values["exam/late-coin", "post"] + 0.2
    (correlation,) = tables["correlations"]["rows"]
    assert {row["task"]: row["performance"] for row in tables["performance"]["rows"]}["exam/early-coin"] == 1
    assert correlation["r"] > 0.85 and correlation["p"] < 0.5 and correlation["tasks"] == 4
    usage = tables["texts"]["usage"]
    assert usage["cost"] == 0
    assert figure.read_text().startswith("<svg")
    assert Usage.model_validate(usage).total_tokens > 100


def test_wrong_input_is_one_line_and_no_traceback(exam, tmp_path):
    words = ["study", "familiarity", "exam", "--model"]
    for more, message in (
        (["local/nothing.gguf"], "Cannot read the weights nothing.gguf"),
        (["nobody/x"], "Unknown provider 'nobody'"),
        (["local/smollm2", "--posts", tmp_path], "has no posts about these tasks"),
    ):
        done = exam(*words, *more)
        assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr
