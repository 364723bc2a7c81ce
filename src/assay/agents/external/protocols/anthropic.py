"""Anthropic's messages, which Claude Code speaks."""

import json
from collections.abc import Iterator
from typing import Any

from assay.agents.external.http import event
from assay.agents.external.protocols.base import (
    Json,
    Malformed,
    Question,
    arguments_of,
    listed,
    said_by_model,
    table,
    text_of,
    word,
)
from assay.agents.external.protocols.schemas import tool_of
from assay.models import Message, Reply, Tool, ToolCall, Usage

STOPPED = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "filter": "refusal",
    "too_long": "max_tokens",
}
KINDS = {400: "invalid_request_error", 402: "billing_error", 404: "not_found_error", 413: "request_too_large"}


class AnthropicMessages:
    """`POST /v1/messages`."""

    name = "anthropic messages"

    def question(self, body: Json) -> Question:
        """What a request asks."""
        system = text_of(body.get("system"))
        messages = [Message(role="system", text=system)] if system else []
        for message in listed(body.get("messages"), "messages"):
            messages += _messages(table(message, "a message"))
        if not messages:
            raise Malformed("messages is empty")
        offered = [table(tool, "a tool") for tool in listed(body.get("tools"), "tools")]
        return Question(
            messages,
            # Those without a schema run at the provider, and do not exist here.
            [_tool(tool) for tool in offered if "input_schema" in tool],
            _choice(body.get("tool_choice")),
            str(body.get("model", "")),
            bool(body.get("stream")),
        )

    def whole(self, reply: Reply, asked: Question) -> dict[str, Any]:
        """A reply in one piece."""
        return {
            **_head(reply, asked),
            "content": _blocks(reply),
            "stop_reason": STOPPED.get(reply.stop, "end_turn"),
            "usage": _usage(reply.usage),
        }

    def pieces(self, reply: Reply, asked: Question) -> Iterator[bytes]:
        """A reply as a stream of events."""

        def told(kind: str, **content: Any) -> bytes:
            return event({"type": kind, **content}, kind)

        usage = _usage(reply.usage)
        begun = {**_head(reply, asked), "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 0}}
        yield told("message_start", message=begun)
        for place, block in enumerate(_blocks(reply)):
            if block["type"] == "text":
                opened, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                written = json.dumps(block["input"])
                opened, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": written}
            yield told("content_block_start", index=place, content_block=opened)
            yield told("content_block_delta", index=place, delta=delta)
            yield told("content_block_stop", index=place)
        ended = {"stop_reason": STOPPED.get(reply.stop, "end_turn"), "stop_sequence": None}
        yield told("message_delta", delta=ended, usage=usage)
        yield told("message_stop")

    def error(self, status: int, why: str) -> dict[str, Any]:
        """What went wrong."""
        return {"type": "error", "error": {"type": KINDS.get(status, "api_error"), "message": why}}


def _messages(message: Json) -> list[Message]:
    """One message of theirs is several of ours where it answers tools."""
    role, content = message.get("role"), message.get("content")
    if role not in ("user", "assistant", "system"):
        raise Malformed(f"nobody speaks as {role!r}")
    if isinstance(content, str) or content is None:
        return [Message.model_validate({"role": role, "text": content or ""})]
    blocks = [table(block, "a block") for block in listed(content, "content")]
    texts = [
        block
        for block in blocks
        if block.get("type") not in ("tool_use", "tool_result", "thinking", "redacted_thinking")
    ]
    text = text_of(texts)
    if role == "assistant":
        return [said_by_model(text, [_call(block) for block in blocks if block.get("type") == "tool_use"])]
    results = [
        Message(
            role="tool", text=text_of(block.get("content")), tool_call_id=word(block.get("tool_use_id"), "tool_use_id")
        )
        for block in blocks
        if block.get("type") == "tool_result"
    ]
    return [*results, *([Message.model_validate({"role": role, "text": text})] if texts else [])]


def _call(block: Json) -> ToolCall:
    name, arguments = word(block.get("name"), "a tool's name"), arguments_of(block.get("input"))
    return ToolCall(id=word(block.get("id"), "a tool call's id"), name=name, arguments=arguments)


def _tool(tool: Json) -> Tool:
    schema = table(tool.get("input_schema"), "input_schema")
    return tool_of(word(tool.get("name"), "a tool's name"), str(tool.get("description") or ""), schema)


def _choice(choice: object) -> str | None:
    if choice is None:
        return None
    kind = table(choice, "tool_choice").get("type")
    if kind == "tool":
        return word(table(choice, "tool_choice").get("name"), "tool_choice.name")
    return {"any": "any", "none": "none"}.get(str(kind))


def _blocks(reply: Reply) -> list[dict[str, Any]]:
    calls = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}
        for call in reply.message.tool_calls
    ]
    texts = [{"type": "text", "text": reply.message.text}] if reply.message.text or not calls else []
    return [*texts, *calls]


def _head(reply: Reply, asked: Question) -> dict[str, Any]:
    common = {"type": "message", "role": "assistant", "model": asked.model, "stop_sequence": None}
    return {"id": f"msg_{reply.number}", **common}


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cached_tokens,
    }
