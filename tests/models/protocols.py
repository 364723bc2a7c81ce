"""Responses of the test server in OpenAI's chat completion and response formats and in Anthropic's message format."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Thought:
    """Reasoning, with the signature that the provider verifies when it is sent back."""

    text: str
    signature: str = "signed"


@dataclass(frozen=True)
class Redacted:
    """Reasoning that the provider encrypts."""

    data: str


@dataclass(frozen=True)
class Call:
    """A tool call; arguments that are a string are sent unchanged, even if they are not JSON."""

    name: str
    arguments: dict[str, Any] | str
    id: str = "call_1"

    @property
    def encoded_arguments(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True)
class Used:
    """Token usage; the kinds of input do not overlap."""

    input: int = 10
    output: int = 5
    cached: int = 0
    written: int = 0
    reasoning: int = 0


@dataclass(frozen=True, init=False)
class Say:
    """Respond with these parts in order; a string is a text part."""

    parts: tuple[str | Thought | Redacted | Call, ...]
    used: Used
    stop: str | None

    def __init__(self, *parts: str | Thought | Redacted | Call, used: Used = Used(), stop: str | None = None):
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "used", used)
        object.__setattr__(self, "stop", stop)

    @property
    def text(self) -> str:
        return "".join(part for part in self.parts if isinstance(part, str))

    @property
    def calls(self) -> list[Call]:
        return [part for part in self.parts if isinstance(part, Call)]


def chat_completion(say: Say, model: str) -> dict[str, Any]:
    """Return a chat completion, the format that other providers use too."""
    thoughts = [part.text for part in say.parts if isinstance(part, Thought)]
    message = {
        "role": "assistant",
        "content": say.text or None,
        "tool_calls": [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.encoded_arguments}}
            for call in say.calls
        ]
        or None,
        **({"reasoning_content": "".join(thoughts)} if thoughts else {}),
    }
    used = say.used
    input_tokens = used.input + used.cached + used.written
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": f"{model}-2026-01-01",
        "choices": [
            {"index": 0, "finish_reason": say.stop or ("tool_calls" if say.calls else "stop"), "message": message}
        ],
        "usage": {
            "prompt_tokens": input_tokens,
            "completion_tokens": used.output,
            "total_tokens": input_tokens + used.output,
            "prompt_tokens_details": {"cached_tokens": used.cached},
            "completion_tokens_details": {"reasoning_tokens": used.reasoning},
        },
    }


def response(say: Say, model: str) -> dict[str, Any]:
    """Return a response of OpenAI's newer API."""
    output: list[dict[str, Any]] = []
    for index, part in enumerate(say.parts):
        if isinstance(part, Thought):
            summary = [{"type": "summary_text", "text": part.text}]
            output.append(
                {"type": "reasoning", "id": f"rs_{index}", "summary": summary, "encrypted_content": part.signature}
            )
        elif isinstance(part, Call):
            call = {"call_id": part.id, "name": part.name, "arguments": part.encoded_arguments, "status": "completed"}
            output.append({"type": "function_call", "id": f"fc_{index}", **call})
        elif isinstance(part, str):
            content = [{"type": "output_text", "text": part, "annotations": []}]
            message = {"role": "assistant", "status": "completed", "content": content}
            output.append({"type": "message", "id": f"msg_{index}", **message})
    used = say.used
    input_tokens = used.input + used.cached + used.written
    cut = {"status": "incomplete", "incomplete_details": {"reason": say.stop}} if say.stop else {"status": "completed"}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": f"{model}-2026-01-01",
        **cut,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": input_tokens,
            "input_tokens_details": {"cached_tokens": used.cached, "cache_write_tokens": used.written},
            "output_tokens": used.output,
            "output_tokens_details": {"reasoning_tokens": used.reasoning},
            "total_tokens": input_tokens + used.output,
        },
    }


def anthropic_message(say: Say, model: str) -> dict[str, Any]:
    """Return an Anthropic message."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [_block(part) for part in say.parts],
        "stop_reason": say.stop or ("tool_use" if say.calls else "end_turn"),
        "stop_sequence": None,
        "usage": _anthropic_usage(say.used),
    }


def stream(say: Say, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the events of a streamed Anthropic message."""
    message = anthropic_message(say, body["model"])
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, (part, block) in enumerate(zip(say.parts, message["content"], strict=True)):
        empty = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}}}
        yield {
            "type": "content_block_start",
            "index": index,
            "content_block": {**block, **empty.get(block["type"], {})},
        }
        for delta in _deltas(part):
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": message["usage"]}
    yield {"type": "message_stop"}


def _block(part: str | Thought | Redacted | Call) -> dict[str, Any]:
    if isinstance(part, Thought):
        return {"type": "thinking", "thinking": part.text, "signature": part.signature}
    if isinstance(part, Redacted):
        return {"type": "redacted_thinking", "data": part.data}
    if isinstance(part, Call):
        arguments = part.arguments if isinstance(part.arguments, dict) else {}
        return {"type": "tool_use", "id": part.id, "name": part.name, "input": arguments}
    return {"type": "text", "text": part}


def _deltas(part: str | Thought | Redacted | Call) -> list[dict[str, Any]]:
    if isinstance(part, Thought):
        signed = {"type": "signature_delta", "signature": part.signature}
        return [{"type": "thinking_delta", "thinking": part.text}, signed]
    if isinstance(part, Call):
        return [{"type": "input_json_delta", "partial_json": part.encoded_arguments}]
    return [{"type": "text_delta", "text": part}] if isinstance(part, str) else []


def _anthropic_usage(used: Used) -> dict[str, Any]:
    return {
        "input_tokens": used.input,
        "output_tokens": used.output,
        "cache_read_input_tokens": used.cached,
        "cache_creation_input_tokens": used.written,
        "output_tokens_details": {"thinking_tokens": used.reasoning},
    }
