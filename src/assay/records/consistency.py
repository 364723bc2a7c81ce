"""Checks that follow from a trial's log alone: whether its events can have happened in this order, with this usage."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import assert_never

from pydantic import ValidationError

from assay.core.errors import RecordError
from assay.models.prices import Prices
from assay.models.settings import MAIN
from assay.records.content_store import decode_inline
from assay.records.events import (
    ActionRequest,
    ActionResult,
    AnyRequest,
    AnyResult,
    CallFinished,
    CallStarted,
    CommandRequest,
    CommandResult,
    Content,
    Event,
    ExternalProcessRequest,
    ExternalProcessResult,
    Graded,
    HumanPeriodRequest,
    HumanPeriodResult,
    HumanRequest,
    HumanResult,
    Inapplicable,
    InfrastructureFailed,
    LabOpened,
    ListRequest,
    ListResult,
    ModelRequest,
    ModelResult,
    NodeRequest,
    NodeResult,
    NoteRequest,
    NoteResult,
    OfferRequest,
    OfferResult,
    PythonRequest,
    PythonResult,
    ReadRequest,
    ReadResult,
    Restarted,
    Started,
    Submitted,
    ValidationRequest,
    ValidationResult,
    WriteRequest,
    WriteResult,
)
from assay.records.final_state import opened_state
from assay.records.state import State
from assay.records.trial import TrialFile

_OVERTIME = 30.0
_OVERTIME_SHARE = 0.02
"""How far beyond its time limit a trial may end: seconds, and share of the limit. The code in its lab ends in time, but
the last snapshot of a large workspace takes a while."""
_ROUNDING = 1e-5
_FIRST_RECORD = datetime(2026, 11, 1, tzinfo=UTC)
"""No record is older than the format of records."""
_CLOCK_DIFFERENCE = timedelta(hours=1)
"""How far the clocks of two machines may differ."""
_CLOCK_SLACK, _CLOCK_DRIFT = 1.0, 1.01
"""How far two clocks of one machine may differ: seconds, and a factor."""
_FROM_LAB = ("sealing", "answers", "started_at", "epoch")


def check_consistency(file: TrialFile, events: Sequence[Event], *, created_at: datetime) -> Iterator[str]:
    """Yield everything in a log that contradicts the trial, the date of the run, or the rest of the log."""
    yield from _check_order(events)
    yield from _check_dates(events, created_at.astimezone(UTC))
    yield from _check_calls(events)
    yield from _check_durations(events)
    yield from _check_models(file, events)
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
        elif isinstance(event, CallFinished) and isinstance(event.result, CommandResult):
            content = event.result.submission
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
        case OfferRequest():
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


def _check_dates(events: Sequence[Event], created_at: datetime) -> Iterator[str]:
    """Find times that cannot be; a log never writes an event with an earlier time than the one before."""
    latest = datetime.now(UTC) + _CLOCK_DIFFERENCE
    for earlier, later in pairwise(events):
        if later.time < earlier.time:
            yield f"event {later.number} is earlier than event {earlier.number}"
            break
    for event in events[:1]:
        if event.time < _FIRST_RECORD:
            yield f"it begins at {event.time:%Y-%m-%d}, before there was this software"
        elif event.time < created_at - _CLOCK_DIFFERENCE:
            yield f"it begins at {event.time:%Y-%m-%d %H:%M}, before the run was created"
    for event in events[-1:]:
        if event.time > latest:
            yield f"it ends at {event.time:%Y-%m-%d}, which is in the future"


def _check_durations(events: Sequence[Event]) -> Iterator[str]:
    """Find calls that took longer than the time between their events, and a clock that runs faster than time."""
    started: dict[int, tuple[CallStarted, float]] = {}
    before: CallFinished | None = None
    starts = 0
    for event in events:
        if isinstance(event, Started | Restarted):
            starts += 1
        elif isinstance(event, CallStarted):
            started[event.number] = event, before.used.elapsed if before else 0.0
        elif isinstance(event, CallFinished) and event.call in started:
            seconds = find_duration(event.result)
            start, counted = started[event.call]
            between = (event.time - start.time).total_seconds()
            if seconds is not None and not -_CLOCK_SLACK < seconds < between * _CLOCK_DRIFT + _CLOCK_SLACK:
                yield f"event {event.number} says that a call took {seconds:g} seconds, but there are only {between:g}"
            if starts < 2 and before:  # later, the calls that are replayed set the clock
                used = event.used.elapsed - before.used.elapsed
                between = (event.time - before.time).total_seconds()
                if not -_ROUNDING <= used < between * _CLOCK_DRIFT + _CLOCK_SLACK:
                    yield (
                        f"{used:g} seconds were counted between events {before.number} and {event.number}, "
                        f"which are {between:g} seconds apart"
                    )
            used = event.used.elapsed - counted
            if starts < 2 and seconds is not None and seconds > used * _CLOCK_DRIFT + _CLOCK_SLACK:
                yield f"event {event.number} ends a call of {seconds:g} seconds, but only {used:g} were counted"
            before = event


def find_duration(result: AnyResult) -> float | None:
    """Return how many seconds a call took, if its result says so."""
    match result:
        case CommandResult(seconds=seconds) | PythonResult(seconds=seconds) | ExternalProcessResult(seconds=seconds):
            return seconds
        case ModelResult(reply=reply):
            return reply.seconds if reply else None
        case ActionResult() | HumanResult() | HumanPeriodResult():  # the start of an action is recorded again on replay
            return None
        case ReadResult() | WriteResult() | ListResult() | ValidationResult() | NoteResult() | NodeResult():
            return None
        case OfferResult():
            return None
    assert_never(result)


def _check_models(file: TrialFile, events: Sequence[Event]) -> Iterator[str]:
    """Find replies of other models than those of the trial."""
    roles = {
        event.number: event.request.role
        for event in events
        if isinstance(event, CallStarted) and isinstance(event.request, ModelRequest)
    }
    if roles and not file.models:
        yield "it has calls to models, but the trial has none"
        return
    for event in events:
        if isinstance(event, CallFinished) and isinstance(event.result, ModelResult) and event.result.reply:
            planned = file.models.get(roles.get(event.call, MAIN), file.models.get(MAIN))
            if event.result.reply.model != planned:
                yield f"event {event.number} is a reply of {event.result.reply.model}, but {planned} was planned"
                return


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
            if not labs:
                yield "there is a submission, but no lab was opened"
            elif any(getattr(state, name) != getattr(opened_state(labs[-1]), name) for name in _FROM_LAB):
                yield "the state at submission describes another lab than the one that was opened"
        elif isinstance(event, Graded) and event.grade.sealed and not all(lab.sealing.sealed for lab in labs):
            yield "the grade is marked as sealed, but the lab was not"


def _check_usage(file: TrialFile, events: Sequence[Event], state: State) -> Iterator[str]:
    budget = file.budget
    if state.elapsed > budget.time * (1 + _OVERTIME_SHARE) + _OVERTIME:
        yield f"the trial ran for {state.elapsed:,.0f} seconds, but its budget is {budget.time:,.0f}"
    if state.steps > budget.steps:
        yield f"the trial took {state.steps:,} steps, but its budget is {budget.steps:,}"
    last_life, prices = _after_last_start(events), Prices()
    try:
        prices = Prices.model_validate({"models": file.prices})
    except ValidationError:
        yield "its prices are none"
    calls = [event for event in last_life if isinstance(event, CallFinished)]
    replies = [event.result.reply for event in calls if isinstance(event.result, ModelResult) and event.result.reply]
    tokens = sum(reply.usage.total_tokens for reply in replies)
    if state.tokens < tokens:
        yield f"{state.tokens:,} tokens were counted, but the replies of the models add up to {tokens:,}"
    for reply in replies:
        usage, price = reply.usage, prices.own_price(reply.model)
        if min(usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.cache_write_tokens) < 0:
            yield f"a reply of {reply.model} has less than no tokens"
        due = price.cost(usage) if price else usage.cost
        if due is not None and (usage.cost is None or due < 0 or abs(due - usage.cost) > _ROUNDING):
            yield f"a reply of {reply.model} costs {usage.cost} dollars, but {due:g} by the prices of the trial"
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
