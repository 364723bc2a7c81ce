"""Traces of trials as OpenTelemetry spans with the GenAI conventions: `DIR/traces.jsonl`, a line a trial, in OTLP JSON.

A trial is a span `invoke_agent`, with a span `chat` for each model call and `execute_tool` for each action or command.
A collector reads the file with its receiver `otlpjsonfile`, and passes it on to whatever shows traces. Ids follow from
the trial, so that the same run gives the same file.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from assay import __version__
from assay.core.disk import atomic_write
from assay.core.errors import UsageError
from assay.interop.exporters import Exporter
from assay.interop.importers import Results
from assay.models import MAIN
from assay.records import Event, read_events
from assay.records.events import (
    ActionRequest,
    CallFinished,
    CallStarted,
    CommandResult,
    ModelRequest,
    ModelResult,
    NodeRequest,
    NoteRequest,
)
from assay.results.frame import TrialRow

_INTERNAL, _CLIENT, _ERROR = 1, 3, 2
_PROVIDERS = {
    "azureai": "azure.ai.inference", "bedrock": "aws.bedrock", "google": "gcp.gemini", "grok": "x_ai",
    "mistral": "mistral_ai", "vertex": "gcp.vertex_ai",
}  # fmt: skip
"""The names of the conventions for providers of Inspect; others are called alike."""


def write_spans(results: Results, folder: Path) -> list[Path]:
    """Write the spans of all trials that have a record."""
    if not results.runs:
        raise UsageError("spans are written from the records of a run; results of others have none")
    lines = []
    for row in results.frame:
        if row.record is not None and (events := read_events(row.record.folder.events)):
            lines.append(json.dumps(_trace(row, events, row.record.file.models), ensure_ascii=False, allow_nan=False))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "traces.jsonl"
    atomic_write(path, "".join(f"{line}\n" for line in lines), mode=None)
    return [path]


def _trace(row: TrialRow, events: list[Event], models: Mapping[str, str]) -> dict[str, Any]:
    resource = {"service.name": "assay", "service.version": __version__, "assay.run": row.run}
    spans = [_root(row, events, models), *_calls(row, events, models)]
    scope = {"scope": {"name": "assay", "version": __version__}, "spans": spans}
    return {"resourceSpans": [{"resource": {"attributes": _attributes(resource)}, "scopeSpans": [scope]}]}


def _root(row: TrialRow, events: list[Event], models: Mapping[str, str]) -> dict[str, Any]:
    values = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": row.agent,
        "gen_ai.agent.id": row.trial,
        "gen_ai.provider.name": _provider(models.get(MAIN) or "assay"),
        "gen_ai.request.model": models.get(MAIN),
        "assay.task": row.task,
        "assay.seed": row.seed,
        "assay.edition": row.edition,
        "assay.variant": row.variant,
        "assay.score": row.score,
        "assay.success": row.success,
        "error.type": row.failure_name,
    }
    span = _span(row.trial, "", f"invoke_agent {row.agent}", events[0].time, events[-1].time, values, _INTERNAL)
    return span | ({"status": {"code": _ERROR, "message": row.reason or ""}} if row.failure is not None else {})


def _calls(row: TrialRow, events: list[Event], models: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    started: dict[int, CallStarted] = {}
    for event in events:
        if isinstance(event, CallStarted):
            started[event.number] = event
        elif isinstance(event, CallFinished) and event.call in started:
            start = started.pop(event.call)
            if not isinstance(start.request, NoteRequest | NodeRequest):
                yield _call(row, start, event, models)


def _call(row: TrialRow, start: CallStarted, end: CallFinished, models: Mapping[str, str]) -> dict[str, Any]:
    request, result = start.request, end.result
    parent = str(start.action) if start.action is not None else ""
    if isinstance(request, ModelRequest):
        reply = result.reply if isinstance(result, ModelResult) else None
        model = models.get(request.role) or models.get(MAIN, "unknown")
        values: dict[str, object] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _provider(model),
            "gen_ai.request.model": model,
            "gen_ai.response.model": (reply.served or reply.model) if reply else None,
            "gen_ai.response.finish_reasons": [reply.stop] if reply else None,
            "gen_ai.usage.input_tokens": reply.usage.all_input_tokens if reply else None,
            "gen_ai.usage.output_tokens": reply.usage.output_tokens if reply else None,
            "gen_ai.usage.cache_read.input_tokens": reply.usage.cached_tokens if reply else None,
            "gen_ai.usage.reasoning.output_tokens": reply.usage.reasoning_tokens if reply else None,
            "assay.role": request.role,
            "assay.cost": reply.usage.cost if reply else None,
        }
        name, kind, failed = f"chat {model}", _CLIENT, reply is None
    else:
        tool = request.name if isinstance(request, ActionRequest) else request.type
        values = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool,
            "gen_ai.tool.call.id": f"event-{start.number}",
            "gen_ai.tool.type": "function",
        }
        name, kind = f"execute_tool {tool}", _INTERNAL
        failed = isinstance(result, CommandResult) and result.code != 0
    span = _span(row.trial, str(start.number), name, start.time, end.time, values, kind, parent)
    return span | ({"status": {"code": _ERROR}} if failed else {})


def _provider(model: str) -> str:
    """Return who serves a model: `openai/gpt-5` or `openai-api/SERVICE/MODEL`."""
    first, *rest = model.split("/")
    return rest[0] if first == "openai-api" and rest else _PROVIDERS.get(first, first)


def _span(
    trial: str,
    key: str,
    name: str,
    start: datetime,
    end: datetime,
    values: Mapping[str, object],
    kind: int,
    parent: str = "",
) -> dict[str, Any]:
    return {
        "traceId": _id(trial, 32),
        "spanId": _id(f"{trial}/{key}", 16),
        **({"parentSpanId": _id(f"{trial}/{parent}", 16)} if key else {}),
        "name": name,
        "kind": kind,
        "startTimeUnixNano": str(round(start.timestamp() * 1e6) * 1000),
        "endTimeUnixNano": str(round(end.timestamp() * 1e6) * 1000),
        "attributes": _attributes(values),
    }


def _attributes(values: Mapping[str, object]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in values.items() if value is not None]


def _value(value: object) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list():
            return {"arrayValue": {"values": [_value(item) for item in value]}}
        case _:
            return {"stringValue": str(value)}


def _id(text: str, length: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:length]


EXPORTER = Exporter("otel", write_spans)
