"""The log of a trial as events of Inspect's transcript: model calls, actions, commands, limits, errors, the grade."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, assert_never

from inspect_ai.dataset import Sample
from inspect_ai.event import (
    ErrorEvent,
    InfoEvent,
    ModelEvent,
    SampleInitEvent,
    SampleLimitEvent,
    ScoreEvent,
    ToolEvent,
)
from inspect_ai.event import Event as InspectEvent
from inspect_ai.log import EvalError
from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, GenerateConfig, ModelOutput, ModelUsage
from inspect_ai.scorer import Score
from inspect_ai.tool import ToolCallError

from assay.agents.outcomes import format_streams
from assay.core.text import cut_middle
from assay.models import MAIN, Message, Reply
from assay.models.convert import to_inspect_all
from assay.models.messages import Usage
from assay.records import Event
from assay.records.events import (
    ActionRequest,
    ActionResult,
    AgentCrashed,
    AnyResult,
    BudgetExhausted,
    CallFinished,
    CallStarted,
    CommandResult,
    Graded,
    Inapplicable,
    InfrastructureFailed,
    LabOpened,
    ModelRequest,
    ModelResult,
    NodeRequest,
    NoteRequest,
    Offered,
    Picked,
    Reran,
    Restarted,
    SnapshotTaken,
    Started,
    Submitted,
    describe_event,
)
from assay.records.prompts import Prompts

LimitType = Literal["time", "working", "turn", "token", "cost"]
LIMITS: Mapping[str, LimitType] = {
    "time": "time",
    "working_time": "working",
    "steps": "turn",
    "tokens": "token",
    "cost": "cost",
}
NO_MODEL = "none/none"
MAX_OUTPUT = 20_000
"""Characters of what a call returned."""


def make_transcript(
    events: Sequence[Event], prompts: Prompts, models: Mapping[str, str], sample: Sample, score: Score
) -> list[InspectEvent]:
    """Return the events of a trial in order; a model call shows the messages that are new in its prompt."""
    if not events:
        return []
    finished = {event.call: event for event in events if isinstance(event, CallFinished)}
    transcript: list[InspectEvent] = [SampleInitEvent(sample=sample, state={}, **_when(events[0], events[0].time))]
    for event in events:
        when = _when(event, events[0].time)
        match event:
            case CallStarted():
                transcript += _call(event, finished.get(event.number), prompts, models, when)
            case BudgetExhausted(limit=limit, reason=reason):
                transcript.append(SampleLimitEvent(type=LIMITS[limit], message=reason, **when))
            case AgentCrashed(message=message, traceback=traceback):
                transcript.append(ErrorEvent(error=make_error(message, traceback), **when))
            case InfrastructureFailed(message=message):
                transcript.append(ErrorEvent(error=make_error(message), **when))
            case Graded():
                transcript.append(ScoreEvent(score=score, **when))
            case CallFinished() | SnapshotTaken():
                pass  # a result is shown with its call, and snapshots are not in the log
            case Started() | LabOpened() | Restarted() | Offered() | Picked() | Reran() | Inapplicable() | Submitted():
                transcript.append(InfoEvent(source=event.kind, data=describe_event(event), **when))
            case _:
                assert_never(event)
    return transcript


def make_error(message: str, traceback: str = "") -> EvalError:
    """Return an error of Inspect."""
    fields: dict[str, Any] = {"traceback": traceback or message, "traceback_ansi": traceback or message}
    return EvalError(message=message, **fields)


def model_output(reply: Reply | None, model: str) -> ModelOutput:
    """Return a model's reply as Inspect's; without one, an empty output."""
    if reply is None:
        return ModelOutput(model=model)
    message = to_inspect_all([reply.message], model)[0]
    assert isinstance(message, ChatMessageAssistant)
    choice = ChatCompletionChoice(message=message)
    return ModelOutput(model=model, choices=[choice], usage=model_usage(reply.usage))


def model_usage(used: Usage) -> ModelUsage:
    """Return used tokens and their cost as Inspect's."""
    return ModelUsage(
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        total_tokens=used.total_tokens,
        input_tokens_cache_read=used.cached_tokens,
        input_tokens_cache_write=used.cache_write_tokens,
        reasoning_tokens=used.reasoning_tokens,
        total_cost=used.cost,
    )


def _call(
    started: CallStarted,
    finished: CallFinished | None,
    prompts: Prompts,
    models: Mapping[str, str],
    when: dict[str, Any],
) -> Iterator[InspectEvent]:
    request, result = started.request, finished.result if finished else None
    completed = finished.time if finished else None
    match request:
        case ModelRequest(role=role):
            model = models.get(role) or models.get(MAIN, NO_MODEL)
            new: Sequence[Message] = prompts.messages(started.number)[request.shared :]
            reply = result.reply if isinstance(result, ModelResult) else None
            yield ModelEvent(
                model=model,
                role=role,
                input=to_inspect_all(new, model),
                tools=[],
                tool_choice="auto",
                config=GenerateConfig(),
                output=model_output(reply, model),
                error=result.message if isinstance(result, ModelResult) and reply is None else None,
                completed=completed,
                **when,
            )
        case NodeRequest(node=node):
            yield InfoEvent(source="node", data=node.model_dump(mode="json"), **when)
        case NoteRequest(topic=topic):
            data = request.model_dump(mode="json", exclude={"type", "topic"}, exclude_none=True)
            yield InfoEvent(source=topic, data=data, **when)
        case _:
            action = isinstance(request, ActionRequest)
            arguments = request.model_dump(mode="json", exclude={"type"}, exclude_none=True)
            yield ToolEvent(
                id=f"call-{started.number}",
                function=request.name if isinstance(request, ActionRequest) else request.type,
                arguments=arguments["arguments"] if action else arguments,
                result=_output(result, finished),
                error=_problem(result),
                failed=_problem(result) is not None or None,
                completed=completed,
                **when,
            )


def _output(result: AnyResult | None, finished: CallFinished | None) -> str:
    match result:
        case CommandResult(code=code, ended=ended):
            return f"Exit code {code} ({ended}).\n\n{format_streams(result.stdout, result.stderr, MAX_OUTPUT)}"
        case ActionResult(observation=text):
            return cut_middle(text, MAX_OUTPUT)
    return cut_middle(describe_event(finished), MAX_OUTPUT) if finished else "It did not end."


def _problem(result: AnyResult | None) -> ToolCallError | None:
    match result:
        case None:
            return ToolCallError("cancelled", "the call did not end")
        case CommandResult(code=code, ended=ended) if code != 0:
            return ToolCallError("timeout" if ended == "time" else "unknown", f"exit code {code} ({ended})")
        case ActionResult(cause=cause) if cause:
            return ToolCallError("unknown", cause)
    return None


def _when(event: Event, start: datetime) -> dict[str, Any]:
    seconds = max(0.0, (event.time - start).total_seconds())
    return {"timestamp": event.time, "working_start": seconds, "uuid": f"event-{event.number}"}
