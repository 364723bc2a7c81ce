"""Selection on hidden rows: what the harness picks, what agents learn, and that no interruption changes it."""

import json

import anyio
import numpy as np
import polars as pl
import pytest

from assay.agents.offers import Offers, judge_candidate
from assay.core.errors import InvalidSubmission
from assay.core.progress import NoProgress
from assay.data import load_prepared, prepare
from assay.data.selection import halve, prepare_selection
from assay.records import Clock, EventLog, TrialFolder, read_events
from assay.records.content_store import ContentStore
from assay.records.events import CallFinished, CandidateScore, Offered, OfferResult, Picked
from assay.records.selection import MAX_CHECKS, MAX_REPLIES, choose_candidate, find_answers, find_offers, round_reply
from assay.tasks import Budget, Registry
from forging import forge
from tiny_run import TESTS, check_verified


def run(tiny, *words, agent="PicksBadly"):
    done = tiny.call(*tiny.run_words(agent), *words)
    assert done.returncode == 0, done.stderr
    return next(iter(tiny.folder.trials()))


def picked(trial):
    return next(event for event in read_events(trial.events) if isinstance(event, Picked))


@pytest.fixture
def split(tiny):
    return prepare_selection(tiny.home, load_prepared(tiny.home, Registry([TESTS / "tiny"]).task("tiny/coin")))


@pytest.fixture
def open_offers(split, tmp_path):
    """Opens what keeps the candidates of a trial of the coin task."""

    def open_offers(feedback, max_size=10**6):
        log = EventLog(tmp_path / "events.jsonl", 1, keep=True)
        clock = Clock(Budget(time=60.0, steps=20))
        contents = ContentStore(tmp_path / "snapshots")
        return Offers(split, "hidden", feedback, log, contents, clock, lambda content: None, max_size)

    return open_offers


def guess(split, *heads):
    """Return a submission with heads for some coins and tails for all others."""
    coins = split.public.joinpath("test.csv").read_text().split()[1:]
    return "".join(["coin,side\n", *(f"{coin},{int(coin in heads)}\n" for coin in coins)]).encode()


def test_hidden_rows_leave_the_training_data_and_join_the_test_inputs(split):
    before, after = (
        {path.name: path.read_text().split() for path in folder.iterdir()}
        for folder in (split.prepared.public, split.public)
    )
    hidden = set(before["train.csv"]) - set(after["train.csv"])
    assert len(hidden) == 8 and set(after["train.csv"]) < set(before["train.csv"])
    inputs = set(after["test.csv"]) - set(before["test.csv"])
    assert inputs == {row.split(",")[0] for row in hidden}
    answers = {
        name: set((split.folder / name / "answers.csv").read_text().split()[1:])
        for name in ("hidden", "feedback", "pick")
    }
    assert answers["hidden"] == hidden == answers["feedback"] | answers["pick"]
    assert not answers["feedback"] & answers["pick"]


def test_rows_of_a_submission_are_told_apart_however_ids_are_written(split):
    ids = split.public.joinpath("test.csv").read_text().split()[1:]
    content = ("\ufeffside,coin\r\n" + "".join(f"0, {id}.0 \r\n" for id in ids)).encode()
    parts = [split.rows(content, part).decode().splitlines() for part in ("test", "hidden", "feedback", "pick")]
    assert [len(rows) for rows in parts] == [31, 9, 5, 5]
    for broken in (b"", b"side\n0\n", b"\xff\xfe", b"side,coin\n0\n"):
        with pytest.raises(InvalidSubmission):
            split.rows(broken, "test")


def test_rows_that_are_scored_together_are_in_one_half():
    task = Registry([TESTS / "tiny"]).task("tiny/coin")
    hidden = pl.DataFrame({"coin": [str(row // 4) for row in range(40)], "side": ["0"] * 40})
    feedback, pick = halve(hidden, task, np.random.RandomState(1))
    assert set(feedback["coin"]).isdisjoint(pick["coin"]) and feedback.height == pick.height == 20


@pytest.mark.parametrize(("selection", "score"), [("own", 0.0), ("report", 0.0), ("hidden", 1.0)])
def test_an_agent_that_picks_badly_loses_to_selection_on_hidden_rows(tiny, selection, score):
    trial = run(tiny, "--selection", selection)
    assert trial.grade.score == score
    check_verified(tiny.out, tiny.home)
    if selection != "own":
        event = picked(trial)
        assert event.hidden != event.own and [entry.score for entry in event.scores] == [1.0, 0.0]
        assert not any(
            event.result.score
            for event in read_events(trial.events)
            if isinstance(event, CallFinished) and isinstance(event.result, OfferResult)
        )


@pytest.mark.parametrize("feedback", ["nothing", "rank", "score"])
def test_answers_about_candidates_are_limited_however_often_an_agent_asks(tiny, feedback):
    agent = f"PicksBadly,offers={MAX_REPLIES + 5}"
    trial = run(tiny, "--selection", "hidden", "--feedback", feedback, agent=agent)
    results = [
        event.result
        for event in read_events(trial.events)
        if isinstance(event, CallFinished) and isinstance(event.result, OfferResult)
    ]
    told = [result for result in results if result.score is not None or result.rank is not None]
    assert len(results) == MAX_REPLIES + 5 and len(told) == (0 if feedback == "nothing" else MAX_REPLIES)


def test_an_interrupted_trial_picks_the_same_from_any_moment_of_its_log(tiny):
    trial = run(tiny, "--selection", "hidden", "--feedback", "rank")
    lines = trial.events.read_bytes().splitlines(keepends=True)
    before, kinds = picked(trial), [json.loads(line)["kind"] for line in lines]
    submission = trial.submission.read_bytes()
    for length in (kinds.index("offered"), kinds.index("offered") + 1, kinds.index("picked"), kinds.index("submitted")):
        trial.events.write_bytes(b"".join(lines[:length]))
        for name in ("state.json", "grade.json", "submission/manifest.json"):
            (trial.path / name).unlink(missing_ok=True)
        done = tiny.call("resume", str(tiny.out), "--quiet")
        assert done.returncode == 0, done.stderr
        events = read_events(trial.events)
        again = picked(TrialFolder(trial.path))
        assert (again.pick, again.scores) == (before.pick, before.scores), f"after {length} events"
        assert trial.submission.read_bytes() == submission and trial.grade.score == 1.0
        offers = [event.candidate for event in events if isinstance(event, Offered)]
        assert offers == list(find_offers(events)), "no candidate is offered twice"


def test_the_command_offer_of_the_shell_agent_is_answered_with_a_rank(tiny, tmp_path):
    replies = tmp_path / "replies.json"
    replies.write_text(json.dumps([f"```bash\n{command}\n```" for command in ("python train.py", "offer", "submit")]))
    words = ("--model", f"scripted/{replies}", "--selection", "hidden", "--feedback", "rank")
    trial = run(tiny, *words, agent="shell,protocol=text")
    (answer,) = find_answers(read_events(trial.events))
    assert answer.rank == 1 and picked(trial).pick == answer.candidate
    check_verified(tiny.out, tiny.home)


def test_a_changed_pick_is_found(tiny):
    trial = run(tiny, "--selection", "hidden")
    text = trial.events.read_text()
    event = picked(trial)
    trial.events.write_text(text.replace(f'"pick":"{event.pick}"', f'"pick":"{event.own}"'))
    assert tiny.call("verify", str(tiny.out)).returncode == 1


def test_asking_about_one_row_after_another_tells_nothing_of_the_rows_that_select(split, open_offers):
    """Each of the 4 rows that answer shows in a score, but what the answers tell is of these rows only."""
    offers, coins = open_offers("score"), split.public.joinpath("test.csv").read_text().split()[1:]

    async def attack():
        base = (await offers.answer(guess(split))).score
        answers = {coin: (await offers.answer(guess(split, coin))).score for coin in coins}
        return base, {coin: score for coin, score in answers.items() if score is not None}

    base, answers = anyio.run(attack)
    assert len(answers) == MAX_REPLIES - 1
    feedback = split.folder.joinpath("feedback", "answers.csv").read_text()
    assert {coin for coin, score in answers.items() if score != base} <= {row.split(",")[0] for row in feedback.split()}
    tuned = guess(split, *(coin for coin, score in answers.items() if score > base))
    before, after = (judge_candidate(split, content, "pick").score for content in (guess(split), tuned))
    assert before == after


def test_candidates_take_no_more_space_than_the_workspace_may(split, open_offers):
    offers = open_offers("nothing", max_size=len(guess(split)))
    answers = [anyio.run(offers.answer, guess(split, *heads)) for heads in ((), ("30",), ())]
    assert [answer.candidate is None for answer in answers] == [False, True, False]
    _, event = anyio.run(offers.pick, guess(split, "31"))
    assert event.own in [entry.candidate for entry in event.scores], "what the agent leaves is a candidate in any case"


def test_a_candidate_whose_score_is_infinite_is_never_selected(home):
    """As the published grader of this competition does, edition v1 gives infinite scores."""
    task = Registry().task("mlebench/new-york-city-taxi-fare-prediction").in_edition("v1")
    split = prepare_selection(home, prepare(home, task, variant="synthetic-0", progress=NoProgress()))
    header, *rows = split.public.joinpath("sample_submission.csv").read_text().splitlines()
    huge = "\n".join([header, *(f"{row.rpartition(',')[0]},1e300" for row in rows)])
    judged = judge_candidate(split, huge.encode(), "hidden")
    assert judged.score is None and judged.problem == "its score is not a finite number (inf)"


@pytest.mark.parametrize(
    ("kind", "made_up", "said"),
    [
        ("picked", lambda event: event["scores"][1].update(score=0.9), "recorded was 0.9"),
        ("answer", lambda event: event["result"].update(score=0.25), "does not follow from the hidden rows"),
    ],
)
def test_made_up_scores_of_candidates_and_in_answers_are_found(tiny, kind, made_up, said):
    trial = run(tiny, "--selection", "hidden", "--feedback", "score")
    assert tiny.call("verify", str(tiny.out)).returncode == 0

    def edit(events):
        answers = (event for event in events if event.get("result", {}).get("type") == "offer")
        made_up(next(answers) if kind == "answer" else next(event for event in events if event["kind"] == kind))

    forge(trial.events, edit)
    done = tiny.call("verify", str(tiny.out))
    assert done.returncode == 1 and said in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [(["--feedback", "score"], "feedback needs hidden rows"), (["--selection", "all"], "is not one of")],
)
def test_what_cannot_be_planned_is_refused(tiny, words, message):
    done = tiny.call(*tiny.run_words("PicksBadly"), *words)
    assert done.returncode == 2 and message in done.stderr


@pytest.mark.parametrize(("score", "error", "told"), [(0.8123, 0.02, 0.8125), (0.5, 0.0, 0.5), (0.0, None, 0.0)])
def test_scores_that_agents_learn_are_rounded_to_their_noise(score, error, told):
    assert round_reply(score, error) == told


def test_flipping_one_prediction_shows_in_no_answer():
    """Of 400 rows with accuracy 0.8, one more right row is 1/8 of a standard error; steps are 1 to 2 of them."""
    error = (0.8 * 0.2 / 400) ** 0.5
    assert len({round_reply((320 + right) / 400, error) for right in range(4)}) == 1


@pytest.mark.parametrize(
    ("scores", "direction", "own", "choice"),
    [
        ((1.0, 2.0, 2.0), "higher", None, "b"),
        ((1.0, 2.0, 2.0), "higher", "c", "c"),
        ((1.0, 2.0, 2.0), "lower", "c", "a"),
        ((None, None, None), "lower", "c", None),
    ],
)
def test_ties_go_to_the_agents_own_choice_or_the_oldest(scores, direction, own, choice):
    names = {letter: letter * 64 for letter in "abc"}
    entries = [CandidateScore(candidate=name, score=score) for name, score in zip(names.values(), scores, strict=True)]
    assert choose_candidate(entries, direction, own and names[own]) == (choice and names[choice])


def test_every_pocket_task_is_listed_with_a_reason_if_it_cannot_be_split(assay):
    listed = json.loads(assay("tasks", "pocket", "--selection", "--json").stdout)["tasks"]
    assert {entry["task"] for entry in listed if not entry["hidden"]} == {
        "pocket/decoding",
        "pocket/passage-search",
        "pocket/shuttle-anomalies",
        "pocket/vectorization",
    }
    assert all(entry["reason"] for entry in listed if not entry["hidden"])


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"coin,side\n" + b"1,0\n" * 5000, "there are more than 1,380 rows"),
        (b"coin,side\n" + b"," * 2 * 10**6, "a row has more than 1,000,000 cells"),
        (b'coin,side\n"\n' + b'",,"\n' * 10**6, "a row has more than 1,000,000 cells"),
        (b'coin,side\n"' + b"a" * (10**7 + 1), "field larger than field limit"),
        (b"coin,side\n\xff", "can't decode byte 0xff"),
    ],
    ids=["rows", "cells", "cells of many lines", "a long cell", "not text"],
)
def test_a_hostile_submission_is_not_taken_apart(split, content, problem):
    with pytest.raises(InvalidSubmission, match=problem):
        split.rows(content, "test")


def test_the_format_of_candidates_is_told_a_limited_number_of_times(tiny):
    trial = run(tiny, "--selection", "hidden", agent=f"PicksBadly,offers={MAX_CHECKS + 3}")
    results = [event.result for event in read_events(trial.events) if isinstance(event, CallFinished)]
    replies = [result.reply for result in results if isinstance(result, OfferResult)]
    assert ["is checked" in reply for reply in replies] == [False] * MAX_CHECKS + [True] * 3
