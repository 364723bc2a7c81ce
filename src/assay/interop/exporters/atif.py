"""Trials as ATIF v1.8, the trajectory format of Harbor: `DIR/TRIAL/trajectory.json`.

A step of the agent is a reply of its main model with its tool calls and what they returned. A command or file that no
tool call asked for is a call of its own: in the step of the reply before it, or without a model in a step of its own.
Other roles of the model are subagents.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from assay import __version__
from assay.agents.briefing import task_prompt
from assay.agents.outcomes import format_streams
from assay.core.disk import atomic_write
from assay.core.errors import UsageError
from assay.interop.exporters import Exporter
from assay.interop.importers import Results
from assay.models import MAIN
from assay.models.messages import Message, Reply, Tool, Usage
from assay.records import Event, TrialFolder, read_events
from assay.records.events import (
    ActionRequest,
    ActionResult,
    AgentCrashed,
    AnyRequest,
    AnyResult,
    BudgetExhausted,
    CallFinished,
    CallStarted,
    CommandResult,
    ExternalProcessResult,
    InfrastructureFailed,
    ModelRequest,
    ModelResult,
    NodeRequest,
    NoteRequest,
    PythonResult,
    describe_event,
)
from assay.records.prompts import Prompts
from assay.results.frame import TrialRow
from assay.runs.descriptions import description_of
from assay.tasks.registry import task_of

SCHEMA = "ATIF-v1.8"
_MAX_OUTPUT = 100_000
"""Characters of what a command printed."""


def write_trajectories(results: Results, folder: Path) -> list[Path]:
    """Write the trajectory of each trial that has begun."""
    if not results.runs:
        raise UsageError("trajectories are written from the records of a run; results of others have none")
    written = []
    for row in results.frame:
        if row.record is None or not row.ran:
            continue
        path = folder / row.trial / "trajectory.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        content = make_trajectory(row, row.record.folder)
        atomic_write(path, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n", mode=None)
        written.append(path)
    return written


def make_trajectory(row: TrialRow, folder: TrialFolder) -> dict[str, Any]:
    """Return a trial as ATIF."""
    file, events = folder.file, read_events(folder.events)
    writer = _Writer(events, file.models)
    for event in events:
        writer.add(event)
    if not any(step.source == "user" for step in writer.main.steps):  # no model was asked
        task = task_of(file).model_copy(update={"resources": file.resources})
        opening = task_prompt(task, description_of(file, task), file.budget)
        writer.main.steps.insert(0, _Step("user", opening, events[0].time if events else None))
    model = file.models.get(MAIN)
    agent = _describe_agent(row.agent, model, writer.tools.get(MAIN, ()))
    subagents = [
        {
            "schema_version": SCHEMA,
            "session_id": row.trial,
            "trajectory_id": _subagent(role),
            "agent": _describe_agent(role, file.models.get(role) or model, writer.tools.get(role, ())),
            "steps": [step.to_dict(number) for number, step in enumerate(track.steps, 1)],
        }
        for role, track in writer.subagents.items()
    ]
    grade = {"score": row.score, "valid": row.valid, "success": row.success, "medal": row.medal}
    extra = {
        "task": row.task, "seed": row.seed, "edition": row.edition, "variant": row.variant, "status": row.status,
        "reason": row.reason, "seconds": row.elapsed, "sealed": not row.unsealed, "grade": grade,
    }  # fmt: skip
    return {
        "schema_version": SCHEMA,
        "session_id": row.trial,
        "trajectory_id": row.trial,
        "agent": agent,
        "steps": [step.to_dict(number) for number, step in enumerate(writer.main.steps, 1)],
        "final_metrics": _final_metrics(writer.used, len(writer.main.steps)),
        **({"subagent_trajectories": subagents} if subagents else {}),
        "extra": {"assay": extra},
    }


@dataclass
class _Step:
    """A step that is being written."""

    source: str
    message: str
    time: datetime | None
    reply: Reply | None = None
    calls: list[dict[str, Any]] = field(default_factory=list)
    results: list[dict[str, Any]] = field(default_factory=list)
    deterministic: bool = False

    @property
    def unanswered(self) -> list[dict[str, Any]]:
        """Its tool calls that have no result yet."""
        answered = {result.get("source_call_id") for result in self.results}
        return [call for call in self.calls if call["tool_call_id"] not in answered]

    def to_dict(self, number: int) -> dict[str, Any]:
        content: dict[str, Any] = {"step_id": number, "source": self.source, "message": self.message}
        if self.time:
            content["timestamp"] = self.time.isoformat()
        if self.reply:
            content |= {"model_name": self.reply.served or self.reply.model, "llm_call_count": 1}
            if self.reply.message.reasoning:
                content["reasoning_content"] = self.reply.message.reasoning
            content["metrics"] = _metrics(self.reply.usage)
        if self.deterministic:
            content["llm_call_count"] = 0
        if self.calls:
            content["tool_calls"] = self.calls
        if self.results:
            content["observation"] = {"results": self.results}
        return content


@dataclass
class _Track:
    """The steps of the main agent or of a subagent."""

    steps: list[_Step] = field(default_factory=list)

    def say(self, source: str, text: str, time: datetime | None) -> None:
        """Add a message of the system or the user, unless it repeats what a tool returned."""
        repeated = any(text == result.get("content") for step in self.steps[-2:] for result in step.results)
        if not repeated:
            self.steps.append(_Step(source, text, time))

    def answer(self, message: Message) -> bool:
        """Add a tool's message to the call that it answers; False if no step has such a call."""
        for step in reversed(self.steps):
            ids = {call["tool_call_id"] for call in step.calls}
            if message.tool_call_id in ids:
                if message.tool_call_id in {call["tool_call_id"] for call in step.unanswered}:
                    step.results.append({"source_call_id": message.tool_call_id, "content": message.text})
                return True
        return False

    def prompt(self, messages: Iterable[Message], time: datetime) -> None:
        """Add what is new in a prompt."""
        for message in messages:
            if message.role == "assistant" or (message.role == "tool" and self.answer(message)):
                continue  # its own replies are steps already
            self.say("system" if message.role == "system" else "user", message.text, time)


class _Writer:
    """Turns the events of a trial into steps."""

    def __init__(self, events: Sequence[Event], models: Mapping[str, str]) -> None:
        self.main = _Track()
        self.subagents: dict[str, _Track] = {}
        self.tools: dict[str, tuple[Tool, ...]] = {}
        self.used = Usage.zero()
        self._prompts = Prompts(events)
        self._started: dict[int, CallStarted] = {}

    def add(self, event: Event) -> None:
        """Add an event."""
        match event:
            case CallStarted():
                self._started[event.number] = event
            case CallFinished() if event.call in self._started:
                start = self._started.pop(event.call)
                if isinstance(start.request, ModelRequest):
                    self._add_reply(start, start.request, event)
                elif start.action is None and not isinstance(start.request, NodeRequest | NoteRequest):
                    self._add_call(start, event)
            case BudgetExhausted() | AgentCrashed() | InfrastructureFailed():
                self.main.say("system", describe_event(event), event.time)
            case _:
                pass  # where files are and what was graded is no part of a trajectory

    def _add_reply(self, start: CallStarted, request: ModelRequest, end: CallFinished) -> None:
        reply = end.result.reply if isinstance(end.result, ModelResult) else None
        track = self.main if request.role == MAIN else self._subagent(request.role, start.time)
        self.tools.setdefault(request.role, self._prompts.tools(start.number))
        track.prompt(self._prompts.messages(start.number)[request.shared :], start.time)
        if reply is None:
            track.say("system", describe_event(end), end.time)
            return
        self.used += reply.usage
        calls = [
            {"tool_call_id": call.id, "function_name": call.name, "arguments": call.arguments}
            for call in reply.message.tool_calls
        ]
        track.steps.append(_Step("agent", reply.message.text, end.time, reply, calls))

    def _subagent(self, role: str, time: datetime) -> _Track:
        """Return the steps of a role; its first call is referred to where it happened."""
        if role not in self.subagents:
            self.subagents[role] = _Track()
            reference = {"trajectory_id": _subagent(role)}
            result = {"content": f"asks {role}", "subagent_trajectory_ref": [reference]}
            self._agent_step(time).results.append(result)
        return self.subagents[role]

    def _add_call(self, start: CallStarted, end: CallFinished) -> None:
        request = start.request
        step = self._agent_step(start.time)
        name = request.name if isinstance(request, ActionRequest) else request.type
        asked = next((call for call in step.unanswered if call["function_name"] == name), None)
        if asked is None:
            asked = {
                "tool_call_id": f"event-{start.number}",
                "function_name": name,
                "arguments": _arguments(request),
            }
            step.calls.append(asked)
        step.results.append({"source_call_id": asked["tool_call_id"], "content": _output(end.result, end)})

    def _agent_step(self, time: datetime) -> _Step:
        """Return the step of the last reply, or a new one where no model asked for what follows."""
        last = next((step for step in reversed(self.main.steps) if step.source == "agent"), None)
        if last is not None and last.reply is not None and last is self.main.steps[-1]:
            return last
        step = _Step("agent", "", time, deterministic=True)
        self.main.steps.append(step)
        return step


def _arguments(request: AnyRequest) -> dict[str, Any]:
    arguments = request.model_dump(mode="json", exclude={"type"}, exclude_none=True)
    return dict(arguments.get("arguments", {})) if isinstance(request, ActionRequest) else arguments


def _output(result: AnyResult, end: CallFinished) -> str:
    match result:
        case CommandResult() | ExternalProcessResult():
            streams = format_streams(result.stdout, result.stderr, _MAX_OUTPUT)
            return f"Exit code {result.code} ({result.ended}).\n\n{streams}"
        case ActionResult():
            return result.observation
        case PythonResult():
            return result.output
        case _:
            return describe_event(end)


def _metrics(used: Usage) -> dict[str, Any]:
    content: dict[str, Any] = {
        "prompt_tokens": used.all_input_tokens,
        "completion_tokens": used.output_tokens,
        "cached_tokens": used.cached_tokens,
        "extra": {"cache_write_tokens": used.cache_write_tokens, "reasoning_tokens": used.reasoning_tokens},
    }
    return content | ({"cost_usd": used.cost} if used.cost is not None else {})


def _final_metrics(used: Usage, steps: int) -> dict[str, Any]:
    return {
        "total_prompt_tokens": used.all_input_tokens,
        "total_completion_tokens": used.output_tokens,
        "total_cached_tokens": used.cached_tokens,
        "total_steps": steps,
        **({"total_cost_usd": used.cost} if used.cost is not None else {}),
    }


def _describe_agent(name: str, model: str | None, tools: Sequence[Tool]) -> dict[str, Any]:
    definitions = [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        }
        for tool in tools
    ]
    return {
        "name": name,
        "version": __version__,
        **({"model_name": model} if model else {}),
        **({"tool_definitions": definitions} if definitions else {}),
    }


def _subagent(role: str) -> str:
    return f"subagent-{role}"


EXPORTER = Exporter("atif", write_trajectories)
