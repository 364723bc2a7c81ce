"""Attacks with untrusted records: every command reads them without a traceback, a hang, or a way out.

Each attack changes a copy of a finished run. Then every command that reads runs is called for real: it must succeed or
end with an error of one sentence.
"""

import base64
import json
import os
import signal
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from assay.cli import assay, show_error
from assay.core.errors import RecordError
from assay.core.text import strip_control
from assay.records import RunFolder
from assay.records.signature import run_digest_if_intact
from assay.records.verify import check_run
from assay.runs.job import Taken
from assay.runs.trial import run_trial
from assay.tasks import Registry
from assay.verification.regrade import compare_trial
from forging import change, forge

TINY = Path(__file__).parent.parent / "tiny"
SECRET = "the answer is 42"
PATIENCE = 240

Attack = Callable[[Path, Path], None]


def replace(path: Path, make: Callable[[Path], object]) -> None:
    """Put something else in the place of a file."""
    path.unlink()
    make(path)


def nested(levels: int = 200_000) -> str:
    return "[" * levels + "]" * levels


def set_in(name: str, **values: Any) -> Attack:
    return lambda trial, secret: change(trial / name, lambda content: content.update(values))


def log_with(edit: Callable[[list[dict[str, Any]]], object]) -> Attack:
    return lambda trial, secret: forge(trial / "events.jsonl", edit)


def first(events: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    return next(event for event in events if event["kind"] == kind)


def in_run(edit: Callable[[dict[str, Any]], object]) -> Attack:
    return lambda trial, secret: change(trial.parent.parent / "run.json", edit)


def link_trial(trial: Path, secret: Path) -> None:
    moved = trial.parent.parent / "moved"
    trial.rename(moved)
    trial.symlink_to(moved)


def link_submission_folder(trial: Path, secret: Path) -> None:
    (trial / "submission").rename(trial / "other")
    (trial / "submission").symlink_to(secret.parent)


def deep_folders(trial: Path, secret: Path) -> None:
    folder = trial
    for _ in range(300):
        folder /= "d"
    folder.mkdir(parents=True)


def sparse(path: Path, size: int = 2**40) -> None:
    with path.open("wb") as file:
        file.truncate(size)


BEYOND = float("inf")
"""Written as 1e999, which JSON allows."""
STEERING = "\x1b]0;gotcha\x07\u202e\x9b31m"


def pipe_as_suite(trial: Path, secret: Path) -> None:
    os.mkfifo(secret.parent / "suite.toml")
    change(trial / "trial.json", lambda content: content.update(tasks_folder=str(secret.parent)))


def search(trial: Path, nodes: list[Any]) -> None:
    """Pretend that the trial's agent searched, and recorded these nodes."""

    def add_nodes(events: list[dict[str, Any]]) -> None:
        start, finish = first(events, "call_started"), first(events, "call_finished")
        calls = []
        for number, node in enumerate(nodes):
            request = {"type": "node", "node": node}
            calls += [{**start, "request": request}, {**finish, "result": {"type": "node"}, "call": 2 + 2 * number}]
        for event in events[2:]:
            if "call" in event:
                event["call"] += len(calls)
        events[2:2] = calls

    forge(trial / "events.jsonl", add_nodes)


FILES = ("trial.json", "events.jsonl", "state.json", "grade.json", "submission/manifest.json", "lease")
KINDS: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "a link to /dev/zero": lambda path: path.symlink_to("/dev/zero"),
    "a terabyte of nothing": sparse,
    "deep nesting": lambda path: path.write_text(nested()),
    "bytes that are not text": lambda path: path.write_bytes(b"\xff\xfe{\x00"),
}
ATTACKS: dict[str, Attack] = {
    **{
        f"{kind} in place of {name}": lambda trial, secret, name=name, make=make: replace(trial / name, make)
        for name in FILES
        for kind, make in KINDS.items()
    },
    **{
        f"{kind} in place of run.json": lambda trial, secret, make=make: replace(trial.parent.parent / "run.json", make)
        for kind, make in KINDS.items()
    },
    "a submission outside of the record": set_in("submission/manifest.json", file="../../../../host/secret.csv"),
    "an absolute submission": lambda trial, secret: change(
        trial / "submission/manifest.json", lambda content: content.update(file=str(secret))
    ),
    "a link in place of the submission": lambda trial, secret: replace(
        trial / "submission/submission.csv", lambda path: path.symlink_to(secret)
    ),
    "a link in place of the submission's folder": link_submission_folder,
    "a link in place of the trial": link_trial,
    "an edition that leads out": set_in("trial.json", edition="/../../../../PWNED/x"),
    "a variant that leads out": set_in("trial.json", variant="../../../../PWNED"),
    "a task that leads out": set_in("trial.json", task="../../../../PWNED/x/y"),
    "a label that leads out": set_in("trial.json", label="../../../PWNED"),
    "an environment that leads out": set_in("trial.json", environment="../../../PWNED"),
    "a parent that leads out": set_in("trial.json", parent="../../../PWNED"),
    "a trial that leads out": in_run(lambda run: run.update(trials=[*run["trials"], "../../../host/x"])),
    "a trial named by an absolute path": in_run(lambda run: run.update(trials=["/etc"])),
    "a trial with a control character": in_run(lambda run: run.update(trials=["x\x1b]0;gotcha\x07"])),
    "an unknown key with a control character": in_run(lambda run: run.update({"\x1b]0;gotcha\x07": 1})),
    "a date that is none": in_run(lambda run: run.update(created_at="yesterday")),
    "a huge score": set_in("grade.json", score=1e308, improvement=-1e308),
    "a score that is no number": lambda trial, secret: (trial / "grade.json").write_text(
        (trial / "grade.json").read_text().replace('"score": ', '"score": NaN, "x": ')
    ),
    "a lease that is no number": lambda trial, secret: (trial / "lease").write_text("1e9\x1b]0;gotcha\x07"),
    "a claim with a huge number": lambda trial, secret: (trial / f"lease.{'9' * 200}").write_text("{}"),
    "an event without a time": log_with(lambda events: events[0].pop("time")),
    "an event without a number": lambda trial, secret: (trial / "events.jsonl").write_text('{"kind":"started"}\n'),
    "an event kind that is a number": log_with(lambda events: events[0].update(kind=7)),
    "a content named by a path": log_with(
        lambda events: events.insert(
            2, {**events[1], "kind": "snapshot_taken", "snapshot": "../../../../host/secret", "step": 0}
        )
    ),
    "seconds beyond every number": log_with(lambda events: first(events, "submitted")["state"].update(elapsed=1e308)),
    "deep folders": deep_folders,
    "endless time": set_in("state.json", elapsed=BEYOND, cost=BEYOND),
    "more steps than a number holds": set_in("state.json", steps=10**400, tokens=10**400, validations=10**400),
    "fewer steps than none": set_in("state.json", steps=-5, tokens=-5, elapsed=-5.0, cost=-5.0),
    "an endless budget": set_in("trial.json", budget={"time": BEYOND, "steps": 10**400}),
    "a seed that no number holds": set_in("trial.json", seed=10**400),
    "a negative seed": set_in("trial.json", seed=-(10**9)),
    "a rank that no number holds": set_in("grade.json", rank=10**400, panel_size=-1, percentile=BEYOND),
    "an endless improvement": set_in("grade.json", improvement=BEYOND, baseline=-BEYOND, tolerance=BEYOND),
    "control characters in a grade": set_in("grade.json", why=STEERING, quirks=[STEERING], competition_id=STEERING),
    "control characters in a state": set_in("state.json", reason=STEERING, error_type=STEERING),
    "control characters in a trial": set_in("trial.json", label=STEERING, agent=STEERING, models={"main": STEERING}),
    "a label of a million letters": set_in("trial.json", label="x" * 10**6),
    "a task that is a file of the host": set_in("trial.json", task="host/secret"),
    "tasks from a pipe": pipe_as_suite,
    "tasks from everywhere": set_in("trial.json", tasks_folder="/proc"),
    "tasks from a folder with a zero byte": set_in("trial.json", tasks_folder="x\0y"),
    "a run of no trials": in_run(lambda run: run.update(trials=[])),
    "a run of the year 1": in_run(lambda run: run.update(created_at="0001-01-01T00:00:00+23:59")),
    "a run of the year 9999": in_run(lambda run: run.update(created_at="9999-12-31T23:59:59-23:59")),
    "a plan of a trillion seeds": in_run(lambda run: run["plans"][0].update(seeds=10**12)),
    "a plan without a time zone": in_run(lambda run: run["plans"][0].update(registered_at="2026-11-18T14:45:59")),
    "twenty thousand plans": in_run(lambda run: run.update(plans=run["plans"] * 20_000)),
    "the same trial a thousand times": in_run(lambda run: run.update(trials=run["trials"] * 1000)),
    "events of the year 1": log_with(lambda events: [event.update(time="0001-01-01T00:00:00Z") for event in events]),
    "events of the year 9999": log_with(
        lambda events: [event.update(time="9999-12-31T23:59:59.999999-23:59") for event in events]
    ),
    "a step that no number holds": log_with(lambda events: first(events, "call_started").update(step=10**400)),
    "a call that took forever": log_with(
        lambda events: first(events, "call_finished")["used"].update(elapsed=BEYOND, tokens=10**400)
    ),
    "a snapshot that is not there": log_with(
        lambda events: first(events, "snapshot_taken").update(snapshot="0" * 64, step=-1)
    ),
    **{
        f"a search {name}": lambda trial, secret, nodes=nodes: search(trial, nodes)
        for name, nodes in {
            "of nothing": [None],
            "of text": ["x"],
            "without a beginning": [{"id": 5, "operator": "draft"}],
            "in a circle": [
                {"id": 0, "operator": "draft", "parents": [1]},
                {"id": 1, "operator": "improve", "parents": [0]},
            ],
            "with a parent that is not there": [{"id": 0, "operator": "improve", "parents": [-7, 9]}],
            "with endless metrics": [{"id": 0, "operator": "draft", "status": "good", "metric": 1e308}],
            "with a number that no index holds": [{"id": 10**18, "operator": "draft"}],
            "with control characters and markup": [
                {"id": 0, "operator": "draft", "code": f"{STEERING}<script>", "reason": f"{STEERING}</svg><script>"}
            ],
        }.items()
    },
    "a pipe in place of all trials": lambda trial, secret: (
        trial.parent.rename(trial.parent.parent / "other"),
        os.mkfifo(trial.parent),
    ),
    "an index.json that is deeply nested": lambda trial, secret: (trial.parent.parent / "index.json").write_text(
        nested()
    ),
    "a pipe in place of signature.json": lambda trial, secret: os.mkfifo(trial.parent.parent / "signature.json"),
    "a folder in place of a content": lambda trial, secret: (trial / "snapshots/objects" / ("0" * 64)).mkdir(),
    "a manifest of a snapshot that is a list": lambda trial, secret: [
        path.write_text("[]") for path in (trial / "snapshots/manifests").iterdir()
    ],
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_no_command_crashes_hangs_or_leaves_the_folder(finished, tmp_path, attack, monkeypatch):
    (tmp_path / "host").mkdir()
    for name in ("secret.csv", "submission.csv", "secret"):
        (tmp_path / "host" / name).write_text(SECRET)
        (tmp_path / "host" / name).chmod(0o600)
    target = finished.trials[0].path
    attack(target, tmp_path / "host" / "submission.csv")
    monkeypatch.setenv("ASSAY_HOME", str(finished.home.root))
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "out"
    run = str(finished.run.path)
    commands = [
        ["verify", run, "--quiet"],
        ["export", "--sign", run],
        ["status", run],
        ["status", run, "--trial", "coin"],
        ["report", run],
        ["report", run, "--html", str(out / "page.html")],
        ["export", run, "--out", str(out / "run.zip"), "--submissions"],
        ["export", run, "--reports", str(out / "reports")],
        ["compare", run],
        ["export", run, "--inspect", str(out / "logs")],
        ["study", "similarity", run],
        ["study", "violations", run],
        ["study", "scaling", run],
        ["ls", str(finished.run.path.parent)],
        ["logs", str(target)],
        ["grade", str(target)],
        ["clean", run, "--failed", "--outdated", "--yes"],
        ["study", "aggregate", str(target / "grade.json"), "--split", "tiny"],
    ]
    out.mkdir()
    before = sorted(path for path in tmp_path.iterdir())
    for command in commands:
        said = call(command)
        assert "\x1b]" not in said and "\x07" not in said and SECRET not in said, command
    assert sorted(path for path in tmp_path.iterdir()) == before
    if (out / "run.zip").exists():
        with zipfile.ZipFile(out / "run.zip") as archive:
            assert not any(".." in name or name.startswith("/") for name in archive.namelist())
            assert not any(SECRET.encode() in archive.read(name) for name in archive.namelist())
    assert all(".." not in path.parts for path in out.rglob("*"))
    assert all(path.is_relative_to(out) for path in tmp_path.rglob("*PWNED*"))


def call(words: list[str]) -> str:
    """Run a command in this process, and return what it prints; anything but a clean end raises."""

    def give_up(number: int, frame: object) -> None:
        raise AssertionError(f"assay {' '.join(words)} hangs")

    previous = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE)
    try:
        result = CliRunner().invoke(assay, ["--tasks", str(TINY), *words], standalone_mode=False)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            code = show_error(result.exception)
            assert code in (1, 2)
        return result.output + strip_control(str(result.exception or ""))  # as it is shown
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


@pytest.mark.parametrize("name", ["events.jsonl", "lease", "submission", "snapshots"])
def test_a_resumed_trial_writes_nothing_through_links(finished, tmp_path, name):
    trial = finished.trials[0].path
    (trial / "state.json").unlink()
    outside = tmp_path / "outside"
    (trial / name).rename(outside)
    (trial / name).symlink_to(outside)
    before = snapshot_of(outside)
    with pytest.raises((RecordError, Taken)):
        run_trial(trial, finished.home)
    assert snapshot_of(outside) == before


def snapshot_of(path: Path) -> dict[str, bytes]:
    if path.is_file():
        return {"": path.read_bytes()}
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def both(edit: Callable[[dict[str, Any]], object]) -> Attack:
    """Change a grade everywhere: in its file, and in the log with a new chain."""

    def attack(trial: Path, secret: Path) -> None:
        change(trial / "grade.json", edit)
        forge(trial / "events.jsonl", lambda events: edit(first(events, "graded")["grade"]))

    return attack


def usage(**values: Any) -> Attack:
    """Change what a trial used everywhere: in its state, and in the log with a new chain."""

    def attack(trial: Path, secret: Path) -> None:
        change(trial / "state.json", lambda state: state.update(values))
        forge(trial / "events.jsonl", lambda events: first(events, "submitted")["state"].update(values))

    return attack


def copy_as_other_seed(trial: Path, secret: Path) -> None:
    other = sorted(path for path in trial.parent.iterdir() if path != trial and "starter" in path.name)[0]
    own = json.loads((other / "events.jsonl").read_text().splitlines()[0])

    def take(events: list[dict[str, Any]]) -> None:
        events[0].update(trial=own["trial"], trial_file_sha256=own["trial_file_sha256"])

    for name in ("events.jsonl", "state.json", "grade.json"):
        (other / name).write_bytes((trial / name).read_bytes())
    forge(other / "events.jsonl", take)


def duplicate_score(trial: Path, secret: Path) -> None:
    text = (trial / "grade.json").read_text()
    (trial / "grade.json").write_text(text.replace('"score"', '"score": 0.999, "score"', 1))


def duplicate_score_in_log(trial: Path, secret: Path) -> None:
    from assay.records.log import START, _link

    lines = (trial / "events.jsonl").read_text().splitlines()
    bodies = [line[: line.rindex(',"chain"')] + "}" for line in lines]
    bodies[-1] = bodies[-1].replace('"score":', '"score":0.999,"score":', 1)
    chain, out = START, []
    for body in bodies:
        chain = _link(chain, body.encode())
        out.append(f'{body[:-1]},"chain":"{chain}"}}\n')
    (trial / "events.jsonl").write_text("".join(out))


def append(text: str) -> Attack:
    def attack(trial: Path, secret: Path) -> None:
        with (trial / "events.jsonl").open("a") as file:
            file.write(text)

    return attack


def unsealed_lab(events: list[dict[str, Any]]) -> None:
    first(events, "lab_opened")["sealing"]["sealed"] = False
    first(events, "lab_opened")["answers"] = "within reach"


def short_content(events: list[dict[str, Any]]) -> None:
    request = {
        "type": "write",
        "path": "x",
        "content": {"sha256": "0" * 64, "size": 3, "base64": base64.b64encode(b"abc").decode()},
    }
    event = {**first(events, "call_started"), "request": request}
    done = {**first(events, "call_finished"), "result": {"type": "write"}, "call": 2}
    events[2:2] = [event, done]
    for later in events[4:]:
        if "call" in later:
            later["call"] += 2


FORGERIES: dict[str, tuple[Attack, str]] = {
    "a score with its own tolerance": (
        both(lambda grade: grade.update(score=0.99999, deterministic=False, tolerance=5)),
        "the score is 0.66667; recorded was 0.99999",
    ),
    "an improvement": (both(lambda grade: grade.update(improvement=10.0, baseline=0.01)), "regraded, improvement is"),
    "a threshold": (both(lambda grade: grade.update(gold_threshold=0.1)), "regraded, gold_threshold is"),
    "the quirks": (both(lambda grade: grade.update(quirks=["x"])), "regraded, quirks is"),
    "the direction": (both(lambda grade: grade.update(is_lower_better=True)), "regraded, is_lower_better is"),
    "the determinism": (both(lambda grade: grade.update(deterministic=False)), "regraded, deterministic is"),
    "a tolerance": (both(lambda grade: grade.update(tolerance=5.0)), "regraded, tolerance is"),
    "a panel": (both(lambda grade: grade.update(panel_size=17, rank=1)), "regraded, rank is"),
    "an indication": (both(lambda grade: grade.update(indicative=True)), "regraded, indicative is"),
    "a spread": (both(lambda grade: grade.update(beyond_spread=True)), "regraded, beyond_spread is"),
    "a duplicate key": (duplicate_score, "the key 'score' occurs more than once"),
    "a duplicate key in the log": (duplicate_score_in_log, "the key 'score' occurs more than once"),
    "garbage at the end of the log": (append("garbage"), "it ends in the middle of a line"),
    "an event after the end": (log_with(lambda events: events.append(events[1])), "follows the end of the trial"),
    "a removed grade": (log_with(lambda events: events.pop()), "the log has none"),
    "a call without a beginning": (
        log_with(lambda events: events.remove(first(events, "call_started"))),
        "which did not begin",
    ),
    "a lab that was not sealed": (log_with(unsealed_lab), "marked as sealed, but the lab was not"),
    "an overrun": (usage(elapsed=1e6), "but its budget is"),
    "too many steps": (usage(steps=10**6), "but its budget is"),
    "fewer steps": (usage(steps=0), "but the log has a step"),
    "less time": (usage(elapsed=0.0), "but a call ended after"),
    "another end": (set_in("state.json", ended_at="2020-01-01T00:00:00+00:00"), "ended_at is"),
    "another epoch": (set_in("state.json", epoch=9), "epoch is 9"),
    "more validations": (set_in("state.json", validations=9), "validations is 9"),
    "another reason": (set_in("state.json", reason="bad luck"), "reason is"),
    "a content with another digest": (log_with(short_content), "does not have its digest"),
    "a copy as another seed": (copy_as_other_seed, "it is a copy"),
}


@pytest.mark.parametrize(("attack", "words"), FORGERIES.values(), ids=FORGERIES)
def test_a_forgery_with_a_new_chain_is_found(finished, tmp_path, attack, words):
    attack(finished.trials[0].path, tmp_path)
    findings = [finding for finding in check_run(finished.run) if finding.level == "error"]
    for trial in finished.trials:
        try:
            findings += compare_trial(trial, Registry([TINY]), finished.home)
        except RecordError as error:
            assert str(error)
    assert any(words in finding.message for finding in findings if finding.level == "error"), findings


def test_a_run_is_complete_only_with_all_its_results_and_submissions(finished):
    hidden = finished.trials[0].path
    for name in ("events.jsonl", "state.json", "grade.json", "lease"):
        (hidden / name).unlink()
    for path in [*(hidden / "submission").iterdir()]:
        path.unlink()
    (hidden / "submission").rmdir()
    said = finished.assay("verify", finished.run.path, "--quiet").stdout
    assert "everything matches" not in said and "1 NOT FINISHED" in said
    # A run that poses as an export without submissions: its scores cannot be verified.
    for trial in finished.trials[1:]:
        (trial.path / "submission" / "submission.csv").unlink()
    index = {"format": "export/1", "digest": run_digest_if_intact(finished.run), "files": {}}
    (finished.run.path / "index.json").write_text(json.dumps(index))
    said = finished.assay("verify", finished.run.path, "--quiet").stdout
    assert "everything matches" not in said and "3 with a score that was NOT VERIFIED" in said


def test_a_run_from_which_trials_were_removed_does_not_verify_as_complete(finished):
    finished.run.remove(finished.trials[:1])
    said = finished.assay("verify", finished.run.path, "--quiet").stdout
    assert "everything matches" not in said and "3 trials: the records match, but" in said and "1 REMOVED" in said


def test_a_run_folder_is_read_through_a_link_to_it(finished, tmp_path):
    (tmp_path / "link").symlink_to(finished.run.path)
    assert len(list(RunFolder(tmp_path / "link").trials())) == 4
