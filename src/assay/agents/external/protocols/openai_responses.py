"""OpenAI's Responses API, which the Codex command line uses."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from assay.agents.external.http import format_event
from assay.agents.external.protocols.base import (
    MAX_MESSAGES,
    MAX_TOOLS,
    ClientRequest,
    Json,
    Malformed,
    RequestLimits,
    join_text,
    parse_sampling,
    require_list,
    require_object,
    require_text,
)
from assay.agents.external.protocols.openai_chat import OpenAIChat, parse_choice
from assay.agents.external.protocols.schemas import make_tool
from assay.models import Message, Reply, Tool, ToolCall, Usage

FREEFORM_SCHEMA = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}


class OpenAIResponses:
    """`POST /v1/responses`. Conversations are not stored: each request contains the whole of it."""

    name = "openai responses"

    def parse_request(self, body: Json, limits: RequestLimits) -> ClientRequest:
        """Return the request in a body."""
        if body.get("previous_response_id"):
            raise Malformed("responses are not stored; send the whole conversation as input")
        messages = _parse_input(body.get("input"), limits)
        if body.get("instructions"):
            messages = [Message(role="system", text=join_text(body["instructions"])), *messages]
        if not messages:
            raise Malformed("input is empty")
        offered = [require_object(tool, "a tool") for tool in require_list(body.get("tools"), "tools", MAX_TOOLS)]
        # Tools that would run at the provider, such as a web search, are not available.
        usable = [tool for tool in offered if tool.get("type") in ("function", "custom")]
        return ClientRequest(
            messages,
            [_parse_tool(tool, limits) for tool in usable],
            parse_choice(body.get("tool_choice")),
            str(body.get("model", "")),
            bool(body.get("stream")),
            frozenset(str(tool.get("name")) for tool in usable if tool.get("type") == "custom"),
            parse_sampling(body, temperature="temperature", top_p="top_p", max_tokens="max_output_tokens"),
        )

    def format_reply(self, reply: Reply, request: ClientRequest) -> dict[str, Any]:
        """Return a reply as one JSON object."""
        incomplete = reply.stop in ("length", "too_long")
        return {
            "id": f"resp_{reply.number}",
            "object": "response",
            "created_at": int(time.time()),
            "status": "incomplete" if incomplete else "completed",
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if incomplete else None,
            "instructions": None,
            "metadata": {},
            "model": request.model,
            "output": _format_items(reply, request),
            "parallel_tool_calls": True,
            "temperature": None,
            "tool_choice": "auto",
            "tools": [],
            "top_p": None,
            "usage": _format_usage(reply.usage),
        }

    def stream_reply(self, reply: Reply, request: ClientRequest) -> Iterator[bytes]:
        """Return a reply as a stream of events."""
        response = self.format_reply(reply, request)
        started = {**response, "status": "in_progress", "output": [], "usage": None}
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": started},
            {"type": "response.in_progress", "response": started},
        ]
        for index, item in enumerate(response["output"]):
            events += _format_item_events(index, item)
        ended = "response.incomplete" if response["incomplete_details"] else "response.completed"
        events.append({"type": ended, "response": response})
        for number, content in enumerate(events):
            yield format_event({**content, "sequence_number": number}, content["type"])

    def format_error(self, status: int, message: str, *, too_long: bool = False) -> dict[str, Any]:
        """Return an error."""
        return OpenAIChat().format_error(status, message, too_long=too_long)


@dataclass
class _Turn:
    """A message while its items are being collected: one turn of the model comes as several items."""

    role: str
    text: str = ""
    calls: list[ToolCall] = field(default_factory=list)
    tool_call_id: str | None = None

    def message(self) -> Message:
        return Message.model_validate(
            {
                "role": self.role,
                "text": self.text,
                "tool_calls": tuple(self.calls),
                "tool_call_id": self.tool_call_id,
            }
        )


def _parse_input(content: object, limits: RequestLimits) -> list[Message]:
    if isinstance(content, str):
        return [Message(role="user", text=content)]
    turns: list[_Turn] = []
    for item in (require_object(item, "an item") for item in require_list(content, "input", MAX_MESSAGES)):
        kind = item.get("type", "message")
        if kind == "message":
            role = ROLES.get(str(item.get("role")))
            if role is None:
                raise Malformed(f"unknown role {item.get('role')!r}"[:200])
            turns.append(_Turn(role, join_text(item.get("content"))))
        elif kind in ("function_call", "custom_tool_call"):
            if not turns or turns[-1].role != "assistant":
                turns.append(_Turn("assistant"))
            turns[-1].calls.append(_parse_call(item, kind, limits))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            call_id = require_text(item.get("call_id"), "call_id")
            turns.append(_Turn("tool", join_text(item.get("output")), tool_call_id=call_id))
    return [turn.message() for turn in turns]


def _parse_call(item: Json, kind: str, limits: RequestLimits) -> ToolCall:
    if kind == "custom_tool_call":
        arguments: dict[str, Any] = {"input": str(item.get("input", ""))}
    else:
        arguments = limits.load_arguments(item.get("arguments"))
    call_id = require_text(item.get("call_id"), "call_id")
    return ToolCall(id=call_id, name=require_text(item.get("name"), "name"), arguments=arguments)


def _parse_tool(tool: Json, limits: RequestLimits) -> Tool:
    name, description = require_text(tool.get("name"), "a tool's name"), str(tool.get("description") or "")
    if tool.get("type") == "custom":
        form = tool.get("format")
        if form:
            description = f"{description}\n\n{json.dumps(form)}"
        return make_tool(name, description, FREEFORM_SCHEMA, limits)
    return make_tool(name, description, require_object(tool.get("parameters") or {}, "parameters"), limits)


def _format_items(reply: Reply, request: ClientRequest) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    done = {"status": "completed"}
    if reply.message.text or not reply.message.tool_calls:
        part = {"type": "output_text", "text": reply.message.text, "annotations": []}
        items.append({"id": f"msg_{reply.number}", "type": "message", "role": "assistant", **done, "content": [part]})
    for index, call in enumerate(reply.message.tool_calls):
        item = {"id": f"fc_{reply.number}_{index}", "call_id": call.id, "name": call.name, **done}
        if call.name in request.freeform:
            items.append({**item, "type": "custom_tool_call", "input": str(call.arguments.get("input", ""))})
        else:
            items.append({**item, "type": "function_call", "arguments": json.dumps(call.arguments)})
    return items


def _format_item_events(index: int, item: Json) -> list[dict[str, Any]]:
    """Return the events of one item of a streamed reply."""
    at = {"item_id": item["id"], "output_index": index}
    if item["type"] == "message":
        (part,), empty = item["content"], {"type": "output_text", "text": "", "annotations": []}
        opened: Json = {**item, "status": "in_progress", "content": []}
        inner = [
            {"type": "response.content_part.added", **at, "content_index": 0, "part": empty},
            {"type": "response.output_text.delta", **at, "content_index": 0, "delta": part["text"], "logprobs": []},
            {"type": "response.output_text.done", **at, "content_index": 0, "text": part["text"], "logprobs": []},
            {"type": "response.content_part.done", **at, "content_index": 0, "part": part},
        ]
    else:
        key, name = ("input", "custom_tool_call_input") if "input" in item else ("arguments", "function_call_arguments")
        opened = {**item, "status": "in_progress", key: ""}
        inner = [
            {"type": f"response.{name}.delta", **at, "delta": item[key]},
            {"type": f"response.{name}.done", **at, key: item[key], "name": item["name"]},
        ]
    added = {"type": "response.output_item.added", "output_index": index, "item": opened}
    return [added, *inner, {"type": "response.output_item.done", "output_index": index, "item": item}]


def _format_usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.all_input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }
