"""OpenAI's chat completions, which most clients use."""

import json
import time
from collections.abc import Iterator
from typing import Any

from assay.agents.external.http import format_event
from assay.agents.external.protocols.base import (
    MAX_MESSAGES,
    MAX_TOOLS,
    ClientRequest,
    Json,
    Malformed,
    RequestLimits,
    assistant_message,
    join_text,
    parse_sampling,
    require_list,
    require_object,
    require_text,
)
from assay.agents.external.protocols.schemas import make_tool
from assay.models import Message, Reply, Tool, ToolCall, Usage

FINISH_REASONS = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "filter": "content_filter",
    "too_long": "length",
}
ERROR_TYPES = {400: "invalid_request_error", 402: "insufficient_quota", 404: "not_found_error"}


class OpenAIChat:
    """`POST /v1/chat/completions`."""

    name = "openai chat"

    def parse_request(self, body: Json, limits: RequestLimits) -> ClientRequest:
        """Return the request in a body."""
        listed = require_list(body.get("messages"), "messages", MAX_MESSAGES)
        messages = [_parse_message(require_object(message, "a message"), limits) for message in listed]
        if not messages:
            raise Malformed("messages is empty")
        tools = require_list(body.get("tools"), "tools", MAX_TOOLS)
        return ClientRequest(
            messages,
            [_parse_tool(require_object(tool, "a tool"), limits) for tool in tools],
            parse_choice(body.get("tool_choice")),
            str(body.get("model", "")),
            bool(body.get("stream")),
            sampling=parse_sampling(
                body,
                temperature="temperature",
                top_p="top_p",
                max_tokens="max_tokens" if body.get("max_completion_tokens") is None else "max_completion_tokens",
                stop="stop",
                seed="seed",
            ),
        )

    def format_reply(self, reply: Reply, request: ClientRequest) -> dict[str, Any]:
        """Return a reply as one JSON object."""
        message: dict[str, Any] = {"role": "assistant", "content": reply.message.text or None, "refusal": None}
        if reply.message.tool_calls:
            message["tool_calls"] = [_format_call(call) for call in reply.message.tool_calls]
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": FINISH_REASONS.get(reply.stop, "stop"),
        }
        head = _format_head(reply, request, "chat.completion")
        return {**head, "choices": [choice], "usage": _format_usage(reply.usage)}

    def stream_reply(self, reply: Reply, request: ClientRequest) -> Iterator[bytes]:
        """Return a reply as a stream of events."""
        head = _format_head(reply, request, "chat.completion.chunk")

        def chunk(delta: Json, finish_reason: str | None = None) -> bytes:
            return format_event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]})

        yield chunk({"role": "assistant", "content": ""})
        if reply.message.text:
            yield chunk({"content": reply.message.text})
        for index, call in enumerate(reply.message.tool_calls):
            yield chunk({"tool_calls": [{"index": index, **_format_call(call)}]})
        yield chunk({}, FINISH_REASONS.get(reply.stop, "stop"))
        yield format_event({**head, "choices": [], "usage": _format_usage(reply.usage)})
        yield b"data: [DONE]\n\n"

    def format_error(self, status: int, message: str, *, too_long: bool = False) -> dict[str, Any]:
        """Return an error."""
        kind = ERROR_TYPES.get(status, "server_error")
        code = "context_length_exceeded" if too_long else kind
        return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def parse_choice(choice: object) -> str | None:
    """Return which tool must be called."""
    if isinstance(choice, dict):
        inner = choice.get("function", choice)
        if isinstance(inner, dict) and "name" not in inner:
            return None
        return require_text(inner.get("name") if isinstance(inner, dict) else None, "tool_choice")
    return {"none": "none", "required": "any"}.get(str(choice))


def _parse_message(message: Json, limits: RequestLimits) -> Message:
    role, text = message.get("role"), join_text(message.get("content"))
    if role in ("system", "developer"):
        return Message(role="system", text=text)
    if role == "user":
        return Message(role="user", text=text)
    if role == "tool":
        return Message(role="tool", text=text, tool_call_id=require_text(message.get("tool_call_id"), "tool_call_id"))
    if role != "assistant":
        raise Malformed(f"unknown role {role!r}"[:200])
    calls = []
    for call in require_list(message.get("tool_calls"), "tool_calls"):
        function = require_object(require_object(call, "a tool call").get("function"), "function")
        calls.append(
            ToolCall(
                id=require_text(call.get("id"), "a tool call's id"),
                name=require_text(function.get("name"), "a tool's name"),
                arguments=limits.load_arguments(function.get("arguments")),
            )
        )
    return assistant_message(text, calls)


def _parse_tool(tool: Json, limits: RequestLimits) -> Tool:
    if tool.get("type", "function") != "function":
        raise Malformed(f"tools of type {tool.get('type')!r} are not supported"[:200])
    function = require_object(tool.get("function"), "function")
    schema = require_object(function.get("parameters") or {}, "parameters")
    name = require_text(function.get("name"), "a tool's name")
    return make_tool(name, str(function.get("description") or ""), schema, limits)


def _format_call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}


def _format_head(reply: Reply, request: ClientRequest, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{reply.number}", "object": kind, "created": int(time.time()), "model": request.model}


def _format_usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.all_input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }
