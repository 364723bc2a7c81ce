"""OpenAI's chat completions, which most programs speak that ask models."""

import json
import time
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

FINISHED = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "filter": "content_filter",
    "too_long": "length",
}
KINDS = {400: "invalid_request_error", 402: "insufficient_quota", 404: "not_found_error"}


class OpenAIChat:
    """`POST /v1/chat/completions`."""

    name = "openai chat"

    def question(self, body: Json) -> Question:
        """What a request asks."""
        messages = [_message(table(message, "a message")) for message in listed(body.get("messages"), "messages")]
        if not messages:
            raise Malformed("messages is empty")
        return Question(
            messages,
            [_tool(table(tool, "a tool")) for tool in listed(body.get("tools"), "tools")],
            choice_of(body.get("tool_choice")),
            str(body.get("model", "")),
            bool(body.get("stream")),
        )

    def whole(self, reply: Reply, asked: Question) -> dict[str, Any]:
        """A reply in one piece."""
        calls = [_call(call) for call in reply.message.tool_calls]
        message = {"role": "assistant", "content": reply.message.text or None, "refusal": None}
        choice = {"index": 0, "message": message | ({"tool_calls": calls} if calls else {}), "logprobs": None}
        return {
            **_head(reply, asked, "chat.completion"),
            "choices": [{**choice, "finish_reason": FINISHED.get(reply.stop, "stop")}],
            "usage": _usage(reply.usage),
        }

    def pieces(self, reply: Reply, asked: Question) -> Iterator[bytes]:
        """A reply as a stream of events."""
        head = _head(reply, asked, "chat.completion.chunk")

        def chunk(delta: Json, finished: str | None = None) -> bytes:
            return event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finished}]})

        yield chunk({"role": "assistant", "content": ""})
        if reply.message.text:
            yield chunk({"content": reply.message.text})
        for index, call in enumerate(reply.message.tool_calls):
            yield chunk({"tool_calls": [{"index": index, **_call(call)}]})
        yield chunk({}, FINISHED.get(reply.stop, "stop"))
        yield event({**head, "choices": [], "usage": _usage(reply.usage)})
        yield b"data: [DONE]\n\n"

    def error(self, status: int, why: str) -> dict[str, Any]:
        """What went wrong."""
        kind = KINDS.get(status, "server_error")
        code = "context_length_exceeded" if status == 400 and "too long" in why else kind
        return {"error": {"message": why, "type": kind, "param": None, "code": code}}


def choice_of(choice: object) -> str | None:
    """Which tool must be called."""
    if isinstance(choice, dict):
        inner = choice.get("function", choice)
        return word(inner.get("name") if isinstance(inner, dict) else None, "tool_choice") if "name" in inner else None
    return {"none": "none", "required": "any"}.get(str(choice))


def _message(message: Json) -> Message:
    role, text = message.get("role"), text_of(message.get("content"))
    if role in ("system", "developer"):
        return Message(role="system", text=text)
    if role == "user":
        return Message(role="user", text=text)
    if role == "tool":
        return Message(role="tool", text=text, tool_call_id=word(message.get("tool_call_id"), "tool_call_id"))
    if role != "assistant":
        raise Malformed(f"nobody speaks as {role!r}")
    calls = []
    for call in listed(message.get("tool_calls"), "tool_calls"):
        function = table(table(call, "a tool call").get("function"), "function")
        name, arguments = word(function.get("name"), "a tool's name"), arguments_of(function.get("arguments"))
        calls.append(ToolCall(id=word(call.get("id"), "a tool call's id"), name=name, arguments=arguments))
    return said_by_model(text, calls)


def _tool(tool: Json) -> Tool:
    if tool.get("type", "function") != "function":
        raise Malformed(f"there are no tools of type {tool.get('type')!r} here")
    function = table(tool.get("function"), "function")
    schema = table(function.get("parameters") or {}, "parameters")
    return tool_of(word(function.get("name"), "a tool's name"), str(function.get("description") or ""), schema)


def _call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}


def _head(reply: Reply, asked: Question, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{reply.number}", "object": kind, "created": int(time.time()), "model": asked.model}


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.all_input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }
