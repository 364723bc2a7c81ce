"""Checks that follow from a trial's log alone: whether its events can have happened in this order, with this usage."""

from collections.abc import Iterator, Sequence
from typing import assert_never

from assay.core.errors import RecordError
from assay.records.content_store import decode_inline
from assay.records.events import (
    ActionRequest,
    AnyRequest,
    CallFinished,
    CallStarted,
    CommandRequest,
    Content,
    Event,
    ExternalProcessRequest,
    Graded,
    HumanPeriodRequest,
    HumanRequest,
    Inapplicable,
    InfrastructureFailed,
    LabOpened,
    ListRequest,
    ModelRequest,
    ModelResult,
    NodeRequest,
    NoteRequest,
    PythonRequest,
    ReadRequest,
    ReadResult,
    Restarted,
    Started,
    Submitted,
    ValidationRequest,
    WriteRequest,
)
from assay.records.state import State
from assay.records.trial import TrialFile

_OVERTIME = 30.0
_OVERTIME_SHARE = 0.02
"""How far beyond its time limit a trial may end: seconds, and share of the limit. The code in its lab ends in time, but
the last snapshot of a large workspace takes a while."""
_ROUNDING = 1e-5


def check_consistency(file: TrialFile, events: Sequence[Event]) -> Iterator[str]:
    """Yield everything in a log that contradicts the trial or the rest of the log."""
    yield from _check_order(events)
    yield from _check_calls(events)
    yield from _check_sealing(file, events)
    submitted = next((event for event in events if isinstance(event, Submitted)), None)
    if submitted:
        yield from _check_usage(file, events, submitted.state)
    for content in recorded_contents(events):
        if content.inline:
            try:
                decode_inline(content)
            except RecordError as error:
                yield str(error)


def recorded_contents(events: Sequence[Event]) -> Iterator[Content]:
    """Return the contents of files that a log refers to."""
    for event in events:
        content = None
        if isinstance(event, CallStarted):
            content = _content_of_request(event.request)
        elif isinstance(event, CallFinished) and isinstance(event.result, ReadResult):
            content = event.result.content
        if content:
            yield content


def _content_of_request(request: AnyRequest) -> Content | None:
    match request:
        case WriteRequest(content=content):
            return content
        case CommandRequest(stdin=stdin):
            return stdin
        case ModelRequest() | ActionRequest() | PythonRequest() | ExternalProcessRequest() | HumanPeriodRequest():
            return None
        case ReadRequest() | ListRequest() | ValidationRequest() | NoteRequest() | NodeRequest() | HumanRequest():
            return None
    assert_never(request)


def _check_order(events: Sequence[Event]) -> Iterator[str]:
    submitted, over = False, False
    for event in events:
        if over:
            yield f"event {event.number} follows the end of the trial"
            return
        if submitted and not isinstance(event, Graded | InfrastructureFailed):
            yield f"event {event.number} follows the submission, after which a trial is only graded"
            return
        if isinstance(event, Graded) and not submitted:
            yield f"event {event.number} is a grade, but nothing was submitted before"
            return
        submitted = submitted or isinstance(event, Submitted)
        over = isinstance(event, Graded | Inapplicable)


def _check_calls(events: Sequence[Event]) -> Iterator[str]:
    open_calls: dict[int, str] = {}
    for event in events:
        if isinstance(event, CallStarted):
            open_calls[event.number] = event.request.type
        elif isinstance(event, CallFinished):
            type_ = open_calls.pop(event.call, None)
            if type_ is None:
                yield f"event {event.number} ends call {event.call}, which did not begin or has ended before"
            elif type_ != event.result.type:
                yield f"event {event.number} is the result of a {event.result.type} call, but it was a {type_} call"


def _check_sealing(file: TrialFile, events: Sequence[Event]) -> Iterator[str]:
    labs = [event for event in events if isinstance(event, LabOpened)]
    for event in events:
        if isinstance(event, LabOpened):
            sealing, answers = event.sealing, event.answers
            if sealing.sandbox != file.sandbox:
                yield f"the lab was opened with the sandbox {sealing.sandbox}, but {file.sandbox} was planned"
            if (answers == "withheld") is not sealing.sealed:
                yield f"event {event.number} says that the answers were {answers}, which contradicts the sandbox"
        elif isinstance(event, Submitted):
            state = event.state
            if labs and (state.sealing, state.answers) != (labs[-1].sealing, labs[-1].answers):
                yield "the state at submission describes another lab than the one that was opened"
        elif isinstance(event, Graded) and event.grade.sealed and not all(lab.sealing.sealed for lab in labs):
            yield "the grade is marked as sealed, but the lab was not"


def _check_usage(file: TrialFile, events: Sequence[Event], state: State) -> Iterator[str]:
    budget = file.budget
    if state.elapsed > budget.time * (1 + _OVERTIME_SHARE) + _OVERTIME:
        yield f"the trial ran for {state.elapsed:,.0f} seconds, but its budget is {budget.time:,.0f}"
    if state.steps > budget.steps:
        yield f"the trial took {state.steps:,} steps, but its budget is {budget.steps:,}"
    last_life = _after_last_start(events)
    calls = [event for event in last_life if isinstance(event, CallFinished)]
    replies = [event.result.reply for event in calls if isinstance(event.result, ModelResult) and event.result.reply]
    tokens = sum(reply.usage.total_tokens for reply in replies)
    if state.tokens < tokens:
        yield f"{state.tokens:,} tokens were counted, but the replies of the models add up to {tokens:,}"
    costs = [reply.usage.cost for reply in replies]
    known = sum(cost for cost in costs if cost is not None)
    if state.cost is not None and (None in costs or state.cost + _ROUNDING < known):
        yield f"a cost of {state.cost:g} dollars was counted, but the replies of the models add up to {known:g} or more"
    steps = max((event.step for event in last_life if isinstance(event, CallStarted)), default=0)
    if state.steps < steps:
        yield f"{state.steps:,} steps were counted, but the log has a step {steps:,}"
    elapsed = max((call.used.elapsed for call in calls), default=0.0)
    if state.elapsed < elapsed:
        yield f"{state.elapsed:g} seconds were counted, but a call ended after {elapsed:g}"


def _after_last_start(events: Sequence[Event]) -> Sequence[Event]:
    """Return the events since the agent last started; what earlier attempts used may have been repeated."""
    starts = [index for index, event in enumerate(events) if isinstance(event, Started | Restarted)]
    return events[starts[-1] :] if starts else events
