"""One trial, from an empty workspace to a grade, in the process that calls `run_trial`."""

import asyncio
import errno
import os
import signal
import sys
import traceback
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar, TypeVarTuple

import anyio

from assay.agents import Agent, Workbench, find_agent
from assay.agents.recorder import Recorder
from assay.core.disk import hash_file
from assay.core.errors import (
    PROVIDER_ERRORS,
    AssayError,
    LabError,
    ModelError,
    ModelUnavailable,
    RecordError,
    RefusedCode,
    RequestRejected,
    UnsafePath,
)
from assay.core.home import Home
from assay.data.store import load_prepared
from assay.grading import grade_submission
from assay.grading.result import Grade, Rerun
from assay.lab import open_lab
from assay.lab.host.memory import machine_memory
from assay.lab.machine_load import read_gpu_model, read_load, read_processor
from assay.lab.snapshots import Snapshot, load_snapshot
from assay.records import Clock, EventLog, Lease, LeaseLost, OutOfBudget, State, TrialFile, TrialFolder
from assay.records.code import Code, decode_code, find_rerun
from assay.records.content_store import ContentStore
from assay.records.events import (
    AgentCrashed,
    BudgetExhausted,
    EventBase,
    Graded,
    Inapplicable,
    InfrastructureFailed,
    LabOpened,
    Restarted,
    Started,
    Submitted,
)
from assay.records.final_state import final_state, opened_state
from assay.records.lease import Claim
from assay.records.log import compress_log
from assay.records.origin import find_last_snapshot
from assay.records.retention import remove_submissions
from assay.records.state import AnswerAccess, Status, now
from assay.records.tape import Diverged, Past, past_of
from assay.records.traces import read_traces
from assay.runs.code_rerun import CodeLabs, judge_rerun, rerun_code
from assay.runs.descriptions import description_of
from assay.runs.hashes import check_agent
from assay.runs.job import PREEMPTED, JobKind, Taken
from assay.runs.trial_setup import find_format_problem, lab_setup, open_models, open_offers, write_starting_files
from assay.tasks import Task
from assay.tasks.registry import task_of

GRACE_SECONDS = 10.0
"""How long an agent may run past its time limit before it is cancelled: the workbench ends it earlier."""
SIGNAL_DELAY = 0.2
MACHINE_ERRORS = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EIO,
    errno.EROFS,
    errno.EMFILE,
    errno.ENFILE,
    errno.ESTALE,
    errno.ENOMEM,
}
PrepareMachine = Callable[[TrialFile, Task, Home], None]
AnEvent = TypeVar("AnEvent", bound=EventBase)
Ts = TypeVarTuple("Ts")


def run_trial(
    path: Path,
    home: Home,
    gpus: tuple[int, ...] = (),
    *,
    expired: Claim | None = None,
    ready: PrepareMachine | None = None,
) -> None:
    """Run a trial to its end, from wherever it was left; `Taken` if another process holds it.

    A trial whose lease has `expired` is taken over. `ready` makes sure that this machine has what the trial needs.
    """
    with _acquire(path, home, gpus, expired) as trial:
        trial.run(ready)


def grade_trial(
    path: Path,
    home: Home,
    gpus: tuple[int, ...] = (),
    *,
    expired: Claim | None = None,
    ready: PrepareMachine | None = None,
) -> None:
    """Grade a trial whose score is a measurement of time; call it when nothing else runs."""
    with _acquire(path, home, gpus, expired) as trial:
        trial.grade_only(ready)


JOB_KINDS: Mapping[JobKind, Callable[..., None]] = {"run": run_trial, "grade": grade_trial}
"""What a worker process can do with a trial."""


@dataclass(frozen=True)
class Trial:
    """A trial that this process holds.

    The log is written first and the other files follow from it: a crash in between loses nothing and repeats nothing.
    """

    folder: TrialFolder
    lease: Lease
    home: Home
    gpus: tuple[int, ...] = ()

    @cached_property
    def file(self) -> TrialFile:
        """What was planned."""
        return self.folder.file

    @cached_property
    def task(self) -> Task:
        """The task, with the rules of its edition."""
        return task_of(self.file)

    def run(self, ready: PrepareMachine | None = None) -> None:
        """Let the agent work unless it has, then grade its submission unless that must wait for a quiet machine."""
        if self.folder.state.final:
            return
        with self._recording_failures():
            if ready:
                ready(self.file, self.task, self.home)
            with self.folder.log(keep=True) as log:
                self._write_submission(log)
                if not self.folder.submission_entry:
                    _use_pidfd_child_watcher()
                    anyio.run(self._work, log)
                    self._write_submission(log)
                if self.folder.submission_entry and not self.task.timed:
                    self._grade(log)
            self._compress_log()

    def grade_only(self, ready: PrepareMachine | None = None) -> None:
        """Grade the submission if there is one."""
        if self.folder.state.final or not self.folder.submission_entry:
            return
        with self._recording_failures():
            if ready:
                ready(self.file, self.task, self.home)
            with self.folder.log(keep=True) as log:
                self._grade(log)
            self._compress_log()

    def _compress_log(self) -> None:
        """Compress the log of a trial that has ended; where that fails, it stays as it is."""
        if self.folder.state.final:
            with suppress(OSError, RecordError):
                compress_log(self.folder.events, check=self.lease.check)

    @contextmanager
    def _recording_failures(self) -> Iterator[None]:
        """Record errors that are not the agent's; the trial can be retried."""
        try:
            yield
        except LeaseLost:
            raise
        except (AssayError, OSError) as error:
            event = InfrastructureFailed(error_type=type(error).__name__, message=str(error))
            with suppress(OSError, RecordError), self.folder.log(keep=True) as log:  # it may be on the disk that failed
                if final_state(log.events) is None:  # else only files that follow from the log are missing
                    log.append(event)
            self._end("failed", cause="infrastructure", error_type=event.error_type, reason=event.message)

    async def _work(self, log: EventLog) -> None:
        """Open the lab and let the agent work until it is done, out of budget, or stopped."""
        if final_state(log.events):
            self._write_final_state(log)
            return
        check_agent(self.file)
        agent = find_agent(self.file.agent, self.file.settings)
        past = past_of(log.events)
        log.add(
            Started(
                trial=self.file.id,
                trial_file_sha256=hash_file(self.folder.path / "trial.json"),
                attempt=self.lease.epoch,
            )
        )
        if reason := agent.inapplicable(self.task):
            log.append(Inapplicable(reason=reason))
            self._write_final_state(log)
            return
        await self._work_until_stopped(agent, past, log)

    async def _work_until_stopped(self, agent: Agent, past: Past, log: EventLog) -> None:
        error: Exception | None = None
        stopping = anyio.Event()
        # Signals are received as long as the lab exists: a second one must not interrupt its removal.
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, PREEMPTED) as signals:
            async with anyio.create_task_group() as group:
                group.start_soon(self._stop_on_signal, signals, group.cancel_scope, stopping)
                try:
                    await self._work_in_lab(agent, past, log, Clock(self.file.budget))
                except Diverged as difference:
                    log.append(Restarted(reason=str(difference)))
                    clock = Clock(self.file.budget)
                    clock.set(past.calls[-1].used.model_copy(update={"steps": 0}))
                    await self._work_in_lab(agent, Past(), log, clock)
                except (AssayError, OSError) as raised:
                    error = raised
                    # Ctrl-C can reach what the lab is just starting before it reaches this process: no failure then.
                    await anyio.sleep(SIGNAL_DELAY)
                group.cancel_scope.cancel()
        if error and not stopping.is_set():
            raise error

    async def _work_in_lab(self, agent: Agent, past: Past, log: EventLog, clock: Clock) -> None:
        file, task = self.file, self.task
        labs = CodeLabs(file, task, self.home, ContentStore(self.folder.snapshots), file.sandbox, self.gpus)
        async with AsyncExitStack() as stack:
            setup = lab_setup(file, task, self.home, self.gpus, agent.requirements().tools)
            lab = await stack.enter_async_context(open_lab(self.home, setup, sandbox=file.sandbox))
            answers: AnswerAccess = "withheld" if lab.sealing.sealed else "within reach"
            opened = LabOpened(
                sealing=lab.sealing,
                answers=answers,
                gpus=self.gpus,
                load=read_load(),
                processor=read_processor(),
                gpu_model=read_gpu_model() if self.gpus else None,
                cores=min(file.resources.cores, len(os.sched_getaffinity(0))),
                memory=min(file.resources.memory, machine_memory()),
            )
            state = opened_state(log.add(opened))
            self.folder.write_state(state)
            description = description_of(file, task)
            await write_starting_files(lab, task, description, obfuscated=file.describe == "obfuscated")
            models = open_models(file, partial(self._report_trouble, state)) if file.models else None
            if models:
                await stack.enter_async_context(models)
            failure = _last_event(log, InfrastructureFailed)
            recorder = Recorder(log, lab, clock, self.folder.snapshots, past)
            offers = open_offers(file, task, self.home, log, recorder, labs.make)
            if offers:
                await offers.catch_up(log.events, task.submission.file)
            bench = Workbench(
                task.model_copy(update={"resources": file.resources}),
                lab,
                recorder,
                seed=file.seed,
                check_format=partial(find_format_problem, task=task, home=self.home, file=file),
                models=models,
                description=description,
                obfuscated=file.describe == "obfuscated",
                provider_failed=failure is not None and failure.error_type in PROVIDER_ERRORS,
                offers=offers,
                solution=agent.find_solution(task) if self._submits_code else None,
                claims=file.claim,
                run_fresh=labs.run_beside,
            )
            crash = await _let_agent_work(agent, bench, log, file.pressure)
            self.lease.check()
            with suppress(UnsafePath):  # the agent has filled its quota: then what it submits has no known origin
                await bench.snapshot(only_changed=True)
            content, reason = await bench.read_submission()
            code = await bench.read_code(bench.solution) if bench.solution else None
            load = max((load for load in (state.load, read_load()) if load is not None), default=None)
            changes: dict[str, Any] = {"status": "submitted", "validations": bench.validations, "load": load}
            if crash:
                changes |= {"error_type": crash.error_type, "reason": f"the agent crashed: {crash.message}"}
            state = state.model_copy(update={**changes, **dict(clock.used)})
            if offers:
                content, picked = await offers.pick(content, code if isinstance(code, Code) else None)
                self.lease.check()
                log.append(picked)
                if code and picked.pick and picked.pick != picked.own:
                    code = offers.code_of(picked.pick) or RefusedCode("no code makes the selected candidate", "no code")
        if code is not None:
            content, reason = await self._rerun(labs, code, content, log)
        entry = self.folder.save_submission(task.submission.file, content, reason)
        log.append(Submitted(submission=entry, state=state))

    @property
    def _submits_code(self) -> bool:
        """Whether code is submitted that has to be rerun; of tasks graded by speed, the submission is code anyway."""
        return self.file.submit == "code" and not self.task.timed

    async def _rerun(
        self, labs: CodeLabs, code: Code | RefusedCode, first: bytes | None, log: EventLog
    ) -> tuple[bytes | None, str | None]:
        """Return what submitted code makes in a fresh lab, or why nothing is graded; a rerun is not repeated."""
        digest = code.sha256 if isinstance(code, Code) else None
        reran = find_rerun(log.events)
        if reran is None or reran.code != digest:
            snapshot, began = self._find_first_lab(log)
            content, reran = await rerun_code(labs, code, first, snapshot, began)
            self.lease.check()
            log.append(reran)
            return content, reran.reason
        return (labs.contents.get_by_digest(reran.produced) if reran.produced else None), reran.reason

    def _find_first_lab(self, log: EventLog) -> tuple[Snapshot | None, datetime]:
        """Return the workspace in which the agent's work ended, and when its lab was first opened."""
        last = find_last_snapshot(log.events)
        opened = next(event.time for event in log.events if isinstance(event, LabOpened))
        return (load_snapshot(self.folder.snapshots, last) if last else None), opened

    def _report_trouble(self, state: State, trouble: str | None) -> None:
        """Show why a model does not answer while its requests are retried."""
        with suppress(OSError):  # the record does not depend on it
            self.folder.write_state(state.model_copy(update={"reason": trouble}))

    def _write_submission(self, log: EventLog) -> None:
        """Write the files that follow from a submission in the log, unless they are written already."""
        submitted = _last_event(log, Submitted)
        if submitted is None:
            return
        if not self.folder.submission_entry or self.folder.state.status in ("waiting", "running"):
            self.folder.write_state(submitted.state)
            self.folder.submit(submitted.submission)

    def _grade(self, log: EventLog) -> None:
        """Grade the submission; an invalid or missing one is the agent's failure.

        The grade is an event first and a file second, so that a crash between the two never leads to a second grade.
        """
        graded = _last_event(log, Graded)
        if graded:
            grade = graded.grade
        else:
            self.folder.check_submission()
            data = load_prepared(self.home, self.task, self.file.edition, self.file.variant)
            judged = grade_submission(
                self.folder.submission,
                data,
                home=self.home,
                sandbox=self.file.sandbox,
                isolated=True,
                traces=read_traces(self.folder, log.events) if self.task.integrity or self.file.claim else None,
            )
            sealing = self.folder.state.sealing
            sealed = sealing is not None and sealing.sealed and judged.sealed is not False
            grade = judged.model_copy(update={"sealed": sealed, "rerun": self._judge_rerun(log, judged)})
            self.lease.check()
            log.append(Graded(grade=grade))
        if self.task.integrity is None:  # else they may show that a shortcut was taken
            with suppress(OSError, RecordError):  # the trial has a result even if its snapshots are damaged
                remove_submissions(self.folder, log.events, self.file.keep, self.task.metric.direction)
        self.folder.write_grade(grade)
        self._write_final_state(log)

    def _judge_rerun(self, log: EventLog, grade: Grade) -> Rerun | None:
        """Compare the rerun of submitted code with what the agent's own lab had."""
        reran = find_rerun(log.events)
        if not self._submits_code or reran is None:
            return None
        contents = ContentStore(self.folder.snapshots)
        labs = CodeLabs(self.file, self.task, self.home, contents, self.file.sandbox, self.gpus)
        code = decode_code(contents.get_by_digest(reran.code)) if reran.code else None
        return anyio.run(judge_rerun, labs, reran, grade, code, *self._find_first_lab(log))

    def _write_final_state(self, log: EventLog) -> None:
        state = final_state(log.events)
        assert state is not None
        self.folder.write_state(state)

    async def _stop_on_signal(
        self, signals: AsyncIterator[signal.Signals], scope: anyio.CancelScope, stopping: anyio.Event
    ) -> None:
        async for number in signals:
            stopping.set()
            scope.cancel()
            with suppress(OSError):  # without it the trial counts as interrupted, which has the same effect
                if number == PREEMPTED:
                    self._end("waiting", reason="preempted; will resume on another machine")
                else:
                    self._end("stopped", cause="user")
            return

    def _end(self, status: Status, **changes: Any) -> None:
        cleared: dict[str, Any] = {"cause": None, "failure": None, "error_type": None}
        state = self.folder.state.model_dump() | cleared | {"status": status, "ended_at": now()} | changes
        self.folder.write_state(State.model_validate(state))


@contextmanager
def _acquire(path: Path, home: Home, gpus: tuple[int, ...], expired: Claim | None) -> Iterator[Trial]:
    """Acquire a trial for this process; `Taken` if another holds it, or takes it over."""
    try:
        with TrialFolder(path).acquire(expired) as lease:
            if lease is None:
                raise Taken
            yield Trial(TrialFolder(path, lease), lease, home, gpus)
    except LeaseLost:
        raise Taken from None
    except BaseExceptionGroup as group:
        if group.subgroup(LeaseLost):
            raise Taken from None
        raise


def _last_event(log: EventLog, kind: type[AnEvent]) -> AnEvent | None:
    return next((event for event in reversed(log.events) if isinstance(event, kind)), None)


async def _let_agent_work(agent: Agent, bench: Workbench, log: EventLog, rounds: int) -> AgentCrashed | None:
    """Run the agent, once more for each round of pressure.

    An error in its own code is its own failure and ends its work, but not the trial.
    """
    try:
        bench.lab.kill_after(bench.clock.seconds_left + GRACE_SECONDS)  # also if this event loop is blocked by then
        with anyio.fail_after(bench.clock.seconds_left + GRACE_SECONDS):
            await agent.work(bench)
            while bench.round < rounds:
                await bench.begin_round()
                await agent.work(bench)
    except OutOfBudget as exhausted:
        log.append(BudgetExhausted(limit=exhausted.limit, reason=str(exhausted)))
    except TimeoutError:
        if trouble := await bench.find_model_trouble():
            raise ModelUnavailable(trouble) from None
        log.append(BudgetExhausted(limit="time", reason="time is up"))
    except (Exception, SystemExit) as error:  # an agent can be any code: whatever it raises counts as its failure
        ours = isinstance(error, LabError | RecordError | ModelError | LeaseLost)
        if isinstance(error, RequestRejected) and error.model in bench.models_that_replied:
            ours = False  # the settings are accepted, so it is what the agent sent that is not
        if ours or getattr(error, "errno", None) in MACHINE_ERRORS:
            raise
        crash = AgentCrashed(error_type=type(error).__name__, message=repr(error), traceback=traceback.format_exc())
        return log.append(crash)
    return None


def _use_pidfd_child_watcher() -> None:
    """Have asyncio wait for processes as newer Pythons do; Python 3.11 starts a thread for each."""
    if sys.version_info < (3, 12):
        asyncio.set_child_watcher(_PidfdChildWatcher())


if sys.version_info < (3, 12):

    class _PidfdChildWatcher(asyncio.ThreadedChildWatcher):
        """Watches the children of whichever loop is running; asyncio's own class is tied to one loop, which ends."""

        def add_child_handler(self, pid: int, callback: Callable[[int, int, *Ts], object], *args: *Ts) -> None:
            loop, descriptor = asyncio.get_running_loop(), os.pidfd_open(pid)

            def reap() -> None:
                loop.remove_reader(descriptor)
                os.close(descriptor)
                try:
                    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                except ChildProcessError:  # reaped elsewhere: asyncio reports 255 in this case
                    code = 255
                callback(pid, code, *args)

            loop.add_reader(descriptor, reap)
