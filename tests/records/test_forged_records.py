"""Records that somebody with the source code rewrote, with all hashes right: what is found, and what cannot be."""

import hashlib
import json
import os
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from assay.core.home import Home
from assay.data import load_prepared
from assay.data.selection import prepare_selection
from assay.records import RunFolder, TrialFolder
from assay.records.code import Code
from assay.records.copies import Fingerprint, find_copied_entry
from assay.records.keys import fingerprint, load_trusted_keys
from assay.records.signature import run_digest, run_digest_if_intact
from assay.records.verify import RecordFinding
from assay.runs.hashes import hash_of_agent
from assay.tasks import Registry
from assay.verification.run import Verification, verify_run
from forging import Events, Forger, change, forge
from isolation import make_folder
from tiny_run import check_verified, prepare_tiny

TESTS = Path(__file__).parent.parent
TINY = TESTS / "tiny"
Attack = Callable[[Any], object]


def verify(finished, **options) -> Verification:
    run = RunFolder(finished.run.path)
    return verify_run(run, run_digest_if_intact(run), Registry([TINY]), finished.home, **options)


def said(verification: Verification, level: str) -> str:
    return "\n".join(
        f"{each.trial}: {each.part}: {each.message}" for each in verification.findings if each.level == level
    )


def answers(finished) -> bytes:
    """The best submission there is."""
    (path,) = (path for path in finished.home.root.rglob("private/*") if path.suffix == ".csv")
    return path.read_bytes()


def first(events: Events, kind: str) -> dict[str, Any]:
    return next(event for event in events if event["kind"] == kind)


def without(*kinds: str) -> Callable[[Events], None]:
    def edit(events: Events) -> None:
        events[:] = [event for event in events if event["kind"] not in kinds]

    return edit


def shift(events: Events, move: Callable[[int, datetime], datetime]) -> None:
    for number, event in enumerate(events):
        event["time"] = move(number, datetime.fromisoformat(event["time"])).isoformat()


def shift_all(days: float) -> Callable[[Events], None]:
    return lambda events: shift(events, lambda _, time: time + timedelta(days=days))


def restate(events: Events) -> None:
    """Have the state agree with the times of the log."""
    opened = datetime.fromisoformat(first(events, "lab_opened")["time"]).isoformat(timespec="seconds")
    first(events, "submitted")["state"]["started_at"] = opened


def with_state(edit: Callable[[Events], object]) -> Callable[[Events], None]:
    def both(events: Events) -> None:
        edit(events)
        restate(events)

    return both


def pose_as(agent: str, **plan: Any) -> Attack:
    """Claim that another agent did the work of the starter, with the hash of that agent's public code."""

    def attack(finished) -> None:
        def edit(content: dict[str, Any]) -> None:
            content.update(agent=agent, settings={}, label=agent)
            content.update(plan)
            content["hashes"]["agent"] = hash_of_agent(agent)

        for trial in finished.trials[::2]:
            finished.forger.rewrite(trial, plan=edit)

    return attack


def rewrite(number: int = 0, **options: Any) -> Attack:
    return lambda finished: finished.forger.rewrite(finished.trials[number], **options)


def swap_submission(finished) -> None:
    finished.forger.rewrite(finished.trials[0], submission=answers(finished))


def stretch(events: Events) -> None:
    """Claim that a command took ten minutes, without moving the events."""
    first(events, "call_finished")["result"]["seconds"] = 600.0


def hurry(events: Events) -> None:
    """Count more seconds between two calls than there are between their events."""
    for event in [event for event in events if event["kind"] == "call_finished"][1:]:
        event["used"]["elapsed"] += 20.0
    first(events, "submitted")["state"]["elapsed"] += 20.0


def swap_times(events: Events) -> None:
    events[3]["time"], events[2]["time"] = events[2]["time"], events[3]["time"]


def remove_first_seed(finished) -> None:
    finished.forger.remove(finished.trials[0])


def remove_last_seed(finished) -> None:
    finished.forger.remove(finished.trials[2])


def remove_agent(finished) -> None:
    for trial in finished.trials[1::2]:
        finished.forger.remove(trial)


def remove_seeds(finished) -> None:
    """Leave only the first seed, and claim that no other was planned."""
    for trial in finished.trials[2:]:
        finished.forger.remove(trial)
    for trial in finished.trials:
        finished.forger.rewrite(trial, plan=lambda plan: plan.update(planned_seeds=1))


def leave_reruns(finished) -> None:
    """Have a trial repeat one that is gone."""
    trial = finished.trials[0]
    finished.forger.rewrite(trial, plan=lambda plan: plan.update(replaces="gone"))


def hide_time(events: Events) -> None:
    """Claim that nearly no time was counted while a command ran for half a minute."""
    shift(events, lambda number, time: time + timedelta(seconds=40 * number))
    restate(events)
    finished = first(events, "call_finished")
    finished["result"]["seconds"], finished["used"]["elapsed"] = 30.0, 0.001
    first(events, "submitted")["state"]["elapsed"] = 0.002


def created_later(finished) -> None:
    later = (datetime.now(UTC) + timedelta(days=2)).isoformat(timespec="seconds")
    change(finished.run.path / "run.json", lambda run: run.update(created_at=later))


def another_start(events: Events) -> None:
    first(events, "submitted")["state"]["started_at"] = "2026-11-10T00:00:00+00:00"


def excuse(number: int) -> Attack:
    """Claim that the agent of a trial could not work on the task, so that results leave the trial out."""

    def attack(finished) -> None:
        def edit(events: Events) -> None:
            excused = {"kind": "inapplicable", "reason": "not this kind of task"}
            events[:] = [events[0], {**{name: events[0][name] for name in ("time", "epoch")}, **excused}]

        trial = finished.trials[number]
        shutil.rmtree(trial.path / "submission")
        (trial.path / "grade.json").unlink()
        finished.forger.rewrite(trial, events=edit)

    return attack


SCRIPTED = f"scripted/{TESTS / 'agents' / 'scripted_searcher.py'}:answer"
HONEST = {
    "automl": ["--agent", "automl,max_seconds=1"],
    "aide": ["--agent", "aide", "--model", SCRIPTED, "--steps", "4"],
    "a command without a model": ["--agent", "external,command=python train.py,models=no"],
    "an agent that crashes": ["--agent", f"{TESTS / 'agents' / 'simple_agents.py'}:Crashes"],
}


@pytest.mark.slow
@pytest.mark.parametrize("words", HONEST.values(), ids=HONEST)
def test_an_honest_run_is_consistent_whoever_the_agent_is(home, assay, tmp_path, words):
    prepare_tiny(home)
    done = assay("--tasks", TINY, "run", "tiny", *words, "--seeds", "1", "--out", tmp_path / "run", "--quiet")
    assert done.returncode == 0, done.stderr
    check_verified(tmp_path / "run", home)


FORGERIES: dict[str, tuple[Attack, str]] = {
    "a submission that the last snapshot does not have": (swap_submission, "it is not the file that the last snapshot"),
    "neither calls nor snapshots": (
        rewrite(events=without("call_started", "call_finished", "snapshot_taken")),
        "no call of the agent that made it",
    ),
    "snapshots without calls": (
        rewrite(events=without("call_started", "call_finished")),
        "no call of the agent that made it",
    ),
    "calls without snapshots": (rewrite(events=without("snapshot_taken")), "but no snapshot of it"),
    "no lab": (rewrite(events=without("lab_opened")), "no lab was opened"),
    "another agent that needs a model": (
        pose_as("aide", models={"main": "openai/gpt-5"}, label="aide · openai/gpt-5"),
        "aide submitted, but no reply of openai/gpt-5 is recorded",
    ),
    "another agent without its model": (pose_as("shell"), "shell asks models, but the trial has none"),
    "another agent without a model": (pose_as("automl"), "is a command call that agent automl never makes"),
    "a person": (pose_as("human"), "is a command call that agent human never makes"),
    "a command-line agent": (
        pose_as("external", settings={"command": "solve"}, label="external solve"),
        "is a command call that agent external never makes",
    ),
    "a model that nobody asked": (
        rewrite(plan=lambda plan: plan.update(models={"main": "openai/gpt-9"}, label="starter · openai/gpt-9")),
        "starter asks no model, but the trial names one",
    ),
    "a label": (rewrite(plan=lambda plan: plan.update(label="gpt-9 super agent")), "but its settings give 'starter'"),
    "settings that no agent has": (
        rewrite(plan=lambda plan: plan.update(settings={"x": 1}, label="gpt-9 super agent")),
        "these are no settings of agent starter",
    ),
    "another command": (
        rewrite(events=lambda events: first(events, "call_started")["request"].update(command=["python", "x.py"])),
        "is a command call that agent starter never makes",
    ),
    "an agent that could have worked": (excuse(0), "but agent starter can work on tiny/coin"),
    "a removed first seed": (remove_first_seed, "seed 1 of 2 is missing"),
    "a removed last seed": (remove_last_seed, "seed 2 of 2 is missing"),
    "a removed agent": (remove_agent, "a registered plan has 4 trials, but the run has 2"),
    "removed seeds that were never planned": (remove_seeds, "a registered plan has 4 trials, but the run has 2"),
    "a rerun of what is gone": (leave_reruns, "which the run does not have: that was removed"),
    "a long command that took no time of the trial": (rewrite(events=hide_time), "but only 0.001 were counted"),
    "a run that is younger than its trials": (created_later, "before the run was created"),
    "events that run backwards": (rewrite(1, events=with_state(swap_times)), "is earlier than event"),
    "events of 1999": (rewrite(events=with_state(shift_all(-9_800))), "before there was this software"),
    "events of next year": (rewrite(events=with_state(shift_all(365))), "which is in the future"),
    "a command that took longer than there was time": (rewrite(events=stretch), "a call took 600 seconds"),
    "more seconds than passed": (rewrite(1, events=hurry), "seconds were counted between events"),
    "another start": (rewrite(events=another_start), "describes another lab than the one that was opened"),
    "a path in place of a snapshot": (
        lambda finished: forge(
            finished.trials[0].events, lambda events: first(events, "snapshot_taken").update(snapshot="../../x")
        ),
        "not an event of a format that this version reads",
    ),
    **{
        f"another {field} in the grade": (
            rewrite(
                events=lambda events, field=field, value=value: first(events, "graded")["grade"].update({field: value}),
                honest_score=False,
            ),
            f"regraded, {field} is",
        )
        for field, value in {
            "gold_medal": True,
            "any_medal": True,
            "percentile": 99.0,
            "success": True,
            "rank": 1,
        }.items()
    },
}


@pytest.mark.parametrize(("attack", "words"), FORGERIES.values(), ids=FORGERIES)
def test_a_record_that_contradicts_itself_is_found_although_all_hashes_are_right(finished, attack, words):
    attack(finished)
    verification = verify(finished)
    assert words in said(verification, "error"), verification.findings
    assert verification.grade is None and verification.established == []


@pytest.mark.parametrize("jitter", [0, 1, 40])
def test_a_trial_that_is_copied_as_another_seed_is_found_with_its_microseconds_changed(finished, jitter):
    def move(events: Events) -> None:
        shift(events, lambda number, time: time + timedelta(hours=1, microseconds=jitter * (number % 2)))
        restate(events)

    finished.forger.copy(finished.trials[0], seed=3, events=move)
    assert "it is a copy" in said(verify(finished), "error")


def test_copied_replies_are_found_with_all_times_changed_unless_the_model_repeats_itself(conversations):
    model = conversations.trials[0].file.models["main"]
    assert verify(conversations).grade == "consistent", "a script repeats its replies in every trial"

    def hosted(plan: dict[str, Any]) -> None:
        plan.update(models={"main": "openai/gpt-5"}, label="shell · openai/gpt-5")

    def served(events: Events) -> None:
        for event in events:
            if event.get("result", {}).get("reply"):
                assert event["result"]["reply"]["model"] == model
                event["result"]["reply"]["model"] = "openai/gpt-5"

    for trial in conversations.trials:
        conversations.forger.rewrite(trial, plan=hosted, events=served)
    assert "characters of its models' replies are those of" in said(verify(conversations), "error")


def test_a_copied_conversation_with_other_times_is_found_by_how_long_its_calls_took(conversations):
    def move(events: Events) -> None:
        shift(events, lambda number, time: time + timedelta(hours=1, milliseconds=7 * number + 3 * (number % 2)))
        restate(events)

    conversations.forger.copy(conversations.trials[0], seed=3, events=move)
    assert "its calls took exactly as long as those of" in said(verify(conversations), "error")


def replies(events: Events) -> list[dict[str, Any]]:
    return [event["result"]["reply"] for event in events if event.get("result", {}).get("reply")]


def negative(field: str) -> Callable[[Events], None]:
    """Count less than was used, by one reply that used less than nothing."""

    def edit(events: Events) -> None:
        replies(events)[0]["usage"][field] = -1_000_000
        first(events, "submitted")["state"]["tokens"] = -500_000

    return edit


@pytest.mark.parametrize(
    ("prices", "edit", "words"),
    [
        ({}, negative("input_tokens"), "has less than no tokens"),
        ({}, lambda events: replies(events)[0]["usage"].update(cost=-1.0), "costs -1.0 dollars"),
        ({"scripted/*": {"input": 1e6, "output": 1e6}}, lambda events: None, "by the prices of the trial"),
        ({"scripted/*": {"input": "free"}}, lambda events: None, "its prices are none"),
    ],
    ids=["tokens", "cost", "prices", "no prices"],
)
def test_usage_that_cannot_be_is_found(conversations, prices, edit, words):
    conversations.forger.rewrite(conversations.trials[0], plan=lambda plan: plan.update(prices=prices), events=edit)
    assert words in said(verify(conversations), "error")


def test_replies_of_another_model_and_a_model_without_replies_are_found(conversations):
    rename = {"main": "openai/gpt-5"}
    conversations.forger.rewrite(
        conversations.trials[0], plan=lambda plan: plan.update(models=rename, label="shell · openai/gpt-5")
    )
    assert "but openai/gpt-5 was planned" in said(verify(conversations), "error")

    def silent(events: Events) -> None:
        asked = {event["number"] for event in events if event.get("request", {}).get("type") == "model"}
        events[:] = [event for event in events if event["number"] not in asked and event.get("call") not in asked]
        numbers = {event["number"]: number for number, event in enumerate(events)}
        for event in events:
            if event.get("call") is not None:
                event["call"] = numbers[event["call"]]
            if event.get("action") is not None:
                event["action"] = numbers[event["action"]]

    conversations.forger.rewrite(conversations.trials[1], events=silent)
    assert "shell submitted, but no reply of" in said(verify(conversations), "error")


def test_a_run_that_is_rewritten_without_a_contradiction_is_consistent_and_no_more(finished, tmp_path):
    digest = run_digest(finished.run)
    trial = finished.forger.rewrite(finished.trials[0], submission=answers(finished))
    finished.forger.rewrite_last_snapshot(trial, "submission.csv", answers(finished))
    verification = verify(finished)
    assert verification.grade == "consistent" and trial.grade is not None and trial.grade.score == 1.0
    assert any("rewrites all of a run without a contradiction" in text for text in verification.not_established)
    assert any("its code was not run again" in text for text in verification.not_established)
    assert "records were rewritten" in said(verify(finished, expected=digest), "error")


def other_version(plan: dict[str, Any]) -> None:
    plan["versions"]["assay"], plan["hashes"]["agent"] = "0.0.9", "0" * 64
    plan["label"] = "gpt-9 super agent"


DOUBTS: dict[str, tuple[Attack, str]] = {
    "an agent of another version with another label": (rewrite(plan=other_version), "but its settings give 'starter'"),
    "a file with another label": (
        rewrite(1, plan=lambda plan: plan.update(label="gpt-9 super agent")),
        "does not name agent 'Guesses' and its model",
    ),
    "a file with a label that only begins like its name": (
        rewrite(1, plan=lambda plan: plan.update(label="Guesses2 · gpt-9")),
        "does not name agent 'Guesses' and its model",
    ),
    "a file that is called like an installed agent": (
        rewrite(1, plan=lambda plan: plan.update(agent="mine.py:aide", label="aide")),
        "the label is that of the installed agent aide, but the agent is 'mine.py:aide'",
    ),
    "a file whose agent says that it cannot work": (excuse(1), "as agent"),
    "a file with a model that nobody asked": (
        rewrite(1, plan=lambda plan: plan.update(models={"main": "openai/gpt-9"}, label="Guesses · openai/gpt-9")),
        "no reply of openai/gpt-9 is recorded",
    ),
}


@pytest.mark.parametrize(("attack", "words"), DOUBTS.values(), ids=DOUBTS)
def test_what_may_be_true_but_is_not_established_gives_no_grade(finished, attack, words):
    attack(finished)
    verification = verify(finished)
    assert words in said(verification, "unverified") and verification.grade is None, verification.findings


def test_an_agent_of_somebody_elses_file_is_not_compared_and_that_is_said(finished):
    verification = verify(finished)
    assert verification.grade == "consistent"
    assert any("the kinds of calls of their agent" in text and "2 of 4" in text for text in verification.established)
    assert "Of 2 trials, whose work it is." in verification.not_established


def test_an_export_shows_where_a_submission_comes_from(finished, tmp_path):
    def export(name: str) -> RunFolder:
        done = finished.assay("export", finished.run.path, "--out", tmp_path / f"{name}.zip", "--submissions")
        assert done.returncode == 0, done.stderr
        with zipfile.ZipFile(tmp_path / f"{name}.zip") as archive:
            archive.extractall(tmp_path / name)
        return RunFolder(tmp_path / name)

    for trial in finished.trials[:2]:
        finished.forger.split_last_snapshot(trial, "submission.csv")
    good = export("good")
    check = {"registry": Registry([TINY]), "home": finished.home}
    assert verify_run(good, run_digest(good), **check).grade == "consistent"
    assert len(list(good.path.rglob("snapshots/manifests/*.json"))) >= 6, "at least two are differences"
    for path in (tmp_path / "good").rglob("snapshots/manifests/*.json"):
        path.unlink()
    bare = verify_run(good, run_digest(good), **check)
    assert bare.grade is None and said(bare, "unverified").count("its snapshot cannot be read") == 4
    swap_submission(finished)
    forged = export("forged")
    assert "it is not the file that the last snapshot" in said(verify_run(forged, run_digest(forged), **check), "error")


def test_a_board_refuses_copies_of_its_entries(finished, conversations, tmp_path):
    def add(name: str, run: RunFolder) -> str:
        out = tmp_path / f"{name}.zip"
        assert finished.assay("export", run.path, "--out", out, "--submissions").returncode == 0
        done = finished.assay("board", "add", out, "--to", tmp_path / "board", "--by", name, "--quiet")
        return done.stdout + done.stderr

    assert ": consistent" in add("Honest", finished.run)

    def move(events: Events) -> None:
        shift(events, lambda number, time: time + timedelta(microseconds=7 * (number % 2)))
        restate(events)

    for trial in finished.trials:
        finished.forger.rewrite(trial, events=move)
    assert "which are on the board already" in add("Thief", finished.run)
    swap_submission(finished)
    assert "it is not the file that the last snapshot" in add("Liar", finished.run)
    listed = finished.assay("board", "ls", tmp_path / "board").stdout
    assert "Honest" in listed and "consistent" in listed and "Thief" not in listed and "Liar" not in listed


def entry(agent: str, *submissions: str, starter: bool = False, replies: bool = False) -> list[Fingerprint]:
    digest = hashlib.sha256(agent.encode()).hexdigest()
    return [
        Fingerprint(
            trial=f"{agent}-{number}",
            task="t",
            agent=agent,
            starter=starter,
            submission=hashlib.sha256(name.encode()).hexdigest(),
            replies=((hashlib.sha256(f"{digest}{number}".encode()).hexdigest(), 500),) if replies else (),
        )
        for number, name in enumerate(submissions)
    ]


@pytest.mark.parametrize(
    ("new", "known", "copied"),
    [
        (entry("a", "x", "y"), entry("b", "x", "y"), True),
        (entry("a", "x", "y", "z"), entry("b", "x"), False),  # a third of them: chance, such as the sample submission
        (entry("a", "x", "y"), entry("a", "x", "y"), False),  # a deterministic agent, run again
        (entry("a", "x", "y", replies=True), entry("a", "x", "y", replies=True), True),
        (entry("a", "x", "y"), entry("b", "x", "y", starter=True), False),
    ],
)
def test_submissions_of_another_entry_are_a_copy_unless_the_agent_is_deterministic(new, known, copied):
    new = [each.model_copy(update={"replies": tuple((f"{1:064}", n) for _, n in each.replies)}) for each in new]
    assert (find_copied_entry(new, known) is not None) is copied


@pytest.mark.parametrize("target", ["/proc/kmsg", "/proc/self/mem", "/dev/zero", "pipe", "huge", "deep"])
def test_an_agents_file_that_a_record_names_cannot_stall_verify(finished, tmp_path, target, monkeypatch):
    monkeypatch.chdir(tmp_path)
    agent = tmp_path / "agent.py"
    if target == "pipe":
        os.mkfifo(agent)
    elif target == "huge":
        with agent.open("wb") as file:
            file.truncate(2**40)
    elif target == "deep":
        agent.write_text("x = " + "-" * 1_000_000 + "1")
    else:
        agent.symlink_to(target)
    for name in ("agent.py:X", f"{agent}:X", f"{target}:X"):
        finished.forger.rewrite(finished.trials[0], plan=lambda plan, name=name: plan.update(agent=name, label=name))
        verification = verify(finished, regrade=False)
        assert "not compared" in said(verification, "remark") or "hash" in said(verification, "error")
    local = {"models": {"main": f"local/{agent}"}}
    finished.forger.rewrite(finished.trials[0], plan=lambda plan: plan.update(local))
    assert "no reply of local/" in said(verify(finished, regrade=False), "unverified")


def test_a_record_cannot_replace_an_installed_suite(finished, tmp_path):
    suite = tmp_path / "pocket"
    shutil.copytree(TINY, suite)
    (suite / "suite.toml").write_text((TINY / "suite.toml").read_text().replace('name = "tiny"', 'name = "pocket"'))
    shutil.rmtree(tmp_path / "other", ignore_errors=True)
    from assay.results.frame import make_registry

    file = finished.trials[0].file.model_copy(update={"tasks_folder": str(suite)})
    assert "digits" in make_registry([file]).suites["pocket"][0].tasks
    assert list(Registry([suite]).suites["pocket"][0].tasks) == ["coin"], "as --tasks, it may"


def key(finished, tmp_path: Path, name: str) -> Path:
    done = finished.assay("new", "key", tmp_path / name)
    assert done.returncode == 0 and "keep it secret" in done.stdout, done.stderr
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    return tmp_path / name


def report(finished, *words: str | Path) -> dict[str, Any]:
    return json.loads(finished.assay("verify", finished.run.path, "--json", *words).stdout)


def test_a_signed_run_is_witnessed_for_those_who_trust_the_key(finished, tmp_path):
    own, other = key(finished, tmp_path, "own"), key(finished, tmp_path, "other")
    assert finished.assay("new", "key", own).returncode == 2, "a key is never overwritten"
    signed = finished.assay("export", "--sign", finished.run.path, "--key", own)
    assert signed.stdout.strip() == run_digest(finished.run)
    public = Path(f"{own}.pub")
    for trust in (public, public.read_text().strip()):
        said_so = report(finished, "--trust", trust)
        assert said_so["grade"] == "witnessed" and "trusted key SHA256:" in said_so["established"][-1]
    unasked = report(finished)
    assert unasked["grade"] == "consistent" and any("not checked" in each["message"] for each in unasked["findings"])
    both = report(finished, "--trust", f"{other}.pub", "--trust", public)
    assert both["grade"] == "witnessed"
    stranger = finished.assay("verify", finished.run.path, "--trust", f"{other}.pub", "--quiet", "--no-regrade")
    assert stranger.returncode == 1 and "which is not a trusted one" in stranger.stdout


def change_log(finished) -> None:
    finished.forger.rewrite(
        finished.trials[1], events=lambda events: first(events, "call_finished")["result"].update(stdout="!")
    )


def change_plan(finished) -> None:
    finished.forger.rewrite(finished.trials[1], plan=lambda plan: plan.update(label="better"))


def remove_note(finished) -> None:
    change(finished.run.path / "run.json", lambda run: run.update(removed=[]))


def other_date(finished) -> None:
    change(
        finished.run.path / "signature.json", lambda signature: signature.update(signed_at="2026-11-02T00:00:00+00:00")
    )


def other_moment(finished) -> None:
    def move(signature: dict[str, Any]) -> None:
        later = datetime.fromisoformat(signature["signed_at"]) + timedelta(seconds=1)
        signature.update(signed_at=later.isoformat())

    change(finished.run.path / "signature.json", move)


def attach_to_new_digest(finished) -> None:
    change_log(finished)
    change(finished.run.path / "signature.json", lambda signature: signature.update(digest=run_digest(finished.run)))


def drop_signature(finished) -> None:
    change(finished.run.path / "signature.json", lambda signature: signature.update(ed25519=None, public_key=None))


def break_signature(finished) -> None:
    change(finished.run.path / "signature.json", lambda signature: signature.update(ed25519="!!!"))


SIGNED: dict[str, tuple[Attack, str]] = {
    "a rewritten log": (change_log, "records were changed since"),
    "another plan": (change_plan, "records were changed since"),
    "a forgotten removal": (remove_note, "records were changed since"),
    "a removed trial": (lambda finished: finished.forger.remove(finished.trials[0]), "records were changed since"),
    "a signature of another digest": (attach_to_new_digest, "it was not made with the key"),
    "another date": (other_date, "before"),
    "another moment": (other_moment, "it was not made with the key"),
    "no signature": (drop_signature, "was not signed with a key"),
    "no file": (lambda finished: (finished.run.path / "signature.json").unlink(), "there is none to check"),
    "no base64": (break_signature, "it was not made with the key"),
}


@pytest.mark.parametrize(("attack", "words"), SIGNED.values(), ids=SIGNED)
def test_what_is_changed_after_signing_is_found(finished, tmp_path, attack, words):
    finished.run.remove(finished.trials[3:])
    own = key(finished, tmp_path, "own")
    assert finished.assay("export", "--sign", finished.run.path, "--key", own).returncode == 0
    assert report(finished, "--trust", f"{own}.pub", "--no-regrade")["findings"][-1]["level"] != "error"
    attack(finished)
    done = finished.assay("verify", finished.run.path, "--trust", f"{own}.pub", "--quiet", "--no-regrade")
    assert done.returncode == 1 and words in done.stdout, done.stdout


def test_the_signature_of_another_run_is_found(finished, conversations, tmp_path):
    own = key(finished, tmp_path, "own")
    assert finished.assay("export", "--sign", conversations.run.path, "--key", own).returncode == 0
    shutil.copyfile(conversations.run.path / "signature.json", finished.run.path / "signature.json")
    done = finished.assay("verify", finished.run.path, "--trust", f"{own}.pub", "--quiet", "--no-regrade")
    assert done.returncode == 1 and "records were changed since" in done.stdout


@pytest.mark.parametrize("content", ["1234\n", "ssh-ed25519 AAAA\n", ""])
def test_what_is_no_key_is_refused(finished, tmp_path, content):
    (tmp_path / "key").write_text(content)
    for words in (
        ("export", "--sign", finished.run.path, "--key", tmp_path / "key"),
        ("verify", finished.run.path, "--trust", tmp_path / "key"),
    ):
        done = finished.assay(*words)
        assert done.returncode == 2 and "key" in done.stderr


def test_keys_are_those_of_openssh():
    # A key that `ssh-keygen -t ed25519` made, and its fingerprint as `ssh-keygen -l` shows it.
    public = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJjiAxnjXyxOCM/Ns7WKw8AF2GeKDyOaTTpLnS50B5cz"
    assert load_trusted_keys([f"{public} someone@somewhere"]) == {public}
    assert fingerprint(public) == "SHA256:0qZA+ET1Bxmnmz0Jj0ZLFi7jNKUZ76qCZKt/JAsdUdU"


def test_the_grade_is_that_of_the_weakest_score():
    everything = {"trials": 2, "submissions": 2, "removed": 0, "published": False, "witness": None}
    both = frozenset({"a", "b"})
    for rerun, grade in ((both, "reproduced"), (frozenset({"a"}), "consistent"), (frozenset(), "consistent")):
        checked = Verification(digest="", findings=(), scored=both, regraded=both, rerun=rerun, **everything)
        assert checked.grade == grade
        assert any("not run again" in text for text in checked.not_established) is (grade == "consistent")
    for level in ("error", "unverified"):
        finding = RecordFinding("a", "grade", "it does not match", level)
        doubtful = Verification(digest="", findings=(finding,), scored=both, regraded=both, rerun=both, **everything)
        assert doubtful.grade is None
    unseen = Verification(digest="", findings=(), scored=both, regraded=frozenset(), rerun=frozenset(), **everything)
    assert unseen.grade is None and "2 scores: not recomputed here." in unseen.not_established


@dataclass(frozen=True)
class Rerun:
    """A finished run of one trial whose submission the harness picked or made from code."""

    run: RunFolder
    home: Home

    @property
    def forger(self) -> Forger:
        """Who tampers with it."""
        return Forger(self.run, self.home, Registry([TINY]))

    @property
    def trial(self) -> TrialFolder:
        """Its trial."""
        return next(iter(self.run.trials()))

    def keep(self, content: bytes) -> str:
        """Store a content and return its hash."""
        digest = hashlib.sha256(content).hexdigest()
        (self.trial.snapshots / "objects" / digest).write_bytes(content)
        return digest


@pytest.fixture
def make_rerun(tiny) -> Callable[..., Rerun]:
    def make(agent: str, *words: str) -> Rerun:
        done = tiny.call(*tiny.run_words(agent), *words)
        assert done.returncode == 0, done.stderr
        return Rerun(RunFolder(tiny.out), tiny.home)

    return make


def pick_another(rerun: Rerun, **changes: Any) -> None:
    """Submit the candidate that was not picked, with everything that follows from it."""
    events = [json.loads(line) for line in rerun.trial.events.read_text().splitlines()]
    before = first(events, "picked")
    (other,) = {event["candidate"] for event in events if event["kind"] == "offered"} - {before["pick"]}
    task = Registry([TINY]).task("tiny/coin")
    content = (rerun.trial.snapshots / "objects" / other).read_bytes()
    rows = prepare_selection(rerun.home, load_prepared(rerun.home, task)).rows(content, "test")

    def edit(logged: Events) -> None:
        picked = first(logged, "picked")
        picked.update(pick=other, submission=hashlib.sha256(rows).hexdigest())
        picked.update({name: other for name, value in changes.items() if value == "other"})
        if "scores" in changes:
            for entry in picked["scores"]:
                entry["score"] = 1.0 - entry["score"]

    rerun.forger.rewrite(rerun.trial, events=edit, submission=rows)


@pytest.mark.parametrize(
    ("selection", "changes", "words"),
    [
        ("report", {"own": "other"}, "the agent's own pick is not what it left in its workspace"),
        ("hidden", {"hidden": "other"}, "hidden rows select another candidate than the recorded one"),
        ("hidden", {"hidden": "other", "scores": "swapped"}, "on hidden rows; recorded was"),
    ],
)
def test_a_candidate_that_hidden_rows_did_not_select_is_found(make_rerun, selection, changes, words):
    """A forger who has the answers picks among hundreds of candidates by their score on test rows."""
    rerun = make_rerun("PicksBadly", "--selection", selection)
    check_verified(rerun.run.path, rerun.home)
    pick_another(rerun, **changes)
    assert words in said(verify(rerun), "error"), verify(rerun).findings


CODE_BEGINNING = "import os, pathlib, time\nright = lambda coin: coin % 3 == 0\n"
WRITES = """
coins = pathlib.Path("data/test.csv").read_text().split()[1:]
rows = [f"{coin},{int(right(int(coin)) == honest)}\\n" for coin in coins]
pathlib.Path("submission.csv").write_text("coin,side\\n" + "".join(rows))
"""
CODE_FORGERIES: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "answers in the code": (
        "import pathlib\npathlib.Path('submission.csv').write_text('coin,side\\n' + "
        "''.join(f'{coin},{int(coin % 3 == 0)}\\n' for coin in range(30, 60)))\n",
        {},
        "error",
        "without the data it writes the same predictions",
    ),
    "answers beside the code": (
        CODE_BEGINNING + "honest = True\n#" + "x" * 600_000 + WRITES,
        {},
        "error",
        "not rerun: ",
    ),
    "all the time in the world": (
        CODE_BEGINNING + 'honest = float(os.environ["DEADLINE"]) > time.time() + 1000' + WRITES,
        {"time": 1e6},
        "error",
        "rerun, the code scores 0.0; recorded was 1.0",
    ),
    "a folder of this machine": (
        CODE_BEGINNING + 'honest = pathlib.Path("/opt/weights/secret").exists()' + WRITES,
        {"weights": "here"},
        "unverified",
        "it read the weights in",
    ),
}


@pytest.mark.parametrize(("code", "plan", "level", "words"), CODE_FORGERIES.values(), ids=CODE_FORGERIES)
def test_code_of_a_record_is_rerun_as_if_it_had_just_been_submitted(make_rerun, code, plan, level, words):
    rerun = make_rerun("SubmitsCode", "--submit", "code")
    assert verify(rerun).grade == "reproduced"
    secret = make_folder()
    (secret / "secret").write_text("of this machine")
    stored = Code(command=("python", "solution.py"), files={"solution.py": code}).encode()
    digest = rerun.keep(stored)

    def change_plan(content: dict[str, Any]) -> None:
        content["weights"] = str(secret) if "weights" in plan else None
        content["budget"]["time"] = plan.get("time", content["budget"]["time"])

    trial = rerun.forger.rewrite(
        rerun.trial,
        plan=change_plan,
        events=lambda events: first(events, "reran").update(code=digest),
        honest_score=False,
    )
    rerun.forger.rewrite_last_snapshot(trial, "solution.py", code.encode())
    verification = verify(rerun)
    assert words in said(verification, level), verification.findings
    assert verification.grade is None
    shutil.rmtree(secret)


def test_what_code_was_submitted_for_is_what_the_agent_left(make_rerun):
    rerun = make_rerun("SubmitsCode", "--submit", "code")
    digest = rerun.keep(b"coin,side\n")
    rerun.forger.rewrite(
        rerun.trial, events=lambda events: first(events, "reran").update(first=digest), honest_score=False
    )
    assert "the file that the code was submitted for is not what the agent left" in said(verify(rerun), "error")
