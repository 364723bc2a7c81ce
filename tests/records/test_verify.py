"""Tampering with a run's records is detected and located; an untouched run passes."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import RecordError, UsageError
from assay.lab.snapshots import load_snapshot, object_digests
from assay.records import RunFolder, TrialFolder, read_events
from assay.records.log import compress_log
from assay.records.origin import find_last_snapshot
from assay.records.signature import check_digest, run_digest, run_digest_if_intact
from assay.records.verify import RecordFinding, check_run
from assay.results.export import export_run
from assay.results.progress import read_progress
from assay.tasks import Registry
from assay.verification.regrade import compare_speeds, compare_trial
from forging import change, forge

TINY = Path(__file__).parent.parent / "tiny"


def found_in(finished) -> list[RecordFinding]:
    """What is wrong with the records themselves."""
    return [finding for finding in check_run(finished.run) if finding.level == "error"]


def found_again(finished) -> list[RecordFinding]:
    """What this machine sees differently."""
    known = Registry([TINY])
    findings = [finding for trial in finished.trials for finding in compare_trial(trial, known, finished.home)]
    return [finding for finding in findings if finding.level == "error"]


def named(findings: list[RecordFinding], trial: TrialFolder, part: str, words: str) -> bool:
    """Whether a finding says that about that part of that trial."""
    return any(f.trial == trial.path.name and part in f.part and words in f.message for f in findings)


def set_score(grade: dict[str, Any]) -> None:
    grade["score"] = 0.999


def lines_of(trial: TrialFolder) -> list[bytes]:
    return trial.events.read_bytes().splitlines(keepends=True)


def test_an_unmodified_run_passes(finished):
    assert found_in(finished) == []
    assert found_again(finished) == []
    result = finished.assay("verify", finished.run.path, "--quiet")
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"4 trials: everything matches.\nRun digest: {run_digest(finished.run)}\n" in result.stdout


def test_a_run_with_compressed_logs_is_what_it_was(finished, tmp_path):
    exported = [tmp_path / "before.zip", tmp_path / "after.zip"]
    digest = export_run(finished.run, exported[0])
    for trial in finished.trials:
        compress_log(trial.events, min_size=0)
    assert found_in(finished) == [] and found_again(finished) == []
    assert export_run(finished.run, exported[1]) == digest == run_digest(finished.run)
    assert exported[0].read_bytes() == exported[1].read_bytes()
    forked = finished.assay("resume", finished.trials[1].path, "--step", "1", "--quiet")
    assert forked.returncode == 0, forked.stderr
    assert found_in(finished) == []


def test_only_submissions_that_a_trial_does_not_keep_may_be_missing(finished, tmp_path):
    """Of three nodes and a last change, `best` keeps the second node and what was submitted, `last` only that."""
    agent = f"{Path(__file__).with_name('guessing.py')}:Searches"
    for keep, left in (("all", 4), ("best", 2), ("last", 1)):
        words = ("--agent", agent, "--seeds", "1", "--keep", keep, "--out", tmp_path / keep, "--quiet")
        assert finished.assay("run", "tiny", *words).returncode == 0
        run = RunFolder(tmp_path / keep)
        (trial,) = run.trials()
        events = read_events(trial.events)
        nodes = [
            event.request.node for event in events if event.kind == "call_started" and event.request.type == "node"
        ]
        submissions = {node.submission for node in nodes} | {trial.submission_entry.sha256}
        stored = submissions & object_digests(trial.snapshots).keys()
        assert len(submissions) == 4 and len(stored) == left and trial.submission_entry.sha256 in stored
        assert (nodes[1].submission in stored) == (keep != "last")
        assert list(check_run(run)) == []
        if keep == "last":
            forked = finished.assay("resume", trial.path, "--step", "2", "--quiet")
            assert "has a submission that was not kept" in forked.stderr
            task = Registry([TINY]).task("tiny/coin")
            with pytest.raises(UsageError, match="did not keep the submissions"):
                read_progress(trial, task, finished.home)
            script = load_snapshot(trial.snapshots, str(find_last_snapshot(events))).files["train.py"].sha256
            object_digests(trial.snapshots)[script].unlink()
            assert any("but it is missing" in finding.message for finding in check_run(run))


def test_a_fork_passes_as_long_as_it_shares_the_past_of_its_parent(finished):
    parent = finished.trials[1]
    forked = finished.assay("resume", parent.path, "--step", "1", "--quiet")
    assert forked.returncode == 0, forked.stderr
    assert found_in(finished) == [] and found_again(finished) == []
    new = finished.trials[-1]
    assert new.file.parent == parent.path.name

    def flatter(events: list[dict[str, Any]]) -> None:
        next(event for event in events if event["kind"] == "call_finished")["result"]["stdout"] = "I knew it.\n"

    forge(new.events, flatter)
    assert named(found_in(finished), new, "events.jsonl", f"its beginning is not that of {parent.path.name}")


def test_a_trial_that_has_not_begun_is_not_a_mismatch(finished):
    trial = finished.trials[0]
    for path in ("events.jsonl", "state.json", "grade.json", "lease"):
        (trial.path / path).unlink()
    shutil.rmtree(trial.path / "submission")
    shutil.rmtree(trial.path / "snapshots")
    assert found_in(finished) == []


def test_a_record_says_what_it_was_made_with_and_that_the_answers_were_withheld(finished):
    for trial in finished.trials:
        assert set(trial.file.hashes) == {"task", "data", "description", "environment", "agent", "code"}
        assert set(trial.file.versions) >= {"assay", "python", "system"}
        assert trial.state.answers == "withheld"
        assert trial.state.sealing is not None and trial.state.sealing.sealed is True


def test_a_changed_score_is_found(finished):
    trial = finished.trials[0]
    change(trial.path / "grade.json", set_score)
    assert named(found_in(finished), trial, "grade.json", "score is 0.999")
    result = finished.assay("verify", finished.run.path, "--no-regrade", "--quiet")
    assert result.returncode == 1
    assert trial.path.name in result.stdout and "the grade was changed" in result.stdout
    assert "mismatch" in result.stderr


def test_a_score_changed_in_the_log_too_breaks_the_chain(finished):
    trial = finished.trials[0]
    change(trial.path / "grade.json", set_score)
    score = json.dumps(json.loads(lines_of(trial)[-1])["grade"]["score"]).encode()
    trial.events.write_bytes(trial.events.read_bytes().replace(b'"score":' + score, b'"score":0.999'))
    assert named(found_in(finished), trial, "events.jsonl", "hash chain is broken")


def test_a_score_changed_everywhere_with_a_new_chain_is_found_by_grading_again(finished):
    trial = finished.trials[0]
    change(trial.path / "grade.json", set_score)
    forge(trial.events, lambda events: set_score(events[-1]["grade"]))
    assert found_in(finished) == []
    assert named(found_again(finished), trial, "grade", "the score is 0.66667; recorded was 0.999")


def test_a_changed_submission_is_found(finished):
    trial = finished.trials[0]
    assert trial.submission is not None
    trial.submission.write_bytes(trial.submission.read_bytes().replace(b",0", b",1"))
    assert named(found_in(finished), trial, "submission/submission.csv", "the submission was changed")


def test_a_changed_submission_manifest_is_found(finished):
    trial = finished.trials[0]
    assert trial.submission is not None
    better = trial.submission.read_bytes().replace(b",0", b",1")
    trial.submission.write_bytes(better)
    change(
        trial.path / "submission" / "manifest.json",
        lambda entry: entry.update(sha256=hashlib.sha256(better).hexdigest(), size=len(better)),
    )
    assert named(found_in(finished), trial, "submission/manifest.json", "differs from the submission in the log")


def test_a_changed_log_line_is_found_by_its_number(finished):
    trial = finished.trials[1]
    lines = lines_of(trial)
    lines[3] = lines[3].replace(b'"code":0', b'"code":1')
    assert lines != lines_of(trial)
    trial.events.write_bytes(b"".join(lines))
    assert named(found_in(finished), trial, "events.jsonl", "line 4: the hash chain is broken")


def test_a_removed_log_line_is_found(finished):
    trial = finished.trials[1]
    lines = lines_of(trial)
    trial.events.write_bytes(b"".join(lines[:4] + lines[5:]))
    assert named(found_in(finished), trial, "events.jsonl", "line 5: the hash chain is broken")


def test_log_lines_in_another_order_are_found(finished):
    trial = finished.trials[1]
    lines = lines_of(trial)
    trial.events.write_bytes(b"".join([*lines[:2], lines[3], lines[2], *lines[4:]]))
    assert named(found_in(finished), trial, "events.jsonl", "line 3: the hash chain is broken")


@pytest.mark.parametrize("removed", [1, 2, 3])
def test_a_log_that_is_cut_short_is_found(finished, removed):
    trial = finished.trials[0]
    trial.events.write_bytes(b"".join(lines_of(trial)[:-removed]))
    findings = found_in(finished)
    assert named(findings, trial, "grade.json", "lines of the log are missing")
    assert named(findings, trial, "state.json", "but the log does not")


def test_a_log_that_is_cut_in_the_middle_of_a_line_is_found(finished):
    trial = finished.trials[0]
    trial.events.write_bytes(trial.events.read_bytes()[:-20])
    assert named(found_in(finished), trial, "grade.json", "lines of the log are missing")


@pytest.mark.parametrize("file", ["events.jsonl", "grade.json", "trial.json", "submission", "snapshots"])
def test_files_swapped_between_trials_are_found(finished, file):
    first, other = finished.trials[0], finished.trials[1]
    aside = first.path.parent.parent / "aside"
    (first.path / file).rename(aside)
    (other.path / file).rename(first.path / file)
    aside.rename(other.path / file)
    findings = found_in(finished)
    words = {
        "events.jsonl": "files were swapped between trials",
        "grade.json": "submission_path is",
        "trial.json": "the folders were swapped",
        "submission": "differs from the submission in the log",
        "snapshots": "the log names this snapshot, but it is missing",
    }[file]
    assert all(any(f.trial == trial.path.name and words in f.message for f in findings) for trial in (first, other)), (
        findings
    )


def test_trials_that_change_places_are_found(finished):
    first, other = finished.trials[0].path, finished.trials[1].path
    aside = first.parent.parent / "aside"
    first.rename(aside)
    other.rename(first)
    aside.rename(other)
    assert named(found_in(finished), TrialFolder(first), "trial.json", f"it is the record of {other.name}")


@pytest.mark.parametrize(
    ("setting", "value", "words"),
    [
        ("seed", 7, "a setting was changed"),
        ("budget", {"time": 1.0, "steps": 1}, "a setting was changed"),
        ("settings", {"steps": 1}, "a setting was changed"),
        ("resources", {"cores": 64, "memory": 1, "disk": 1}, "its hash is not the one in the log"),
        ("hashes", {}, "its hash is not the one in the log"),
        ("versions", {"assay": "9"}, "its hash is not the one in the log"),
    ],
)
def test_a_changed_setting_is_found(finished, setting, value, words):
    trial = finished.trials[1]
    change(trial.path / "trial.json", lambda content: content.update({setting: value}))
    assert named(found_in(finished), trial, "trial.json", words)


def test_a_removed_trial_is_found(finished):
    trial = finished.trials[2]
    shutil.rmtree(trial.path)
    assert named(found_in(finished), trial, "run.json", "it was removed")
    result = finished.assay("verify", finished.run.path, "--quiet", "--no-regrade")
    assert result.returncode == 1 and "it was removed" in result.stdout


def test_an_added_trial_is_found(finished):
    trial = finished.trials[0]
    copy = TrialFolder(trial.path.with_name(trial.path.name + "-better"))
    shutil.copytree(trial.path, copy.path)
    assert named(found_in(finished), copy, "run.json", "it was added")
    change(finished.run.path / "run.json", lambda content: content["trials"].append(copy.path.name))
    assert named(found_in(finished), copy, "trial.json", f"it is the record of {trial.path.name}")


def test_a_changed_content_of_a_snapshot_is_found(finished):
    trial = finished.trials[1]
    changed = next(path for path in sorted((trial.snapshots / "objects").iterdir()) if path.stat().st_size)
    changed.write_bytes(changed.read_bytes()[:-1])
    assert named(found_in(finished), trial, f"snapshots/objects/{changed.name}", "it was changed")


def test_a_removed_content_of_a_snapshot_is_found(finished):
    trial = finished.trials[1]
    removed = next((trial.snapshots / "objects").iterdir())
    removed.unlink()
    assert named(found_in(finished), trial, f"snapshots/objects/{removed.name}", "but it is missing")


def test_a_missing_base_of_a_manifest_is_found(finished):
    trial = finished.trials[0]
    finished.forger.split_last_snapshot(trial, "submission.csv")
    assert found_in(finished) == []
    id = find_last_snapshot(read_events(trial.events))
    manifest = json.loads((trial.snapshots / "manifests" / f"{id}.json").read_text())
    (trial.snapshots / "manifests" / f"{manifest['base']}.json").unlink()
    assert named(found_in(finished), trial, f"{id}.json", f"{manifest['base']}.json is missing")


def test_a_changed_snapshot_is_found(finished):
    trial = finished.trials[1]
    path = next((trial.snapshots / "manifests").iterdir())
    change(path, lambda content: content["files"].popitem())
    assert named(found_in(finished), trial, f"snapshots/manifests/{path.name}", "does not have the hash")


@pytest.mark.parametrize("field", ["steps", "elapsed", "cost", "answers"])
def test_a_changed_state_is_found(finished, field):
    trial = finished.trials[0]
    value = {"steps": 99, "elapsed": 0.1, "cost": 3.0, "answers": "within reach"}[field]
    change(trial.path / "state.json", lambda content: content.update({field: value}))
    assert named(found_in(finished), trial, "state.json", f"{field} is")


def test_a_failure_that_is_blamed_on_the_machine_is_found(finished):
    trial = finished.trials[0]
    blamed = {"status": "failed", "cause": "infrastructure", "reason": "the disk was full"}
    change(trial.path / "state.json", lambda content: content.update(blamed))
    assert named(found_in(finished), trial, "state.json", 'status is "failed", by the log "done"')


def test_a_log_rewritten_as_a_whole_does_not_match_the_published_digest(finished):
    digest = run_digest(finished.run)
    trial = finished.trials[1]

    def flatter(events: list[dict[str, Any]]) -> None:
        finished = next(event for event in events if event["kind"] == "call_finished")
        finished["result"]["stdout"] = "I thought about it for a long time.\n"

    forge(trial.events, flatter)
    assert found_in(finished) == [] and found_again(finished) == []
    (finding,) = check_digest(finished.run, run_digest_if_intact(finished.run), expected=digest)
    assert "records were rewritten" in finding.message
    result = finished.assay("verify", finished.run.path, "--digest", digest, "--no-regrade", "--quiet")
    assert result.returncode == 1 and "records were rewritten" in result.stdout


def test_a_run_without_one_of_its_trials_lacks_a_seed_and_does_not_match_the_published_digest(finished):
    digest = run_digest(finished.run)
    trial = finished.trials[3]
    shutil.rmtree(trial.path)
    change(finished.run.path / "run.json", lambda content: content["trials"].remove(trial.path.name))
    assert named(found_in(finished), trial, "run.json", "seed 2 of 2 is missing")
    assert [
        finding.part for finding in check_digest(finished.run, run_digest_if_intact(finished.run), expected=digest)
    ] == ["digest"]


def test_another_task_or_other_data_on_this_machine_is_reported(finished):
    trial = finished.trials[0]
    changed = trial.file.model_copy(update={"hashes": trial.file.hashes | {"task": "0" * 64, "data": "1" * 64}})
    (trial.path / "trial.json").write_text(changed.model_dump_json())
    findings = found_again(finished)
    assert named(findings, trial, "task", "differs from the record") and named(
        findings, trial, "data", "recorded was 1111"
    )


def test_what_cannot_be_compared_here_is_unverified_and_not_a_mismatch(finished):
    (finding,) = compare_trial(finished.trials[0], Registry(), finished.home)
    assert finding.level == "unverified" and "not compared or regraded" in finding.message


def test_a_record_that_leads_out_of_its_folder_is_not_followed(finished, tmp_path):
    trial = finished.trials[0]
    assert trial.submission is not None
    secret = tmp_path / "secret"
    secret.write_text("id,side\n")
    trial.submission.unlink()
    trial.submission.symlink_to(secret)
    assert named(found_in(finished), trial, "folder", "submission/submission.csv is a link")
    change(finished.run.path / "run.json", lambda content: content["trials"].append("../../elsewhere"))
    assert any("not a valid name of a trial" in finding.message for finding in found_in(finished))
    with pytest.raises(RecordError, match="not a valid name of a trial"):
        run_digest(RunFolder(finished.run.path))


def test_findings_are_printed_without_anything_that_could_steer_a_terminal(finished):
    path = finished.run.path / "trials" / "evil\x1b]0;gotcha\x07"
    path.mkdir()
    result = finished.assay("verify", finished.run.path, "--no-regrade", "--quiet")
    assert result.returncode == 1 and "it was added" in result.stdout
    assert "\x1b" not in result.stdout and "\x07" not in result.stdout


def test_findings_are_printed_as_json(finished):
    change(finished.trials[0].path / "grade.json", set_score)
    result = finished.assay("verify", finished.run.path, "--no-regrade", "--json")
    assert result.returncode == 1
    report = json.loads(result.stdout)
    assert report["digest"] == run_digest(finished.run)
    assert {(f["trial"], f["part"], f["level"]) for f in report["findings"] if f["level"] == "error"} == {
        (finished.trials[0].path.name, "grade.json", "error")
    }


@pytest.mark.parametrize(
    ("then", "now", "verdict"),
    [
        # A factor of 1.08 is chance, below the 1.1 of a success; up to 1.25, or 3 if unclear, it is not verified.
        ({"score": 10.0}, {"score": 10.7}, "agrees"),
        ({"score": 10.0}, {"score": 10.9}, "unclear"),
        ({"score": 10.0}, {"score": 12.6}, "differs"),
        ({"score": 10.0, "tolerance": 9.0}, {"score": 12.6}, "differs"),
        # A submission that is slow at random, so that the new measurement is imprecise.
        ({"score": 10.0}, {"score": 10.0, "tolerance": 0.2}, "unclear"),
        ({"score": 10.0}, {"score": 29.0, "tolerance": 0.9}, "unclear"),
        ({"score": 10.0}, {"score": 31.0, "tolerance": 0.9}, "differs"),
        # A success that the new measurement does not confirm, and one that it rules out.
        ({"score": 1.15, "success": True}, {"score": 1.12, "success": False}, "unclear"),
        ({"score": 1.13, "success": True}, {"score": 1.05, "success": False, "may_succeed": False}, "differs"),
        ({"score": 1.05}, {"score": 1.12, "success": True}, "agrees"),
        # A machine that is busy.
        ({"score": 10.0}, {"score": 10.0, "load": 1.6}, "unclear"),
        ({"score": 10.0}, {"score": 31.0, "load": 1.6}, "differs"),
        ({"score": None}, {"score": None}, "agrees"),
        ({"score": 10.0}, {"score": None}, "differs"),
    ],
)
def test_a_measured_speed_is_verified_only_by_a_precise_measurement_on_a_quiet_machine(finished, then, now, verdict):
    grade = finished.trials[0].grade
    assert grade is not None
    common = {"deterministic": False, "tolerance": 0.03, "success": False}
    load, may_succeed = now.pop("load", 0.5), now.pop("may_succeed", True)
    earlier = grade.model_copy(update=common | then)
    said, reason = compare_speeds(earlier, grade.model_copy(update=common | now), load, may_succeed=may_succeed)
    assert said == verdict and bool(reason) is (verdict == "unclear")


@pytest.mark.parametrize(("recorded", "is_finding"), [(0.66668, False), (0.66670, True), (None, True)])
def test_a_score_agrees_to_a_unit_of_its_last_digit(finished, recorded, is_finding):
    trial = finished.trials[0]
    change(trial.path / "grade.json", lambda grade: grade.update(score=recorded))
    assert named(found_again(finished), trial, "grade", "the score is 0.66667") is is_finding


def test_a_forged_score_of_the_first_lab_is_found_by_grading_its_file_again(tiny):
    done = tiny.call(*tiny.run_words("SubmitsCode"), "--submit", "code")
    assert done.returncode == 0, done.stderr
    trial = next(iter(tiny.folder.trials()))
    forge(trial.events, lambda events: events[-1]["grade"]["rerun"].update(first_score=0.9))
    change(trial.path / "grade.json", lambda grade: grade["rerun"].update(first_score=0.9))
    done = tiny.call("verify", str(tiny.out))
    assert done.returncode == 1 and "does not follow from the record" in done.stdout
