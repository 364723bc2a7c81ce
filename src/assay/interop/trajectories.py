"""Trajectories of other harnesses, read without trust: ATIF of Harbor, and the samples of logs of Inspect."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from assay.core.errors import RecordError
from assay.core.untrusted import read_json
from assay.interop.importers.inspect import read_members
from assay.interop.importers.trial import read_amount, read_count, read_list, read_moment, read_table, read_text
from assay.results.frame import TrialRow

_MAX_STEPS = 20_000


@dataclass(frozen=True)
class ToolUse:
    """A tool call and what it returned; either can be missing."""

    name: str
    arguments: Mapping[str, object]
    output: str | None


@dataclass(frozen=True)
class TrajectoryStep:
    """One message of a trajectory: of the system, the user, the agent or a subagent."""

    source: str
    message: str
    at: datetime | None = None
    reasoning: str = ""
    uses: tuple[ToolUse, ...] = ()
    tokens: int | None = None
    cost: float | None = None


def read_steps(row: TrialRow) -> list[TrajectoryStep]:
    """Return the trajectory of an imported trial; nothing if its harness kept none."""
    if row.trajectory is None:
        return []
    if row.trajectory.suffix == ".eval":
        return list(_read_sample(row))
    return list(_read_atif(read_json(row.trajectory), row.trajectory))


def _read_atif(content: object, path: Path, name: str = "") -> Iterator[TrajectoryStep]:
    table = read_table(content)
    steps = table.get("steps")
    if not str(table.get("schema_version", "")).startswith("ATIF-v1.") or not isinstance(steps, list):
        raise RecordError(f"{path} is not a trajectory in the format ATIF v1")
    if len(steps) > _MAX_STEPS:
        raise RecordError(f"{path} has more than {_MAX_STEPS:,} steps")
    for step in map(read_table, steps):
        metrics = read_table(step.get("metrics"))
        counts = [read_count(metrics.get(key)) for key in ("prompt_tokens", "completion_tokens")]
        yield TrajectoryStep(
            source=name or read_text(step.get("source")) or "agent",
            message=_text(step.get("message")),
            at=read_moment(step.get("timestamp")),
            reasoning=_text(step.get("reasoning_content")),
            uses=tuple(_read_uses(step)),
            tokens=None if all(count is None for count in counts) else sum(count or 0 for count in counts),
            cost=read_amount(metrics.get("cost_usd")),
        )
    for inner in read_list(table.get("subagent_trajectories")) if not name else ():
        agent = read_text(read_table(read_table(inner).get("agent")).get("name")) or "subagent"
        yield from _read_atif(inner, path, agent)


def _read_uses(step: Mapping[str, Any]) -> Iterator[ToolUse]:
    results = [read_table(result) for result in read_list(read_table(step.get("observation")).get("results"))]
    outputs = {read_text(result.get("source_call_id")): _text(result.get("content")) for result in results}
    calls = [read_table(call) for call in read_list(step.get("tool_calls"))]
    for call in calls:
        name = read_text(call.get("function_name")) or "call"
        yield ToolUse(name, read_table(call.get("arguments")), outputs.get(read_text(call.get("tool_call_id"))))
    known = {read_text(call.get("tool_call_id")) for call in calls}
    for result in results:
        if read_text(result.get("source_call_id")) not in known:
            yield ToolUse("observation", {}, _text(result.get("content")))


def _read_sample(row: TrialRow) -> Iterator[TrajectoryStep]:
    """Yield the messages of a sample of a log of Inspect."""
    assert row.trajectory is not None
    task = row.task.partition("/")[2]
    summaries = read_list(read_members(row.trajectory, ("summaries.json",)).get("summaries.json"))
    matches = [read_table(each) for each in summaries if read_text(read_table(each).get("uuid")) == row.trial]
    epoch = read_count(matches[0].get("epoch")) if matches else row.seed
    name = f"samples/{task}_epoch_{epoch}.json"
    sample = read_table(read_members(row.trajectory, (name,)).get(name))
    messages = [read_table(message) for message in read_list(sample.get("messages"))[:_MAX_STEPS]]
    outputs = {
        read_text(each.get("tool_call_id")): _text(each.get("content"))
        for each in messages
        if each.get("role") == "tool"
    }
    for message in messages:
        role = read_text(message.get("role")) or "user"
        if role == "tool":
            continue  # shown with its call
        calls = read_list(message.get("tool_calls"))
        yield TrajectoryStep(
            source="agent" if role == "assistant" else role,
            message=_text(message.get("content")),
            uses=tuple(
                ToolUse(
                    read_text(call.get("function")) or "call",
                    read_table(call.get("arguments")),
                    outputs.get(read_text(call.get("id"))),
                )
                for call in map(read_table, calls)
            ),
        )


def _text(value: object) -> str:
    """Return the text of a message, whose content can be a list of parts."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(_text(read_table(part).get("text") or f"[{read_table(part).get('type')}]") for part in value)
    return "" if value is None else json.dumps(value, ensure_ascii=False)
