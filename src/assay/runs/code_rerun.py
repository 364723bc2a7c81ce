"""Reruns of submitted code, from scratch in fresh labs, with a seed and a time limit of their own.

A fresh lab has what every agent starts with, and the submitted files. Whatever does not come out the same there is
explained by further runs that change one thing each: the seed, the files of the first lab, or the clock.
"""

import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from anyio import to_thread

from assay.agents.offers import CodeOutcome, judge_candidate
from assay.core.errors import InvalidSubmission, RefusedCode
from assay.core.quantities import format_duration
from assay.core.text import one_line
from assay.data.selection import HiddenSplit, find_obstacle, prepare_selection
from assay.data.store import load_prepared
from assay.grading import grade_submission_async
from assay.grading.result import Grade, Rerun, RerunCause
from assay.lab.snapshots import Snapshot
from assay.records.code import Code
from assay.records.events import CandidateScore, Reran
from assay.runs.fresh_lab import FreshLabs
from assay.runs.trial_setup import find_format_problem
from assay.tasks import Task

SEED_OFFSET = 1_000_000
_DEVIATIONS = 2.0
_UNKNOWN_NOISE = 0.02
"""Share of a score that counts as noise where the noise of the test rows is not known."""
_ROUNDING = 1.1e-5
_UNSEEN_DEVIATIONS = 6.0
"""Standard errors by which scores on seen and on unseen inputs may differ; those of random rows differ by 1 to 3."""
_UNSEEN_SHARE = 0.5
"""How much worse, at least, unseen inputs must come out where they are of other groups or times, or train on less."""
_MAX_OUTPUT = 4_000
_CLOCK = ".clock"
_WITH_CLOCK = ("sh", "-c", f'PYTHONPATH="$PWD/{_CLOCK}" exec "$@"', "sh")
_CLOCK_CODE = '''\
"""Set the clock of this process back to when the code first ran."""
import datetime
import time

_offset, _time, _time_ns = {offset!r}, time.time, time.time_ns
time.time = lambda: _time() + _offset
time.time_ns = lambda: _time_ns() + int(_offset * 1e9)


class _Datetime(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(time.time(), tz)

    @classmethod
    def utcnow(cls):
        return cls.fromtimestamp(time.time(), datetime.timezone.utc).replace(tzinfo=None)

    @classmethod
    def today(cls):
        return cls.now()


class _Date(datetime.date):
    @classmethod
    def today(cls):
        return cls.fromtimestamp(time.time())


datetime.datetime, datetime.date = _Datetime, _Date
'''
Scored = tuple[float | None, float | None]
"""A score and its standard error."""
_EXPLANATIONS: dict[RerunCause, str] = {
    "seed": "with the seed of the agent's own lab it comes out the same, with another one it does not",
    "state": "with the files of the agent's own lab it comes out the same, in a fresh lab it does not",
    "time": "with the clock set back to when it first ran it comes out the same, now it does not",
}


@dataclass(frozen=True)
class CodeRun:
    """One run of submitted code: what it wrote, or why it wrote nothing."""

    content: bytes | None
    reason: str | None
    seconds: float
    output: str
    sealed: bool
    timeout: bool = False


@dataclass(frozen=True)
class CodeLabs(FreshLabs):
    """The fresh labs in which the code of one trial is rerun."""

    @property
    def seed(self) -> int:
        """The seed of reruns, which no agent is told."""
        return self.file.seed + SEED_OFFSET

    @property
    def limit(self) -> float:
        """The time limit of a rerun in seconds: that of the whole trial."""
        return self.file.budget.time

    def find_unseen(self) -> HiddenSplit | None:
        """Return the data with inputs that the agent's own lab did not have, where the task says that there are any."""
        if self.file.selection != "own" or not self.task.selection.unseen or find_obstacle(self.task):
            return None
        return prepare_selection(self.home, load_prepared(self.home, self.task, self.file.edition, self.file.variant))

    async def run(
        self,
        code: Code,
        *,
        data: Path | None,
        seed: int | None = None,
        snapshot: Snapshot | None = None,
        clock: datetime | None = None,
    ) -> CodeRun:
        """Run code once: with another seed than that of reruns, in an earlier workspace, or at another time."""
        seed = self.seed if seed is None else seed
        variables = {"SEED": str(seed), "PYTHONHASHSEED": str(seed % 2**32)}
        files = {path: text.encode() for path, text in code.files.items()}
        if clock:
            offset = clock.timestamp() - time.time()
            files[f"{_CLOCK}/sitecustomize.py"] = _CLOCK_CODE.format(offset=offset).encode()
        command = [*_WITH_CLOCK, *code.command] if clock else list(code.command)
        fresh = await self.run_command(
            command, seconds=self.limit, data=data, variables=variables, files=files, snapshot=snapshot
        )
        completed = fresh.completed
        output = f"{completed.stdout.text}\n{completed.stderr.text}".strip()[-_MAX_OUTPUT:]
        timeout = completed.ended == "time"
        run = CodeRun(fresh.submission, None, round(completed.seconds, 3), output, fresh.sealed, timeout)
        if fresh.submission is not None:
            return run
        lines = [line for line in completed.stderr.text.splitlines() if line.strip()]
        name = self.task.submission.file
        what = f"exceeded its limit of {format_duration(self.limit)}" if timeout else f"wrote no {name}"
        ended = f" (exit code {completed.code}{': ' + one_line(lines[-1], 200) if lines else ''})"
        return replace(run, reason=f"the code {what}{'' if timeout else ended}")

    async def make(self, code: Code) -> CodeOutcome:
        """Return what code makes in a fresh lab, or why it makes nothing."""
        run = await self.run(code, data=self.public)
        return run.content, run.reason

    async def check(self, run: CodeRun) -> str | None:
        """Return why what a run wrote is no valid submission, or None."""
        if run.content is None:
            return run.reason
        check = partial(find_format_problem, task=self.task, home=self.home, file=self.file)
        return await to_thread.run_sync(check, run.content)

    def rows(self, content: bytes) -> bytes:
        """Return the part of a submission that is graded: its test rows, where it has hidden ones."""
        if self.file.selection == "own":
            return content
        data = load_prepared(self.home, self.task, self.file.edition, self.file.variant)
        try:
            return prepare_selection(self.home, data).rows(content, "test")
        except InvalidSubmission:
            return content


async def rerun_code(
    labs: CodeLabs, code: Code | RefusedCode, first: bytes | None, snapshot: Snapshot | None, began: datetime
) -> tuple[bytes | None, Reran]:
    """Run submitted code from scratch; return what is graded, and the event that says how it was made.

    `first` is the file that the code was submitted for, `snapshot` the workspace in which it was last, and `began`
    the time when that lab was opened.
    """
    keep = labs.contents.keep
    event = Reran(seed=labs.seed, limit=labs.limit, first=None if first is None else keep(first))

    def fail(cause: RerunCause, reason: str) -> tuple[None, Reran]:
        return None, event.model_copy(update={"cause": cause, "reason": reason})

    if isinstance(code, RefusedCode):
        return fail(code.cause, str(code))
    run = await labs.run(code, data=labs.public)
    changes = {"code": keep(code.encode()), "seconds": run.seconds, "sealed": run.sealed, "output": run.output}
    event = event.model_copy(update=changes)
    if problem := await labs.check(run):
        return fail(*await _explain_failure(labs, code, run, problem, snapshot, began))
    assert run.content is not None
    without = await labs.run(code, data=None)
    if without.content == run.content:
        return fail("typed", "without the data it writes the same predictions: they are in the code, not computed")
    if split := labs.find_unseen():
        unseen = await labs.run(code, data=split.public)
        judged = None if unseen.content is None else await _judge_unseen(split, unseen.content)
        if unseen.content is None or judged is None or judged.score is None:
            reason = (judged.problem if judged else unseen.reason) or "there is no score"
            return fail("unseen inputs", f"on inputs that the agent never saw: {reason}")
        grades = [await _grade(labs, rows) for rows in (run.content, split.rows(unseen.content, "test"))]
        first_score, again = ((each.score, each.score_error) for each in grades)
        hidden, lower = (judged.score, judged.error), grades[0].is_lower_better
        if fault := find_unseen_fault(first_score, again, hidden, lower=lower, is_random=_is_random(labs.task)):
            return fail("unseen inputs", fault)
        event = event.model_copy(update={"unseen": keep(unseen.content)})
    content = labs.rows(run.content)
    return content, event.model_copy(update={"produced": keep(content)})


def _is_random(task: Task) -> bool:
    """Whether hidden rows are random ones like those of the test, not of other groups or times."""
    own = (task.folder / "selection.py").is_file()
    return not (own or task.selection.after or task.selection.group)


def find_unseen_fault(first: Scored, again: Scored, unseen: Scored, *, lower: bool, is_random: bool) -> str | None:
    """Return what scores on unseen inputs say of code that knows the seen ones; None if they agree.

    `first` is that of its submission, and `again` that of the test rows when it got unseen inputs as well, and less to
    train on. From the same run, random rows score alike; code with predictions written down for the seen inputs, or
    labels of the training rows that are now unseen, does not. Code that looks at what it is given can pass that, but
    not gain much by what it has written down.
    """
    unseen_score, unseen_error = unseen
    if lower and unseen_score == 0:
        unseen_error = 0.0  # a perfect score, whose noise is not known because no row differs
    if unseen_score is None or unseen_error is None:
        return None
    for (score, error), is_same_run in ((again, True), (first, False)):
        if score is None or error is None or (is_same_run and not is_random):
            continue
        noise = math.hypot(error, unseen_error)
        gain = unseen_score - score if lower else score - unseen_score
        size = abs(gain) if is_same_run else gain
        least = 0.0 if is_same_run else _UNSEEN_SHARE * max(abs(score), abs(unseen_score))
        if size > _UNSEEN_DEVIATIONS * noise + _ROUNDING and size > least:
            return (
                f"inputs that the agent saw score {score:.5g}, and others {unseen_score:.5g}, with a noise of "
                f"{noise:.2g}: predictions or labels are in the code"
            )
    return None


async def _explain_failure(
    labs: CodeLabs, code: Code, run: CodeRun, problem: str, snapshot: Snapshot | None, began: datetime
) -> tuple[RerunCause, str]:
    if run.timeout:
        return "time limit", problem

    async def is_valid(content: bytes) -> bool:
        again = CodeRun(content, None, 0.0, "", sealed=True)
        return await labs.check(again) is None

    cause = await find_cause(labs, code, snapshot, began, is_valid)
    return (cause, f"{problem}; {_EXPLANATIONS[cause]}") if cause else ("error", problem)


async def find_cause(
    labs: CodeLabs,
    code: Code,
    snapshot: Snapshot | None,
    began: datetime,
    accepts: Callable[[bytes], Awaitable[bool]],
) -> RerunCause | None:
    """Return what has to be as in the agent's own lab for the code to write what is accepted; None: none of it.

    If it is written when the code simply runs once more, it was chance, such as how far a search came in its time.
    """
    again = await labs.run(code, data=labs.public)
    if again.content is not None and await accepts(again.content):
        return None
    runs: dict[RerunCause, Callable[[], Awaitable[CodeRun]]] = {
        "seed": partial(labs.run, code, data=labs.public, seed=labs.file.seed),
        "time": partial(labs.run, code, data=labs.public, seed=labs.file.seed, clock=began),
    }
    if snapshot:
        runs["state"] = partial(labs.run, code, data=labs.public, seed=labs.file.seed, snapshot=snapshot)
    for cause, start in runs.items():
        run = await start()
        if run.content is not None and await accepts(run.content):
            return cause
    return None


async def judge_rerun(
    labs: CodeLabs, reran: Reran, grade: Grade, code: Code | None, snapshot: Snapshot | None, began: datetime
) -> Rerun:
    """Return whether a rerun gives the score of the file that the code was submitted for, and if not, why."""
    if reran.cause or reran.first is None or code is None:
        return Rerun(reproduced=False, cause=reran.cause or "no code", reason=reran.reason)
    first = await _grade(labs, labs.rows(labs.contents.get_by_digest(reran.first)))
    unseen = await _judge_stored(labs, reran.unseen)
    tolerance = find_tolerance(first, grade)
    rerun = Rerun(
        reproduced=scores_agree(first, grade, tolerance),
        first_score=first.score,
        tolerance=tolerance,
        unseen_score=unseen.score if unseen else None,
        unseen_error=unseen.error if unseen else None,
    )
    if rerun.reproduced:
        return rerun

    async def is_first(content: bytes) -> bool:
        return scores_agree(first, await _grade(labs, labs.rows(content)), tolerance)

    cause = await find_cause(labs, code, snapshot, began, is_first)
    scores = f"the score is {grade.score}, that of the file in the agent's own lab {first.score}"
    reason = (
        f"{scores}; {_EXPLANATIONS[cause]}"
        if cause
        else f"{scores}; it differs from run to run, or seed, files and clock do not explain it"
    )
    # With another seed, honest code scores differently as well; that it made the file is shown.
    return rerun.model_copy(update={"reproduced": cause == "seed", "cause": cause or "chance", "reason": reason})


def find_tolerance(first: Grade, again: Grade) -> float | None:
    """Return how far two scores may be apart by noise: two standard errors of the difference of independent scores."""
    if first.score is None or again.score is None:
        return None
    errors = [error for grade in (first, again) if (error := grade.score_error) is not None]
    if not errors:
        return _UNKNOWN_NOISE * max(abs(first.score), abs(again.score)) + _ROUNDING
    return _DEVIATIONS * math.hypot(*errors) * math.sqrt(2 / len(errors)) + _ROUNDING


def scores_agree(first: Grade, again: Grade, tolerance: float | None) -> bool:
    """Return whether two scores are equal within a tolerance; without one, whether both are missing."""
    if first.score is None or again.score is None:
        return first.score == again.score and first.not_finite == again.not_finite
    return tolerance is not None and abs(first.score - again.score) <= tolerance


async def _grade(labs: CodeLabs, content: bytes) -> Grade:
    data = load_prepared(labs.home, labs.task, labs.file.edition, labs.file.variant)
    return await grade_submission_async(content, data, home=labs.home, sandbox=labs.sandbox, isolated=True)


async def _judge_unseen(split: HiddenSplit, content: bytes) -> CandidateScore:
    return await to_thread.run_sync(partial(judge_candidate, split, content, "hidden"))


async def _judge_stored(labs: CodeLabs, digest: str | None) -> CandidateScore | None:
    split = labs.find_unseen() if digest else None
    return await _judge_unseen(split, labs.contents.get_by_digest(str(digest))) if split else None
