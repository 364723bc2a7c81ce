"""Verification of a run as a whole: its records, its signature, and every submission graded once more.

A run that contradicts itself nowhere has one of three grades, by what supports it beyond its own word:

- `consistent`: nothing but the records; every score follows from its submission, as was recomputed here;
- `reproduced`: every score comes from submitted code, which was run again here and scored the same;
- `witnessed`: the run was signed with a key that the reader trusts.
"""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from assay.core.errors import RecordError, UsageError
from assay.core.home import Home
from assay.core.progress import NoProgress, Progress
from assay.core.text import plural
from assay.lab.interface import SandboxName
from assay.records import RunFolder
from assay.records.signature import Witness, check_digest
from assay.records.verify import ORIGIN, UNFINISHED, RecordFinding, check_run
from assay.tasks import Registry
from assay.verification.attribution import ATTRIBUTION
from assay.verification.regrade import CODE, compare_trial

TrustGrade = Literal["consistent", "reproduced", "witnessed"]
_UNREADABLE = ("run.json", "trial.json", "folder")


@dataclass(frozen=True)
class Verification:
    """What was found, the grade that follows from it, and in sentences what was established and what was not.

    `trials`, `submissions` and `removed` are numbers. `scored` are the trials with a grade, `regraded` those whose
    grade was recomputed here, `rerun` those whose submission is code that was run for it. `published` says whether the
    digest was compared with one that the reader had.
    """

    digest: str | None
    findings: tuple[RecordFinding, ...]
    trials: int
    submissions: int
    removed: int
    scored: frozenset[str]
    regraded: frozenset[str]
    rerun: frozenset[str]
    published: bool
    witness: Witness | None

    @property
    def errors(self) -> list[RecordFinding]:
        """What does not match."""
        return [finding for finding in self.findings if finding.level == "error"]

    @property
    def unverified(self) -> list[RecordFinding]:
        """What should have been established and was not, except that a trial is not finished."""
        return [finding for finding in self.findings if finding.level == "unverified"]

    @property
    def unfinished(self) -> list[RecordFinding]:
        """The trials that have no result yet."""
        return [finding for finding in self.findings if finding.part == UNFINISHED]

    @property
    def grade(self) -> TrustGrade | None:
        """The grade of the run; None if something does not match, or could not be established."""
        if self.errors or self.unverified or self.unfinished or not self.scored or self.scored != self.regraded:
            return None
        if self.witness:
            return "witnessed"
        return "reproduced" if self.scored == self.rerun else "consistent"

    @property
    def established(self) -> list[str]:
        """What is known of the run; nothing is if something does not match."""
        if self.errors:
            return []
        compared = self.trials - self._count(ATTRIBUTION)
        origins = self.submissions - self._count(ORIGIN)
        sentences = [
            f"The records of {plural(self.trials, 'trial')} contradict themselves nowhere: ids, hashes, order, times, "
            "usage, seeds, copies.",
            "Submissions that are the file which the record shows in the workspace when the work ended: "
            f"{origins:,} of {self.submissions:,}.",
            "Trials with the label and the kinds of calls of their agent, and replies of their models only: "
            f"{compared:,} of {self.trials:,}.",
            f"Scores recomputed here from the submission: {len(self.regraded):,} of {len(self.scored):,}.",
        ]
        if self.rerun:
            sentences.append(f"Submissions of code that ran again here, with a score that agrees: {len(self.rerun):,}.")
        if self.published:
            sentences.append("The digest of the run is the one that was published.")
        if self.witness:
            sentences.append(f"The run was signed with the trusted key {self.witness.key} at {self.witness.signed_at}.")
        return sentences

    @property
    def not_established(self) -> list[str]:
        """What a reader might believe, but nothing here shows."""
        sentences = []
        if not self.witness and not self.published:
            sentences.append(
                "That the logs were written by the harness: somebody who rewrites all of a run without a "
                "contradiction, with its last snapshots, is found only by a signature or a published digest."
            )
        else:
            sentences.append(
                "What happened before the run was signed or its digest published: there, its owner's word counts."
            )
        if self.scored - self.rerun:
            sentences.append("That the agent's work leads to these submissions: its code was not run again.")
        sentences.append("That these are all the trials that were run: whole plans can be left out.")
        if count := len(self.scored - self.regraded):
            sentences.append(f"{plural(count, 'score')}: not recomputed here.")
        for part, what in ((ORIGIN, "submission"), (ATTRIBUTION, "trial"), (UNFINISHED, "trial")):
            if count := self._count(part):
                says = {ORIGIN: "its origin", ATTRIBUTION: "whose work it is", UNFINISHED: "its result"}[part]
                sentences.append(f"Of {plural(count, what)}, {says}.")
        return sentences

    def _count(self, part: str) -> int:
        return len({finding.trial for finding in self.findings if finding.part == part and finding.level != "error"})


def verify_run(
    run: RunFolder,
    digest: str | None,
    registry: Registry,
    home: Home,
    *,
    expected: str | None = None,
    trusted: Collection[str] = (),
    sandbox: SandboxName = "auto",
    regrade: bool = True,
    progress: Progress | None = None,
) -> Verification:
    """Return everything that does not match, remarks on what could not be compared here, and what follows from it.

    Args:
        run: The run, which may come from anywhere.
        digest: Its digest; None if a record is too damaged to have one.
        registry: The tasks that are known here.
        home: Where their data is.
        expected: The digest that was published.
        trusted: Public keys, one of which must have signed the run.
        sandbox: Where submitted code runs that must run to be graded.
        regrade: Whether to grade submissions once more.
        progress: What shows the progress.
    """
    findings = list(check_run(run))
    witness = None
    for said in check_digest(run, digest, expected=expected, trusted=trusted):
        if isinstance(said, Witness):
            witness = said
        else:
            findings.append(said)
    skipped = {finding.trial for finding in findings if finding.level == "error" and finding.part in _UNREADABLE}
    trials = [trial for trial in run.trials() if trial.path.name not in skipped]
    scored, regraded, rerun, submissions = set[str](), set[str](), set[str](), 0
    with (progress or NoProgress()).stage("regrading" if regrade else "comparing", total=len(trials)) as advance:
        for trial in trials:
            with suppress(RecordError):  # a file of the trial that cannot be read is among the findings already
                name = trial.path.name
                compared = list(compare_trial(trial, registry, home, sandbox=sandbox, regrade=regrade))
                findings += compared
                submissions += trial.submission is not None
                if trial.grade is not None:
                    scored.add(name)
                    if regrade and not any(finding.part in ("grade", "task") for finding in compared):
                        regraded.add(name)
                        is_code = trial.file.submit == "code" or _is_code(registry, trial.file.task)
                        again = is_code and not any(finding.part == CODE for finding in compared)
                        rerun |= {name} if trial.submission and again else set()
            advance(1)
    return Verification(
        digest=digest,
        findings=tuple(findings),
        trials=len(run.file.trials),
        submissions=submissions,
        removed=len(run.file.removed),
        scored=frozenset(scored),
        regraded=frozenset(regraded),
        rerun=frozenset(rerun),
        published=expected is not None,
        witness=witness,
    )


def _is_code(registry: Registry, task: str) -> bool:
    """Whether what is submitted is code that runs to be graded; a checkpoint is what code made, not code."""
    try:
        return registry.recorded_task(task).timed
    except UsageError:
        return False
