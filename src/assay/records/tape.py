"""Records an agent's calls, and replays them to an agent that is started again.

An agent is ordinary code that knows nothing of interruptions. Everything it does to the world is a call: it is
requested, carried out, and its result recorded. When a trial is resumed, the agent starts from the beginning, and the
tape answers with the recorded results until there are none left; then calls are carried out again. So a reply that was
paid for is never requested twice, and no agent needs code for resuming.

A call that changes the workspace counts as finished once a snapshot was taken after it: a call that a crash
interrupted is repeated, on the workspace as it was at the last snapshot.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar, assert_never

from anyio import Event as Signal
from anyio import fail_after

from assay.core.errors import RecordError
from assay.records.budget import BudgetUsed
from assay.records.events import (
    AgentCrashed,
    AnyRequest,
    AnyResult,
    BudgetExhausted,
    CallFinished,
    CallStarted,
    Event,
    Graded,
    Inapplicable,
    InfrastructureFailed,
    LabOpened,
    Offered,
    Picked,
    Reran,
    Restarted,
    SnapshotTaken,
    Started,
    Submitted,
)
from assay.records.log import EventLog
from assay.records.prompts import Prompts

AResult = TypeVar("AResult", bound=AnyResult)
STALL_SECONDS = 60.0
"""How long a replayed call waits for those that finished before it."""


@dataclass(frozen=True)
class Call:
    """A finished call: what was requested, its result, and what the trial had used by then.

    `number` is that of its `call_started` event.
    """

    number: int
    request: AnyRequest
    result: AnyResult
    used: BudgetUsed
    step: int
    changes: bool
    lane: str = ""

    def expect(self, result_type: type[AResult]) -> AResult:
        """Return the result; `RecordError` if it is of another type."""
        if not isinstance(self.result, result_type):
            raise RecordError(f"event {self.number} requests {self.request.type}, but its result is {self.result.type}")
        return self.result


@dataclass(frozen=True)
class Past:
    """What earlier attempts of a trial leave to a later one: calls to replay, prompts, and the last snapshot."""

    calls: tuple[Call, ...] = ()
    snapshot: str | None = None
    prompts: Prompts = field(default_factory=Prompts)


class Diverged(RecordError):
    """An agent that was started again made another call than last time."""


class Tape:
    """Records calls, after replaying those of the past.

    Calls that an agent makes concurrently go in lanes: within a lane calls follow each other, between lanes they need
    not. They are replayed in the order in which they finished, so that an agent that acts upon whichever call ends
    first does so again. An action is a call that consists of other calls; it is always in the main lane.
    """

    def __init__(self, log: EventLog, past: Sequence[Call] = ()) -> None:
        self._log = log
        self._all = tuple(past)
        self._order = deque(past)
        self._past: dict[str, deque[Call]] = {}
        for call in past:
            self._past.setdefault(call.lane, deque()).append(call)
        self._moved = Signal()
        self._actions: list[_OpenAction] = []

    @property
    def replaying(self) -> bool:
        """Whether recorded results are left."""
        return any(self._past.values())

    def replays(self, lane: str = "") -> bool:
        """Whether the next call in a lane is a recorded one."""
        return bool(self._past.get(lane))

    def skip_replay(self) -> Sequence[Call]:
        """Replay nothing: return the recorded calls, for an agent that starts over from the workspace it left."""
        self._past.clear()
        self._order.clear()
        return self._all

    async def call(
        self,
        request: AnyRequest,
        perform: Callable[[], Awaitable[AnyResult]],
        *,
        step: int,
        used: Callable[[], BudgetUsed],
        changes: bool = False,
        lane: str = "",
    ) -> Call:
        """Carry out a call and record it, or return what was recorded last time."""
        if self.replays(lane):
            await self._wait_for_turn(request, lane)
            return self._replay(request, lane)
        self._log.check_size()
        number = self._start(request, step=step, changes=changes, lane=lane)
        return self._finish(number, request, await perform(), step=step, used=used(), changes=changes, lane=lane)

    @contextmanager
    def action(self, request: AnyRequest, *, step: int) -> Iterator["_OpenAction"]:
        """Record an action around the calls it consists of; call `finish` with its result at the end of the block.

        While recorded calls are left it is not known yet whether the action was finished last time, so its start is
        recorded again only with its first new call.
        """
        action = _OpenAction(self, request, step)
        self._actions.append(action)
        try:
            if not self.replays():
                self._start_actions()
            yield action
        finally:
            self._actions.remove(action)

    def snapshot_taken(self, snapshot: str, step: int) -> None:
        """Record that the workspace was saved after everything that was done so far."""
        self._log.append(SnapshotTaken(snapshot=snapshot, step=step))

    def finish_action(self, action: "_OpenAction", result: AnyResult, used: BudgetUsed) -> Call:
        """Record the result of an action, or return what was recorded last time."""
        if self.replays():
            return self._replay(action.request, "")
        self._start_actions()
        assert action.number is not None
        return self._finish(action.number, action.request, result, step=action.step, used=used, changes=False, lane="")

    async def _wait_for_turn(self, request: AnyRequest, lane: str) -> None:
        """Wait until all recorded calls that finished before the next one in this lane were replayed."""
        _check_same(request, self._past[lane][0])
        try:
            with fail_after(STALL_SECONDS):
                while self._order[0] is not self._past[lane][0]:
                    await self._moved.wait()
        except TimeoutError:
            raise Diverged(f"replay diverged: {_describe(self._order[0].request)} was not requested again") from None

    def _replay(self, request: AnyRequest, lane: str) -> Call:
        before = self._past[lane].popleft()
        _check_same(request, before)
        self._order.remove(before)
        self._moved.set()
        self._moved = Signal()
        return before

    def _start(self, request: AnyRequest, *, step: int, changes: bool, lane: str) -> int:
        self._start_actions()
        action = self._actions[-1].number if self._actions else None
        event = CallStarted(step=step, request=request, changes=changes, lane=lane, action=action)
        return self._log.add(event).number

    def _start_actions(self) -> None:
        """Record the start of open actions, the outermost first."""
        outer: int | None = None
        for action in self._actions:
            if action.number is None:
                event = CallStarted(step=action.step, request=action.request, action=outer)
                action.number = self._log.add(event).number
            outer = action.number

    def _finish(
        self,
        number: int,
        request: AnyRequest,
        result: AnyResult,
        *,
        step: int,
        used: BudgetUsed,
        changes: bool,
        lane: str,
    ) -> Call:
        result = result.normalize()
        # A call that changes the workspace counts only with the snapshot after it, which puts both on disk.
        write = self._log.add if changes else self._log.append
        write(CallFinished(call=number, result=result, used=used))
        return Call(number, request, result, used, step, changes, lane)


class _OpenAction:
    """An action whose calls are being made; `number` is None until its start is recorded."""

    def __init__(self, tape: Tape, request: AnyRequest, step: int) -> None:
        self.request, self.step = request, step
        self.number: int | None = None
        self._tape = tape

    def finish(self, result: AnyResult, used: BudgetUsed) -> Call:
        """Record its result, or return what was recorded last time."""
        return self._tape.finish_action(self, result, used)


def past_of(events: Sequence[Event], *, up_to_step: int | None = None) -> Past:
    """Return the calls that need not be repeated, in the order they finished.

    Calls after the last snapshot count as long as they change nothing, such as a model's reply, and follow no change:
    in the main lane of any lane, in the others of their own. With `up_to_step`, only calls up to the snapshot of that
    step count.
    """
    saved: list[Call] = []
    recent: list[Call] = []
    started: dict[int, CallStarted] = {}
    snapshot: str | None = None
    for event in events:
        match event:
            case Started():
                recent, started = _before_first_change(recent), {}
            case Restarted():
                saved, recent, started, snapshot = [], [], {}, None
            case CallStarted():
                started[event.number] = event
            case CallFinished():
                if event.call in started:
                    recent.append(join_call(started.pop(event.call), event))
            case SnapshotTaken():
                if up_to_step is not None and event.step > up_to_step:
                    break
                saved += recent
                recent, snapshot = [], event.snapshot
            case Offered() | Picked() | Reran():
                pass
            case LabOpened() | Inapplicable() | AgentCrashed() | InfrastructureFailed() | BudgetExhausted():
                pass
            case Submitted() | Graded():
                pass
            case _:
                assert_never(event)
    if up_to_step is None:
        saved += _before_first_change(recent)
    return Past(tuple(saved), snapshot, Prompts(events))


def finished_calls(events: Sequence[Event]) -> Iterator[tuple[int, Call]]:
    """Yield all calls that finished, also those that were repeated later, with how often the agent restarted before."""
    started: dict[int, CallStarted] = {}
    restarts = 0
    for event in events:
        if isinstance(event, Restarted):
            started = {}
            restarts += 1
        elif isinstance(event, CallStarted):
            started[event.number] = event
        elif isinstance(event, CallFinished) and event.call in started:
            yield restarts, join_call(started.pop(event.call), event)


def join_call(start: CallStarted, end: CallFinished) -> Call:
    """Return the call that two events describe."""
    return Call(start.number, start.request, end.result, end.used, start.step, start.changes, start.lane)


def _before_first_change(calls: list[Call]) -> list[Call]:
    kept, changed = list[Call](), set[str]()
    for call in calls:
        if call.changes:
            changed.add(call.lane)
        if not (changed if call.lane == "" else call.lane in changed):
            kept.append(call)
    return kept


def _check_same(request: AnyRequest, call: Call) -> None:
    if not request.same_as(call.request):
        raise Diverged(
            f"replay diverged: the agent requested {_describe(request)}, the record has {_describe(call.request)}"
        )


def _describe(request: AnyRequest) -> str:
    fields = ", ".join(f"{name}={getattr(request, name)!r:.80}" for name in request.identity)
    return f"{request.type}({fields})"
