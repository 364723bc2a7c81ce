"""Verification of a run as a whole: its records, its digest, and every submission graded once more."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from assay.core.errors import RecordError
from assay.core.home import Home
from assay.core.progress import NoProgress, Progress
from assay.lab.interface import SandboxName
from assay.records import RunFolder
from assay.records.signature import check_digest
from assay.records.verify import RecordFinding, check_run
from assay.results.regrade import compare_trial
from assay.tasks import Registry

_UNREADABLE = ("run.json", "trial.json", "folder")


def verify_run(
    run: RunFolder,
    digest: str | None,
    registry: Registry,
    home: Home,
    *,
    expected: str | None = None,
    key: Path | None = None,
    sandbox: SandboxName = "auto",
    regrade: bool = True,
    progress: Progress | None = None,
) -> list[RecordFinding]:
    """Return everything that does not match, and remarks on what could not be compared here.

    Args:
        run: The run, which may come from anywhere.
        digest: Its digest; None if a record is too damaged to have one.
        registry: The tasks that are known here.
        home: Where their data is.
        expected: The digest that was published.
        key: The key that the run was signed with.
        sandbox: Where submitted code runs that must run to be graded.
        regrade: Whether to grade submissions once more.
        progress: What shows the progress.
    """
    findings = [*check_run(run), *check_digest(run, digest, expected=expected, key=key)]
    compared = _compare_trials(run, findings, registry, home, sandbox, regrade, progress or NoProgress())
    return [*findings, *compared]


def _compare_trials(
    run: RunFolder,
    findings: Sequence[RecordFinding],
    registry: Registry,
    home: Home,
    sandbox: SandboxName,
    regrade: bool,
    progress: Progress,
) -> Iterator[RecordFinding]:
    """Compare every readable trial with the tasks, data and code on this machine."""
    skipped = {finding.trial for finding in findings if finding.level == "error" and finding.part in _UNREADABLE}
    trials = [trial for trial in run.trials() if trial.path.name not in skipped]
    with progress.stage("regrading" if regrade else "comparing", total=len(trials)) as advance:
        for trial in trials:
            with suppress(RecordError):  # a file of the trial that cannot be read is among the findings already
                yield from compare_trial(trial, registry, home, sandbox=sandbox, regrade=regrade)
            advance(1)
