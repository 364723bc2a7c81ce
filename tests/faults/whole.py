"""What became of a run: whether it is whole, whatever was done to it."""

from assay.lab.snapshots import load_snapshot
from assay.records import TrialFolder, read_events
from tiny_run import TinyRun


def finished(run: TinyRun) -> dict[str, bytes]:
    """The log of every trial that is over."""
    if not (run.folder.path / "run.json").exists():
        return {}
    return {trial.path.name: trial.events.read_bytes() for trial in run.folder.trials() if trial.state.final}


def workspace(trial: TrialFolder) -> dict[str, str]:
    """What a trial's workspace held when it was last kept."""
    last = [event for event in read_events(trial.events) if event.kind == "snapshot_taken"][-1]
    kept = load_snapshot(trial.snapshots, last.snapshot)
    return {name: (trial.snapshots / "objects" / file.sha256).read_text() for name, file in kept.files.items()}


def check_whole(run: TinyRun, trials: int) -> None:
    """Every trial exists, is done, submitted once and graded once, and its records are consistent."""
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


def go_on(run: TinyRun, *words: str) -> None:
    """Complete a run: with `resume`, or with the call that began it where it had not come to a run."""
    there = (run.folder.path / "run.json").exists()
    done = run.call(*(["resume", str(run.out), "--quiet"] if there else words))
    assert done.returncode == 0, done.stderr
