"""The trajectory of a trial, from its record: resources used, problems met on the way, and how it ended.

Everything is read from the event log, never from an agent's own output. Calls whose effect was lost in an interruption
count as well: their tokens were paid for, and their problems occurred.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from assay.core.errors import PROVIDER_ERRORS
from assay.models.messages import Usage
from assay.records import Event, State, TrialFolder, read_events
from assay.records.events import (
    FINAL_ANSWER,
    GAVE_UP,
    ActionRequest,
    ActionResult,
    AgentCrashed,
    BudgetExhausted,
    CommandResult,
    InfrastructureFailed,
    ModelRequest,
    ModelResult,
    NoteRequest,
    Started,
    Submitted,
)
from assay.records.failure import OUT_OF_MEMORY
from assay.records.tape import Call, finished_calls
from assay.tasks import Budget

FailureKind = Literal["memory", "time", "connection", "format", "too long", "crash", "machine"]
"""What can go wrong in a trial.

`memory`: code ran out of memory. `time`: code or the whole trial ran out of time. `connection`: a model could not be
called. `format`: a reply or an action could not be parsed. `too long`: a prompt or a reply exceeded a model's limit.
`crash`: a script, a session or the agent itself failed in any other way. `machine`: the lab or its machine failed.
"""
FAILURE_KINDS: tuple[FailureKind, ...] = get_args(FailureKind)

End = Literal["final answer", "content", "gave up", "budget", "crash", "fault", "unfinished"]
"""How an agent's work ended: `content` is an agent that stopped by itself, without a final answer."""

_OF_ACTIONS: Mapping[str | None, FailureKind] = {
    "memory": "memory",
    "time": "time",
    "connection": "connection",
    "format": "format",
    "arguments": "format",
    "too long": "too long",
    "crash": "crash",
    "disk": "crash",
    "output": "crash",
}
_OF_COMMANDS: Mapping[str, FailureKind] = {
    "memory": "memory",
    "time": "time",
    "signal": "crash",
    "disk": "crash",
    "output": "crash",
}


@dataclass(frozen=True)
class Trajectory:
    """How one trial went.

    `submitted` is whether there was a submission, valid or not. `troubles` has all problems, including those that the
    agent recovered from; `fatal` is the problem that ended the work, if any.
    """

    submitted: bool
    end: End
    seconds: float
    waited: float
    steps: int
    usage: Mapping[str, Usage] = field(default_factory=dict)
    troubles: frozenset[FailureKind] = frozenset()
    fatal: FailureKind | None = None

    @property
    def tokens(self) -> int:
        """The tokens of all roles together."""
        return sum(usage.total_tokens for usage in self.usage.values())

    @property
    def cost(self) -> float | None:
        """The cost of all roles together in US dollars; None if the price of any reply is unknown."""
        return sum(self.usage.values(), Usage.zero()).cost


def read_trajectory(folder: TrialFolder) -> Trajectory:
    """Return the trajectory so far of the trial in a folder."""
    return summarize_trajectory(read_events(folder.events), folder.state, folder.file.budget)


def summarize_trajectory(events: Sequence[Event], state: State, budget: Budget) -> Trajectory:
    """Return the trajectory of the trial with these events."""
    submitted = next((event for event in reversed(events) if isinstance(event, Submitted)), None)
    final = submitted.state if submitted else state
    calls = list(finished_calls(events))
    end, steps = _end_of(events, calls), _troubles_by_step(calls)
    out_of_time: FailureKind | None = "time" if end == "budget" and _no_time_left(final, budget) else None
    met: list[FailureKind | None] = [*steps, *_in_model_calls(calls), *_in_notes(calls), *_in_failures(events)]
    return Trajectory(
        submitted=bool(submitted and submitted.submission.file),
        end=end,
        seconds=final.elapsed,
        waited=final.waited,
        steps=final.steps,
        usage=_usage(calls),
        troubles=frozenset(trouble for trouble in [*met, out_of_time] if trouble),
        fatal=out_of_time or _fatal(events, calls, end, steps),
    )


Calls = Sequence[tuple[int, Call]]
"""Finished calls, each with the number of restarts before it."""


def _usage(calls: Calls) -> dict[str, Usage]:
    """Return what the replies to each role's prompts used."""
    used: dict[str, Usage] = {}
    for _, call in calls:
        request, result = call.request, call.result
        if isinstance(request, ModelRequest) and isinstance(result, ModelResult) and result.reply:
            used[request.role] = used.get(request.role, Usage.zero()) + result.reply.usage
    return used


def _troubles_by_step(calls: Calls) -> list[FailureKind | None]:
    """Return what went wrong in each step, in order.

    A step with an action counts by the action's result, not by its commands.
    """
    actions: dict[tuple[int, int], FailureKind | None] = {}
    commands: dict[tuple[int, int], FailureKind | None] = {}
    for restarts, call in calls:
        step = (restarts, call.step)
        result = call.result
        if isinstance(result, ActionResult):
            actions[step] = (_OF_ACTIONS.get(result.cause) if result.cause else None) or actions.get(step)
        elif isinstance(result, CommandResult) and call.changes:
            commands[step] = _in_command(result) or commands.get(step)
    return [trouble for _, trouble in sorted((commands | actions).items())]


def _in_command(result: CommandResult) -> FailureKind | None:
    if result.ended != "exit":
        return _OF_COMMANDS[result.ended]
    if result.code == 0:
        return None
    return "memory" if OUT_OF_MEMORY.search(result.stderr) else "crash"


def _in_model_calls(calls: Calls) -> Iterator[FailureKind]:
    for _, call in calls:
        if isinstance(call.result, ModelResult) and call.result.failure:
            yield "too long" if call.result.failure == "prompt_too_long" else "connection"


def _in_notes(calls: Calls) -> Iterator[FailureKind]:
    """Yield problems that agents noted themselves, such as a reply that could not be parsed."""
    for _, call in calls:
        if isinstance(call.request, NoteRequest) and call.request.cause in _OF_ACTIONS:
            yield _OF_ACTIONS[call.request.cause]


def _in_failures(events: Iterable[Event]) -> Iterator[FailureKind]:
    for event in events:
        if isinstance(event, AgentCrashed):
            yield "crash"
        elif isinstance(event, InfrastructureFailed):
            yield _trouble_of(event)


def _trouble_of(failure: InfrastructureFailed) -> FailureKind:
    return "connection" if failure.error_type in PROVIDER_ERRORS else "machine"


def _end_of(events: Sequence[Event], calls: Calls) -> End:
    last_start = max((event.number for event in events if isinstance(event, Started)), default=0)
    recent = {type(event) for event in events if event.number >= last_start}
    if Submitted not in recent:
        return "fault" if InfrastructureFailed in recent else "unfinished"
    if AgentCrashed in recent:
        return "crash"
    if BudgetExhausted in recent:
        return "budget"
    last = calls[-1][1].request if calls else None
    if isinstance(last, NoteRequest) and last.topic == GAVE_UP:
        return "gave up"
    for _, call in reversed(calls):
        if isinstance(call.request, ActionRequest) and isinstance(call.result, ActionResult):
            final = call.request.name == FINAL_ANSWER and call.result.cause is None
            return "final answer" if final else "content"
    return "content"


def _fatal(events: Sequence[Event], calls: Calls, end: End, steps: Sequence[FailureKind | None]) -> FailureKind | None:
    if end == "crash":
        return "crash"
    if end == "fault":
        return _trouble_of(next(event for event in reversed(events) if isinstance(event, InfrastructureFailed)))
    if end == "gave up":
        request = calls[-1][1].request
        if isinstance(request, NoteRequest) and request.cause in _OF_ACTIONS:
            return _OF_ACTIONS[request.cause]
    return steps[-1] if steps and end != "unfinished" else None


def _no_time_left(state: State, budget: Budget) -> bool:
    working = budget.working is not None and state.elapsed - state.waited >= budget.working
    return state.elapsed >= budget.time or working
