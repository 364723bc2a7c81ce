"""Checks that a run is complete, whatever happened to it."""

from collections.abc import Sequence

from assay.lab.snapshots import load_snapshot, read_object
from assay.records import TrialFolder, read_events
from tiny_run import TinyRun


def finished(run: TinyRun) -> dict[str, bytes]:
    """Return the log of every finished trial."""
    if not (run.folder.path / "run.json").exists():
        return {}
    return {trial.path.name: trial.events.read_bytes() for trial in run.folder.trials() if trial.state.final}


def workspace(trial: TrialFolder) -> dict[str, str]:
    """Return the content of a trial's workspace in its last snapshot."""
    last = [event for event in read_events(trial.events) if event.kind == "snapshot_taken"][-1]
    kept = load_snapshot(trial.snapshots, last.snapshot)
    return {name: read_object(trial.snapshots, file.sha256).decode() for name, file in kept.files.items()}


def check_complete(run: TinyRun, trials: int) -> None:
    """Check that every trial is done, submitted once and graded once, and that the records verify."""
    folders = list(run.folder.trials())
    assert len(folders) == trials
    for folder in folders:
        assert folder.state.status == "done", folder.state
        kinds = run.events()[folder.path.name]
        assert (kinds.count("submitted"), kinds.count("graded")) == (1, 1)
        counted = workspace(folder).get("counted.txt", "").split()
        assert counted == [str(number) for number in range(len(counted))]
        if "Counts" in folder.file.agent:
            assert len(counted) == folder.file.settings["steps"]
    verified = run.call("verify", str(run.out), "--quiet")
    assert verified.returncode == 0, verified.stdout


def complete(run: TinyRun, *words: str, options: Sequence[str] = ()) -> None:
    """Complete a run with `resume`, or with the original command if there is no run yet."""
    exists = (run.folder.path / "run.json").exists()
    done = run.call(*(["resume", str(run.out), "--quiet"] if exists else words), *options)
    assert done.returncode == 0, done.stderr
