"""Google's generateContent, which the Gemini command line speaks."""

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
from assay.models import Message, Reply, Tool, ToolCall

FINISHED = {"length": "MAX_TOKENS", "filter": "SAFETY", "too_long": "MAX_TOKENS"}
STATUS = {400: "INVALID_ARGUMENT", 402: "FAILED_PRECONDITION", 404: "NOT_FOUND"}


class Gemini:
    """`POST /v1beta/models/NAME:generateContent`; the model and whether it streams are in the path."""

    name = "gemini"

    def question(self, body: Json) -> Question:
        """What a request asks."""
        instruction = body.get("systemInstruction") or body.get("system_instruction")
        messages = []
        if instruction:
            messages.append(Message(role="system", text=text_of(_parts(table(instruction, "systemInstruction")))))
        unanswered: list[ToolCall] = []
        for content in listed(body.get("contents"), "contents"):
            messages += _messages(table(content, "a content"), unanswered)
        if not messages:
            raise Malformed("contents is empty")
        groups = [table(group, "a tool") for group in listed(body.get("tools"), "tools")]
        declared = [
            tool for group in groups for tool in listed(group.get("functionDeclarations"), "functionDeclarations")
        ]
        return Question(
            messages, [_tool(table(tool, "a function")) for tool in declared], _choice(body.get("toolConfig"))
        )

    def whole(self, reply: Reply, asked: Question) -> dict[str, Any]:
        """A reply in one piece."""
        texts = [{"text": reply.message.text}] if reply.message.text or not reply.message.tool_calls else []
        calls = [
            {"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}}
            for call in reply.message.tool_calls
        ]
        content = {"role": "model", "parts": [*texts, *calls]}
        usage = reply.usage
        return {
            "candidates": [{"content": content, "finishReason": FINISHED.get(reply.stop, "STOP"), "index": 0}],
            "usageMetadata": {
                "promptTokenCount": usage.all_input_tokens,
                "cachedContentTokenCount": usage.cached_tokens,
                "candidatesTokenCount": usage.output_tokens - usage.reasoning_tokens,
                "thoughtsTokenCount": usage.reasoning_tokens,
                "totalTokenCount": usage.total_tokens,
            },
            "modelVersion": asked.model,
            "responseId": str(reply.number),
        }

    def pieces(self, reply: Reply, asked: Question) -> Iterator[bytes]:
        """A reply as a stream of events."""
        yield event(self.whole(reply, asked))

    def error(self, status: int, why: str) -> dict[str, Any]:
        """What went wrong."""
        return {"error": {"code": status, "message": why, "status": STATUS.get(status, "INTERNAL")}}


def _parts(content: Json) -> list[dict[str, Any]]:
    return [table(part, "a part") for part in listed(content.get("parts"), "parts")]


def _messages(content: Json, unanswered: list[ToolCall]) -> list[Message]:
    """One content of theirs is several messages of ours where it answers calls, which need not have ids."""
    parts = _parts(content)
    spoken = [
        part
        for part in parts
        if "functionCall" not in part and "functionResponse" not in part and not part.get("thought")
    ]
    if content.get("role") == "model":
        calls = [
            _call(table(part["functionCall"], "functionCall"), len(unanswered))
            for part in parts
            if "functionCall" in part
        ]
        unanswered += calls
        return [said_by_model(text_of(spoken), calls)]
    results = []
    for part in parts:
        if "functionResponse" in part:
            response = table(part["functionResponse"], "functionResponse")
            text = json.dumps(response.get("response"))
            results.append(Message(role="tool", text=text, tool_call_id=_answered(response, unanswered)))
    return [*results, *([Message(role="user", text=text_of(spoken))] if spoken else [])]


def _call(call: Json, number: int) -> ToolCall:
    name = word(call.get("name"), "a function's name")
    return ToolCall(id=str(call.get("id") or f"{name}-{number}"), name=name, arguments=arguments_of(call.get("args")))


def _answered(response: Json, unanswered: list[ToolCall]) -> str:
    """Which call a response answers: the one it names, else the first of that function that is still open."""
    name, given = response.get("name"), response.get("id")
    for call in unanswered:
        if call.id == given or (given is None and call.name == name):
            unanswered.remove(call)
            return call.id
    raise Malformed(f"nobody called {name!r}")


def _tool(tool: Json) -> Tool:
    schema = tool.get("parametersJsonSchema") or tool.get("parameters") or {}
    name = word(tool.get("name"), "a function's name")
    return tool_of(name, str(tool.get("description") or ""), table(schema, "parameters"))


def _choice(config: object) -> str | None:
    if config is None:
        return None
    mode = table(table(config, "toolConfig").get("functionCallingConfig") or {}, "functionCallingConfig").get("mode")
    return {"ANY": "any", "NONE": "none"}.get(str(mode))
