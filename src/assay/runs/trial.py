"""One trial, from an empty workspace to a grade, in the process that calls `conduct`."""

import asyncio
import errno
import signal
import sys
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from assay.agents import Agent, Workbench, find_agent
from assay.core.disk import hash_file
from assay.core.errors import AssayError, LabError, ModelError, RecordError
from assay.core.home import Home
from assay.data.store import load_prepared
from assay.grading import grade_submission
from assay.grading.result import Grade
from assay.lab import open_lab
from assay.records import Clock, EventLog, Lease, LeaseLost, OutOfBudget, State, TrialFile, TrialFolder, read_events
from assay.records.lease import Claim
from assay.records.tape import Diverged, Past, Tape, past_of
from assay.records.trial import Answers, SubmissionEntry, now
from assay.runs.descriptions import description_of
from assay.runs.trial_setup import fault_of, furnish, models_of, setup_of
from assay.tasks import Registry, Task

SLACK = 10.0
MOMENT = 0.2
MACHINE_FAULTS = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EIO,
    errno.EROFS,
    errno.EMFILE,
    errno.ENFILE,
    errno.ESTALE,
    errno.ENOMEM,
}


PREEMPTED = signal.SIGUSR1
"""What tells a trial that its machine is taken away, and that it will go on elsewhere."""

Ready = Callable[[TrialFile, Task, Home], None]


class Taken(Exception):
    """Another process has the trial, or may have it."""


def conduct(
    path: Path, home: Home, gpus: tuple[int, ...] = (), *, expired: Claim | None = None, ready: Ready | None = None
) -> None:
    """Bring a trial to its end, from wherever it was left; `Taken` if another process is at it.

    It is taken over from a holder that was watched and found `expired`. `ready` sees to it that this machine has what
    the trial needs.
    """
    with _held(path, expired) as (folder, lease):
        if folder.state.final:
            return
        try:
            file = folder.file
            task = task_of(file)
            if ready:
                ready(file, task, home)
            _settle(folder)
            if not folder.submission_entry:
                _watch_children_by_handles()
                anyio.run(_work, folder, file, task, lease, home, gpus)
                _settle(folder)
            if folder.submission_entry and not task.timed:
                _grade(folder, file, task, lease, home)
        except (AssayError, OSError) as error:
            _end(folder, "failed", cause="infrastructure", why=f"{type(error).__name__}: {error}")


def grade_timed(
    path: Path, home: Home, gpus: tuple[int, ...] = (), *, expired: Claim | None = None, ready: Ready | None = None
) -> None:
    """Grade a trial whose score is a measurement of time; call it when nothing else runs."""
    with _held(path, expired) as (folder, lease):
        if folder.state.final or not folder.submission_entry:
            return
        try:
            file = folder.file
            task = task_of(file)
            if ready:
                ready(file, task, home)
            _grade(folder, file, task, lease, home)
        except (AssayError, OSError) as error:
            _end(folder, "failed", cause="infrastructure", why=f"{type(error).__name__}: {error}")


@contextmanager
def _held(path: Path, expired: Claim | None) -> Iterator[tuple[TrialFolder, Lease]]:
    """The trial's folder for the one process that may write to it; `Taken` if that is another, or becomes another."""
    try:
        with TrialFolder(path).lease(expired) as lease:
            if lease is None:
                raise Taken
            yield TrialFolder(path, lease), lease
    except LeaseLost:
        raise Taken from None
    except BaseExceptionGroup as group:
        if group.subgroup(LeaseLost):
            raise Taken from None
        raise


def task_of(file: TrialFile) -> Task:
    """The task a trial is about, as its edition judges it."""
    found = Registry([Path(file.tasks_folder)] if file.tasks_folder else ()).task(file.task)
    return found.in_edition(file.edition)


def _watch_children_by_handles() -> None:
    """Have asyncio wait for processes as newer Pythons do; this one starts a thread for each."""
    if sys.version_info < (3, 12):
        asyncio.set_child_watcher(asyncio.PidfdChildWatcher())


async def _work(
    folder: TrialFolder, file: TrialFile, task: Task, lease: Lease, home: Home, gpus: tuple[int, ...]
) -> None:
    """Open the lab and let the agent work until it is content, out of budget, or told to stop."""
    agent = find_agent(file.agent, file.settings)
    with folder.log() as log:
        log.add("started", trial=file.id, attempt=lease.epoch, file=hash_file(folder.path / "trial.json"))
        if why := agent.inapplicable(task):
            log.append("ended", status="inapplicable", why=why)
            _end(folder, "inapplicable", why=why, epoch=lease.epoch)
            return
        past = past_of(read_events(folder.events)[:-1])
        fault: Exception | None = None
        asked = anyio.Event()
        # Signals are received for as long as the lab is there: a second one must not interrupt its clearing away.
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, PREEMPTED) as signals:
            async with anyio.create_task_group() as group:
                group.start_soon(_watch_for_stop, signals, group.cancel_scope, folder, asked)
                try:
                    await _in_lab(folder, file, task, agent, past, lease, log, home, gpus=gpus)
                except Diverged as difference:
                    log.append("anew", why=str(difference))
                    spent = Clock(file.budget)
                    spent.set({**past.deeds[-1].used, "steps": 0})
                    await _in_lab(folder, file, task, agent, Past(), lease, log, home, spent, gpus=gpus)
                except (AssayError, OSError) as error:
                    fault = error
                    # A Ctrl-C can hit what the lab was just starting before it reaches us: then it is no fault.
                    await anyio.sleep(MOMENT)
                group.cancel_scope.cancel()
        if fault and not asked.is_set():
            with suppress(OSError):  # what broke may be the log's own disk
                log.append("broke", why=f"{type(fault).__name__}: {fault}")
            raise fault


async def _in_lab(
    folder: TrialFolder,
    file: TrialFile,
    task: Task,
    agent: Agent,
    past: Past,
    lease: Lease,
    log: EventLog,
    home: Home,
    clock: Clock | None = None,
    *,
    gpus: tuple[int, ...] = (),
) -> None:
    async with open_lab(home, setup_of(file, task, agent, home, gpus), sandbox=file.sandbox) as lab:
        answers: Answers = "withheld" if lab.sealing.sealed else "within reach"
        state = State(
            status="running", epoch=lease.epoch, started_at=now(), sealing=asdict(lab.sealing), answers=answers
        )
        folder.write_state(state)
        log.add("lab", sealing=asdict(lab.sealing), answers=answers, gpus=list(gpus))
        description = description_of(file, task)
        await furnish(lab, task, description)
        clock = clock or Clock(file.budget)
        tape, form = Tape(log, past.deeds), partial(fault_of, task=task, home=home, file=file)
        async with AsyncExitStack() as stack:
            models = await stack.enter_async_context(models_of(file)) if file.models else None
            bench = Workbench(
                task.model_copy(update={"resources": file.resources}),
                lab,
                clock,
                tape,
                file.seed,
                folder.snapshots,
                form=form,
                models=models,
                kept=past.snapshot,
                description=description,
            )
            why = await _let_work(agent, bench, log)
        lease.check()
        entry = folder.keep_submission(task.submission.file, *await bench.submission())
        ended = {"status": "submitted", "why": why, "validations": bench.validations, **clock.used}
        state = state.model_copy(update=ended)
        log.append("submitted", entry=entry.model_dump(mode="json"), state=state.model_dump(mode="json"))


def _settle(folder: TrialFolder) -> None:
    """Write down what the log says of a submission, unless it is written already.

    The log is written first, and the rest follows from it: a crash in between loses nothing and repeats nothing.
    """
    told = _last(folder, "submitted")
    if told and (not folder.submission_entry or folder.state.status in ("waiting", "running")):
        folder.write_state(State.model_validate(told["state"]))
        folder.hand_in(SubmissionEntry.model_validate(told["entry"]))


def _last(folder: TrialFolder, kind: str) -> dict[str, Any] | None:
    """What the last event of a kind says."""
    events = read_events(folder.events) if folder.events.exists() else []
    return next((event.about for event in reversed(events) if event.kind == kind), None)


async def _let_work(agent: Agent, bench: Workbench, log: EventLog) -> str | None:
    """Run the agent; what goes wrong in its own code is its own fault and ends its work, not the trial's record."""
    try:
        bench.lab.kill_after(bench.clock.seconds_left + SLACK)  # also if this event loop is blocked by then
        with anyio.fail_after(bench.clock.seconds_left + SLACK):
            await agent.work(bench)
    except OutOfBudget as spent:
        log.append("budget", why=str(spent))
    except TimeoutError:
        log.append("budget", why="time is up")
    except Exception as error:  # an agent is anybody's code: whatever it raises counts as its failure
        others = isinstance(error, LabError | RecordError | ModelError | LeaseLost)
        if others or getattr(error, "errno", None) in MACHINE_FAULTS:
            raise
        log.append("crashed", why=repr(error), trace=traceback.format_exc())
        return f"the agent crashed: {error!r}"
    return None


async def _watch_for_stop(
    signals: AsyncIterator[signal.Signals], scope: anyio.CancelScope, folder: TrialFolder, asked: anyio.Event
) -> None:
    async for number in signals:
        asked.set()
        scope.cancel()
        with suppress(OSError):  # without it the trial only counts as interrupted, which comes to the same
            if number == PREEMPTED:
                _end(folder, "waiting", why="its machine was taken away; it goes on elsewhere")
            else:
                _end(folder, "stopped", cause="user")
        return


def _grade(folder: TrialFolder, file: TrialFile, task: Task, lease: Lease, home: Home) -> None:
    """Judge what was handed in; an invalid or missing submission is the agent's failure.

    The grade is an event first and a file second, so that a crash between the two never leads to a second grade.
    """
    told = _last(folder, "graded")
    if told:
        grade = Grade.model_validate(told["grade"])
    else:
        data = load_prepared(home, task, file.edition, file.variant)
        judged = grade_submission(folder.submission, task, data, home=home, sandbox=file.sandbox)
        worked_sealed = bool(folder.state.sealing and folder.state.sealing["sealed"])
        grade = judged.model_copy(update={"sealed": worked_sealed and judged.sealed is not False})
        lease.check()
        with folder.log() as log:
            log.append("graded", grade=grade.model_dump(mode="json"))
    folder.write_grade(grade)
    if grade.valid_submission:
        _end(folder, "done")
    else:
        reasons = [(folder.submission_entry and folder.submission_entry.why) or grade.why, folder.state.why]
        _end(folder, "failed", cause="agent", why="; ".join(reason.rstrip(".") for reason in reasons if reason))


def _end(folder: TrialFolder, status: str, **about: Any) -> None:
    state = folder.state.model_dump() | {"status": status, "cause": None, "ended_at": now(), **about}
    folder.write_state(State.model_validate(state))
