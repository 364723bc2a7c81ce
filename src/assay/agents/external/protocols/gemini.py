"""Google's generateContent API, which the Gemini command line uses."""

import json
from collections import defaultdict, deque
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
from assay.models import Message, Reply, Tool, ToolCall

FINISH_REASONS = {"length": "MAX_TOKENS", "filter": "SAFETY", "too_long": "MAX_TOKENS"}
STATUS_NAMES = {400: "INVALID_ARGUMENT", 402: "FAILED_PRECONDITION", 404: "NOT_FOUND"}


class Gemini:
    """`POST /v1beta/models/NAME:generateContent`; the path says which model, and whether to stream."""

    name = "gemini"

    def parse_request(self, body: Json, limits: RequestLimits) -> ClientRequest:
        """Return the request in a body."""
        instruction = body.get("systemInstruction") or body.get("system_instruction")
        messages = []
        if instruction:
            parts = _parse_parts(require_object(instruction, "systemInstruction"))
            messages.append(Message(role="system", text=join_text(parts)))
        open_calls = _OpenCalls()
        for content in require_list(body.get("contents"), "contents", MAX_MESSAGES):
            messages += _parse_content(require_object(content, "a content"), open_calls, limits)
        if not messages:
            raise Malformed("contents is empty")
        groups = [require_object(group, "a tool") for group in require_list(body.get("tools"), "tools", MAX_TOOLS)]
        declared = [
            tool
            for group in groups
            for tool in require_list(group.get("functionDeclarations"), "functionDeclarations", MAX_TOOLS)
        ]
        tools = [_parse_tool(require_object(tool, "a function"), limits) for tool in declared]
        sampling = parse_sampling(
            require_object(body.get("generationConfig") or {}, "generationConfig"),
            temperature="temperature",
            top_p="topP",
            max_tokens="maxOutputTokens",
            stop="stopSequences",
            seed="seed",
        )
        return ClientRequest(messages, tools, _parse_choice(body.get("toolConfig")), sampling=sampling)

    def format_reply(self, reply: Reply, request: ClientRequest) -> dict[str, Any]:
        """Return a reply as one JSON object."""
        texts = [{"text": reply.message.text}] if reply.message.text or not reply.message.tool_calls else []
        calls = [
            {"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}}
            for call in reply.message.tool_calls
        ]
        content = {"role": "model", "parts": [*texts, *calls]}
        usage = reply.usage
        return {
            "candidates": [{"content": content, "finishReason": FINISH_REASONS.get(reply.stop, "STOP"), "index": 0}],
            "usageMetadata": {
                "promptTokenCount": usage.all_input_tokens,
                "cachedContentTokenCount": usage.cached_tokens,
                "candidatesTokenCount": usage.output_tokens - usage.reasoning_tokens,
                "thoughtsTokenCount": usage.reasoning_tokens,
                "totalTokenCount": usage.total_tokens,
            },
            "modelVersion": request.model,
            "responseId": str(reply.number),
        }

    def stream_reply(self, reply: Reply, request: ClientRequest) -> Iterator[bytes]:
        """Return a reply as a stream of events."""
        yield format_event(self.format_reply(reply, request))

    def format_error(self, status: int, message: str, *, too_long: bool = False) -> dict[str, Any]:
        """Return an error."""
        return {"error": {"code": status, "message": message, "status": STATUS_NAMES.get(status, "INTERNAL")}}


class _OpenCalls:
    """Calls that have no response yet, found by id or by function in constant time."""

    def __init__(self) -> None:
        self._count = 0
        self._by_id: defaultdict[str, deque[int]] = defaultdict(deque)
        self._by_name: defaultdict[str, deque[int]] = defaultdict(deque)
        self._ids: dict[int, str] = {}

    def add(self, call: Json, limits: RequestLimits) -> ToolCall:
        """Add a call of the model; one without an id gets one."""
        name = require_text(call.get("name"), "a function's name")
        call_id = str(call.get("id") or f"{name}-{self._count}")
        self._ids[self._count] = call_id
        self._by_id[call_id].append(self._count)
        self._by_name[name].append(self._count)
        self._count += 1
        return ToolCall(id=call_id, name=name, arguments=limits.load_arguments(call.get("args")))

    def close(self, response: Json) -> str:
        """Return the id of the call that a response answers: the one it names, else the first of that function."""
        name, call_id = response.get("name"), response.get("id")
        if call_id is None:
            candidates = self._by_name.get(name) if isinstance(name, str) else None
        else:
            candidates = self._by_id.get(call_id) if isinstance(call_id, str) else None
        while candidates:
            number = candidates.popleft()
            # Calls that were found through the other index are still in this one.
            if number in self._ids:
                return self._ids.pop(number)
        raise Malformed(f"there is no open call of {name!r}"[:200])


def _parse_parts(content: Json) -> list[dict[str, Any]]:
    return [require_object(part, "a part") for part in require_list(content.get("parts"), "parts")]


def _parse_content(content: Json, open_calls: _OpenCalls, limits: RequestLimits) -> list[Message]:
    """Return the messages of one content: several if it contains responses to calls, which need not have ids."""
    parts = _parse_parts(content)
    spoken = [
        part
        for part in parts
        if "functionCall" not in part and "functionResponse" not in part and not part.get("thought")
    ]
    if content.get("role") == "model":
        calls = [
            open_calls.add(require_object(part["functionCall"], "functionCall"), limits)
            for part in parts
            if "functionCall" in part
        ]
        return [assistant_message(join_text(spoken), calls)]
    messages = []
    for part in parts:
        if "functionResponse" in part:
            response = require_object(part["functionResponse"], "functionResponse")
            text = json.dumps(response.get("response"))
            messages.append(Message(role="tool", text=text, tool_call_id=open_calls.close(response)))
    if spoken:
        messages.append(Message(role="user", text=join_text(spoken)))
    return messages


def _parse_tool(tool: Json, limits: RequestLimits) -> Tool:
    schema = tool.get("parametersJsonSchema") or tool.get("parameters") or {}
    name = require_text(tool.get("name"), "a function's name")
    return make_tool(name, str(tool.get("description") or ""), require_object(schema, "parameters"), limits)


def _parse_choice(config: object) -> str | None:
    if config is None:
        return None
    calling = require_object(config, "toolConfig").get("functionCallingConfig") or {}
    mode = require_object(calling, "functionCallingConfig").get("mode")
    return {"ANY": "any", "NONE": "none"}.get(str(mode))
