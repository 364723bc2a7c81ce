"""Anthropic's Messages API, which Claude Code uses."""

import json
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

STOP_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "filter": "refusal",
    "too_long": "max_tokens",
}
ERROR_TYPES = {400: "invalid_request_error", 402: "billing_error", 404: "not_found_error", 413: "request_too_large"}
NOT_SPOKEN = ("tool_use", "tool_result", "thinking", "redacted_thinking")


class AnthropicMessages:
    """`POST /v1/messages`."""

    name = "anthropic messages"

    def parse_request(self, body: Json, limits: RequestLimits) -> ClientRequest:
        """Return the request in a body."""
        system = join_text(body.get("system"))
        messages = [Message(role="system", text=system)] if system else []
        for message in require_list(body.get("messages"), "messages", MAX_MESSAGES):
            messages += _parse_message(require_object(message, "a message"), limits)
        if not messages:
            raise Malformed("messages is empty")
        offered = [require_object(tool, "a tool") for tool in require_list(body.get("tools"), "tools", MAX_TOOLS)]
        return ClientRequest(
            messages,
            # Tools without a schema would run at the provider, and are not available.
            [_parse_tool(tool, limits) for tool in offered if "input_schema" in tool],
            _parse_choice(body.get("tool_choice")),
            str(body.get("model", "")),
            bool(body.get("stream")),
            sampling=parse_sampling(
                body, temperature="temperature", top_p="top_p", max_tokens="max_tokens", stop="stop_sequences"
            ),
        )

    def format_reply(self, reply: Reply, request: ClientRequest) -> dict[str, Any]:
        """Return a reply as one JSON object."""
        return {
            **_format_head(reply, request),
            "content": _format_blocks(reply),
            "stop_reason": STOP_REASONS.get(reply.stop, "end_turn"),
            "usage": _format_usage(reply.usage),
        }

    def stream_reply(self, reply: Reply, request: ClientRequest) -> Iterator[bytes]:
        """Return a reply as a stream of events."""

        def event(kind: str, **content: Any) -> bytes:
            return format_event({"type": kind, **content}, kind)

        usage = _format_usage(reply.usage)
        head = _format_head(reply, request)
        yield event(
            "message_start",
            message={**head, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 0}},
        )
        for index, block in enumerate(_format_blocks(reply)):
            if block["type"] == "text":
                opened, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                written = json.dumps(block["input"])
                opened, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": written}
            yield event("content_block_start", index=index, content_block=opened)
            yield event("content_block_delta", index=index, delta=delta)
            yield event("content_block_stop", index=index)
        ended = {"stop_reason": STOP_REASONS.get(reply.stop, "end_turn"), "stop_sequence": None}
        yield event("message_delta", delta=ended, usage=usage)
        yield event("message_stop")

    def format_error(self, status: int, message: str, *, too_long: bool = False) -> dict[str, Any]:
        """Return an error."""
        return {"type": "error", "error": {"type": ERROR_TYPES.get(status, "api_error"), "message": message}}


def _parse_message(message: Json, limits: RequestLimits) -> list[Message]:
    """Return the messages of one of theirs: several if it contains results of tools."""
    role, content = message.get("role"), message.get("content")
    if role not in ("user", "assistant", "system"):
        raise Malformed(f"unknown role {role!r}"[:200])
    if isinstance(content, str) or content is None:
        return [Message.model_validate({"role": role, "text": content or ""})]
    blocks = [require_object(block, "a block") for block in require_list(content, "content")]
    spoken = [block for block in blocks if block.get("type") not in NOT_SPOKEN]
    text = join_text(spoken)
    if role == "assistant":
        calls = [_parse_call(block, limits) for block in blocks if block.get("type") == "tool_use"]
        return [assistant_message(text, calls)]
    messages = [
        Message(
            role="tool",
            text=join_text(block.get("content")),
            tool_call_id=require_text(block.get("tool_use_id"), "tool_use_id"),
        )
        for block in blocks
        if block.get("type") == "tool_result"
    ]
    if spoken:
        messages.append(Message.model_validate({"role": role, "text": text}))
    return messages


def _parse_call(block: Json, limits: RequestLimits) -> ToolCall:
    return ToolCall(
        id=require_text(block.get("id"), "a tool call's id"),
        name=require_text(block.get("name"), "a tool's name"),
        arguments=limits.load_arguments(block.get("input")),
    )


def _parse_tool(tool: Json, limits: RequestLimits) -> Tool:
    schema = require_object(tool.get("input_schema"), "input_schema")
    name = require_text(tool.get("name"), "a tool's name")
    return make_tool(name, str(tool.get("description") or ""), schema, limits)


def _parse_choice(choice: object) -> str | None:
    if choice is None:
        return None
    fields = require_object(choice, "tool_choice")
    if fields.get("type") == "tool":
        return require_text(fields.get("name"), "tool_choice.name")
    return {"any": "any", "none": "none"}.get(str(fields.get("type")))


def _format_blocks(reply: Reply) -> list[dict[str, Any]]:
    calls = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}
        for call in reply.message.tool_calls
    ]
    texts = [{"type": "text", "text": reply.message.text}] if reply.message.text or not calls else []
    return [*texts, *calls]


def _format_head(reply: Reply, request: ClientRequest) -> dict[str, Any]:
    return {
        "id": f"msg_{reply.number}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "stop_sequence": None,
    }


def _format_usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cached_tokens,
    }
