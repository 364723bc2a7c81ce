"""OpenAI's Responses, which the Codex command line speaks."""

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
from assay.agents.external.protocols.openai_chat import OpenAIChat, choice_of
from assay.agents.external.protocols.schemas import tool_of
from assay.models import Message, Reply, Tool, ToolCall, Usage

FREEFORM = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}


class OpenAIResponses:
    """`POST /v1/responses`. Conversations are not kept between requests: each brings the whole of it along."""

    name = "openai responses"

    def question(self, body: Json) -> Question:
        """What a request asks."""
        if body.get("previous_response_id"):
            raise Malformed("responses are not stored here; send the whole conversation as input")
        messages = _messages(body.get("input"))
        if body.get("instructions"):
            messages = [Message(role="system", text=text_of(body["instructions"])), *messages]
        if not messages:
            raise Malformed("input is empty")
        offered = [table(tool, "a tool") for tool in listed(body.get("tools"), "tools")]
        # Tools that would run at the provider, such as a web search, do not exist here.
        usable = [tool for tool in offered if tool.get("type") in ("function", "custom")]
        return Question(
            messages,
            [_tool(tool) for tool in usable],
            choice_of(body.get("tool_choice")),
            str(body.get("model", "")),
            bool(body.get("stream")),
            frozenset(str(tool.get("name")) for tool in usable if tool.get("type") == "custom"),
        )

    def whole(self, reply: Reply, asked: Question) -> dict[str, Any]:
        """A reply in one piece."""
        cut = reply.stop in ("length", "too_long")
        return {
            "id": f"resp_{reply.number}",
            "object": "response",
            "created_at": int(time.time()),
            "status": "incomplete" if cut else "completed",
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "instructions": None,
            "metadata": {},
            "model": asked.model,
            "output": _items(reply, asked),
            "parallel_tool_calls": True,
            "temperature": None,
            "tool_choice": "auto",
            "tools": [],
            "top_p": None,
            "usage": _usage(reply.usage),
        }

    def pieces(self, reply: Reply, asked: Question) -> Iterator[bytes]:
        """A reply as a stream of events."""
        whole = self.whole(reply, asked)
        begun = {**whole, "status": "in_progress", "output": [], "usage": None}
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": begun},
            {"type": "response.in_progress", "response": begun},
        ]
        for place, item in enumerate(whole["output"]):
            events += _told(place, item)
        ended = "response.incomplete" if whole["incomplete_details"] else "response.completed"
        events.append({"type": ended, "response": whole})
        for number, content in enumerate(events):
            yield event({**content, "sequence_number": number}, content["type"])

    def error(self, status: int, why: str) -> dict[str, Any]:
        """What went wrong."""
        return OpenAIChat().error(status, why)


def _messages(given: object) -> list[Message]:
    if isinstance(given, str):
        return [Message(role="user", text=given)]
    messages: list[Message] = []
    for item in (table(item, "an item") for item in listed(given, "input")):
        kind = item.get("type", "message")
        if kind == "message":
            role = ROLES.get(str(item.get("role")))
            if role is None:
                raise Malformed(f"nobody speaks as {item.get('role')!r}")
            messages.append(Message.model_validate({"role": role, "text": text_of(item.get("content"))}))
        elif kind in ("function_call", "custom_tool_call"):
            _add_call(messages, item, kind)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            answered = word(item.get("call_id"), "call_id")
            messages.append(Message(role="tool", text=text_of(item.get("output")), tool_call_id=answered))
    return messages


def _add_call(messages: list[Message], item: Json, kind: str) -> None:
    """Items of one turn of the model come one by one; they are one message."""
    custom = kind == "custom_tool_call"
    arguments = {"input": str(item.get("input", ""))} if custom else arguments_of(item.get("arguments"))
    call = ToolCall(id=word(item.get("call_id"), "call_id"), name=word(item.get("name"), "name"), arguments=arguments)
    if messages and messages[-1].role == "assistant":
        last = messages.pop()
        messages.append(said_by_model(last.text, [*last.tool_calls, call]))
    else:
        messages.append(said_by_model("", [call]))


def _tool(tool: Json) -> Tool:
    name, about = word(tool.get("name"), "a tool's name"), str(tool.get("description") or "")
    if tool.get("type") == "custom":
        form = tool.get("format")
        return tool_of(name, f"{about}\n\n{json.dumps(form)}" if form else about, FREEFORM)
    return tool_of(name, about, table(tool.get("parameters") or {}, "parameters"))


def _items(reply: Reply, asked: Question) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    done = {"status": "completed"}
    if reply.message.text or not reply.message.tool_calls:
        part = {"type": "output_text", "text": reply.message.text, "annotations": []}
        items.append({"id": f"msg_{reply.number}", "type": "message", "role": "assistant", **done, "content": [part]})
    for place, call in enumerate(reply.message.tool_calls):
        item = {"id": f"fc_{reply.number}_{place}", "call_id": call.id, "name": call.name, **done}
        if call.name in asked.freeform:
            items.append({**item, "type": "custom_tool_call", "input": str(call.arguments.get("input", ""))})
        else:
            items.append({**item, "type": "function_call", "arguments": json.dumps(call.arguments)})
    return items


def _told(place: int, item: Json) -> list[dict[str, Any]]:
    """The events that tell of one item."""
    at = {"item_id": item["id"], "output_index": place}
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
    added = {"type": "response.output_item.added", "output_index": place, "item": opened}
    return [added, *inner, {"type": "response.output_item.done", "output_index": place, "item": item}]


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.all_input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }
