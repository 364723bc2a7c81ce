"""Runs a small trial on a disk that gets full at a byte, a flush or a new file, and completes it when there is space.

    python tests/faults/every_byte.py PART PARTS

runs every PARTS-th position, and prints what happened as JSON.
"""

import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent.parent))

from full_disk import Disk

from assay.core.errors import AssayError
from assay.core.home import Home
from assay.records import RunFolder, TrialFolder, read_events
from assay.runs.plan import Plan
from assay.runs.trial import run_trial
from assay.tasks import Registry
from isolation import borrow_machine, make_folder, remove_home
from tiny_run import TESTS, check_verified, prepare_tiny

AGENT = f"{Path(__file__).with_name('busy.py')}:Writes"
ATTEMPTS = 3
LOCK = ".adding"
VERIFIED_EVERY = 200
"""Verifying a record takes longer than making it."""


@dataclass
class Outcomes:
    """How many positions were tried, of which kind, in how many the trial failed at first, and what went wrong."""

    bytes: int = 0
    flushes: int = 0
    files: int = 0
    failed: int = 0
    lost: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    left_behind: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether nothing was lost, done twice or left behind."""
        return not (self.lost or self.twice or self.left_behind)


def fill_everywhere(root: Path, part: int = 0, parts: int = 1) -> Outcomes:
    """Fill the disk at every `parts`-th position, starting with `part`; `root` is an empty folder for it."""
    disk = Disk(root)
    path = root.with_name(f"{root.name}.json")
    code = disk.run(lambda: path.write_text(json.dumps(asdict(_fill_everywhere(disk, root, part, parts)))))
    try:
        assert code == 0, "the trials ended early"
        return Outcomes(**json.loads(path.read_text()))
    finally:
        path.unlink(missing_ok=True)


def _fill_everywhere(disk: Disk, root: Path, part: int, parts: int) -> Outcomes:
    home = borrow_machine(root / "home")
    prepare_tiny(home)
    outcomes = Outcomes()
    for _ in range(2):  # only the second time, what all trials share is there
        disk.refill()
        _try(root / "whole", home, outcomes)
        sizes = {"space": disk.written, "syncs": disk.synced, "files": disk.created}
        shutil.rmtree(root / "whole")
    assert not outcomes.failed
    limits = ((what, count) for what, size in sizes.items() for count in range(size))
    for number, (what, count) in enumerate(limits):
        if number % parts == part:
            run = root / f"{what}-{count}"
            disk.refill(**{what: count})
            failed = _try(run, home, outcomes)
            name = {"space": "bytes", "syncs": "flushes", "files": "files"}[what]
            setattr(outcomes, name, getattr(outcomes, name) + 1)
            disk.refill()
            before = _lines(run)
            for _ in range(ATTEMPTS):
                if failed:
                    failed = _try(run, home, outcomes)
            _check(run, before, home, outcomes, verify=number // parts % VERIFIED_EVERY == 0)
            shutil.rmtree(run)
    return outcomes


def _try(out: Path, home: Home, outcomes: Outcomes) -> bool:
    """Run the trial as a run does, or resume it; return whether it failed."""
    task = Registry([TESTS / "tiny"]).task("tiny/coin")
    plan = Plan((task,), ((AGENT, {}),), tasks_folder=TESTS / "tiny", sandbox="none")
    run = RunFolder(out)
    try:
        run.add(plan.trials(home))
        (trial,) = run.trials()
        run_trial(trial.path, home)
        done = trial.state.final
    except (AssayError, OSError):
        done = False
    outcomes.failed += not done
    return not done


def _lines(out: Path) -> bytes:
    """Return the complete lines of the trial's log."""
    content = b"".join(log.read_bytes() for log in out.glob("trials/*/events.jsonl"))
    return content[: content.rfind(b"\n") + 1]


def _check(out: Path, before: bytes, home: Home, outcomes: Outcomes, *, verify: bool) -> None:
    trials = list(RunFolder(out).trials())
    if len(trials) != 1 or trials[0].state.status != "done":
        outcomes.lost.append(f"{out.name}: {[(trial.state.status, trial.state.reason) for trial in trials]}")
        return
    (trial,) = trials
    kinds = [event.kind for event in read_events(trial.events)]
    if not _lines(out).startswith(before) or trial.grade is None or not _is_whole(trial):
        outcomes.lost.append(f"{out.name}: {kinds}")
    outcomes.twice += [
        f"{out.name}: {kind} {kinds.count(kind)} times"
        for kind in ("submitted", "graded", "call_ended")
        if kinds.count(kind) > 1
    ]
    outcomes.left_behind += [str(path) for path in [*_temporary_files(out), *home.labs.iterdir()]]
    if verify:
        try:
            check_verified(out, home)
        except AssertionError as error:
            outcomes.lost.append(f"{out.name}: {error}")


def _is_whole(trial: TrialFolder) -> bool:
    try:
        trial.check_submission()
    except AssayError:
        return False
    return True


def _temporary_files(out: Path) -> Iterator[Path]:
    for folder, _, files in os.walk(out):
        yield from (Path(folder, name) for name in files if name.startswith(".") and name != LOCK)


def main(part: int, parts: int) -> None:
    """Run a part of all positions."""
    root = make_folder()
    try:
        (root / "disk").mkdir()
        sys.stdout.write(json.dumps(asdict(fill_everywhere(root / "disk", part, parts))))
    finally:
        remove_home(root / "disk/home")
        shutil.rmtree(root)


def add(parts: Iterable[dict[str, Any]]) -> Outcomes:
    """Return the sum of outcomes of several parts."""
    total = Outcomes()
    for part in parts:
        for name, value in part.items():
            setattr(total, name, getattr(total, name) + value)
    return total


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
