"""Conversion of messages, tools and settings to Inspect's types, and of messages back. Imports Inspect."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    Content,
    ContentReasoning,
    GenerateConfig,
    get_model_info,
)
from inspect_ai.tool import ToolCall as InspectToolCall
from inspect_ai.tool import ToolInfo, ToolParams

from assay.core.errors import UsageError
from assay.core.untrusted import find_unrecordable, replace_surrogates
from assay.models.messages import Message, Tool, ToolCall
from assay.models.settings import ModelSettings, Sampling


def to_inspect(message: Message, name: str) -> ChatMessage:
    """Return a message as Inspect's, for the model `name`.

    A provider's native data goes back only to the model that produced it, because others cannot read it, and only if
    the message was not changed since.
    """
    if message.role == "system":
        return ChatMessageSystem(content=message.text)
    if message.role == "user":
        return ChatMessageUser(content=message.text)
    if message.role == "tool":
        return ChatMessageTool(content=message.text, tool_call_id=message.tool_call_id)
    plain = _assistant(message)
    if message.native and message.native["model"] == name:
        native = ChatMessageAssistant.model_validate(message.native["message"])
        if native.text == plain.text and native.tool_calls == plain.tool_calls:
            return native
    return plain


def to_inspect_all(messages: Sequence[Message], name: str) -> list[ChatMessage]:
    """Return a conversation as Inspect's; messages of tools also get the name of the tool."""
    tools = {call.id: call.name for message in messages for call in message.tool_calls}
    converted = [to_inspect(message, name) for message in messages]
    for message in converted:
        if isinstance(message, ChatMessageTool) and message.tool_call_id:
            message.function = tools.get(message.tool_call_id)
    return converted


def from_inspect(message: ChatMessage, name: str, state: dict[str, Any] | None = None) -> Message:
    """Return a message as ours; `native` is set only where the plain fields would lose something."""
    if not isinstance(message, ChatMessageAssistant):
        call_id = message.tool_call_id if isinstance(message, ChatMessageTool) else None
        return Message(role=message.role, text=message.text, tool_call_id=call_id)
    message = _replace_surrogates(_refuse_arguments(message))
    plain = Message(
        role="assistant",
        text=message.text,
        tool_calls=tuple(
            ToolCall(id=call.id, name=call.function, arguments=call.arguments, parse_error=call.parse_error)
            for call in message.tool_calls or ()
        ),
        reasoning=_reasoning(message.content),
    )
    dumped = _dump(message)
    if dumped == _dump(_assistant(plain)) and not state:
        return plain
    native: dict[str, Any] = {"model": name, "message": dumped}
    if state:
        native["memory"] = state
    return plain.model_copy(update={"native": native})


def tool_info(tool: Tool) -> ToolInfo:
    """Return a tool as Inspect's; raise an error if the conversion would lose a part of its schema."""
    try:
        info = ToolInfo(
            name=tool.name, description=tool.description, parameters=ToolParams.model_validate(tool.parameters)
        )
    except ValueError as error:
        raise UsageError(f"Tool {tool.name}: its parameters are not a JSON schema of an object: {error}") from None
    if lost := _lost(tool.parameters, info.parameters.model_dump(exclude_none=True)):
        raise UsageError(f"Tool {tool.name}: Inspect does not pass {lost} to models; put it into a description instead")
    return info


def generate_config(settings: ModelSettings, name: str) -> GenerateConfig:
    """Return settings for the model `name` as Inspect's.

    Providers count reasoning as part of the output, so a model that reasons gets room for it. Our tools are never
    replaced by a provider's own of the same name.
    """
    attempt = settings.attempt_timeout
    return GenerateConfig(
        temperature=settings.temperature,
        top_p=settings.top_p,
        max_tokens=None if settings.max_tokens is None else max_reply(settings, name),
        stop_seqs=list(settings.stop) or None,
        seed=settings.seed,
        reasoning_effort=settings.reasoning_effort,
        reasoning_tokens=settings.reasoning_tokens,
        reasoning_summary=settings.reasoning_summary,
        parallel_tool_calls=settings.parallel_tool_calls,
        max_connections=settings.max_connections,
        max_retries=settings.max_retries,
        attempt_timeout=max(1, round(attempt)) if attempt is not None else None,
        internal_tools=False,
    )


def max_reply(settings: ModelSettings, name: str) -> int | None:
    """Return the most tokens that a reply of the model `name` can have, with its reasoning; None if that is unknown."""
    info = get_model_info(name)
    most = info.output_tokens if info else None
    if settings.max_tokens is None:
        return most
    if info and info.reasoning and _reasons(name, settings, info.reasoning_effort_default):
        return min(settings.max_tokens + settings.reasoning_room, most or 10**9)
    return settings.max_tokens


def _reasons(name: str, settings: ModelSettings, default_effort: str | None) -> bool:
    """Whether a model that can reason does so with these settings."""
    if name.startswith("anthropic/"):
        return bool(settings.reasoning_effort or settings.reasoning_tokens)
    return (settings.reasoning_effort or default_effort) != "none"


def sampling_config(sampling: Sampling, settings: ModelSettings) -> GenerateConfig:
    """Return how one request is sampled, as far as the settings leave it open."""
    fields = sampling.unless_set(settings)
    stop = fields.pop("stop", None)
    return GenerateConfig(
        **fields, stop_seqs=list(stop) if stop else None, logprobs=True if "top_logprobs" in fields else None
    )


def _refuse_arguments(message: ChatMessageAssistant) -> ChatMessageAssistant:
    """Report arguments that cannot be recorded, such as deeply nested ones, as a parse error of their call."""
    reasons = [find_unrecordable(call.arguments) for call in message.tool_calls or ()]
    if not any(reasons):
        return message
    calls = [
        replace(call, arguments={}, parse_error=f"The arguments cannot be used: {reason}.") if reason else call
        for call, reason in zip(message.tool_calls or (), reasons, strict=True)
    ]
    return message.model_copy(update={"tool_calls": calls})


def _replace_surrogates(message: ChatMessageAssistant) -> ChatMessageAssistant:
    """Replace lone surrogates by question marks: they can neither be written to a file nor sent to a provider."""
    dumped = _dump(message)
    encodable = replace_surrogates(dumped)
    return message if encodable == dumped else ChatMessageAssistant.model_validate(encodable)


def _assistant(message: Message) -> ChatMessageAssistant:
    calls = [
        InspectToolCall(id=call.id, function=call.name, arguments=call.arguments, parse_error=call.parse_error)
        for call in message.tool_calls
    ]
    return ChatMessageAssistant(content=message.text, tool_calls=calls or None)


def _dump(message: ChatMessageAssistant) -> dict[str, Any]:
    # Inspect's id of a message is random, and none of the three matters later.
    content = message.model_dump(mode="json", exclude_none=True, exclude={"id", "model", "source"})
    match content["content"]:
        case [{"type": "text", "text": text, **rest}] if not rest:
            content["content"] = text
    return content


def _reasoning(content: str | list[Content]) -> str | None:
    if isinstance(content, str):
        return None
    blocks = [block for block in content if isinstance(block, ContentReasoning)]
    # Hidden reasoning arrives encrypted, at best with a summary.
    texts = [block.summary or ("" if block.redacted else block.reasoning) for block in blocks]
    return "\n\n".join(text for text in texts if text) or None


def _lost(schema: Any, copy: Any, path: str = "parameters") -> str | None:
    """Return the path of the first part of a schema that is missing from its copy."""
    if isinstance(schema, dict) and isinstance(copy, dict):
        parts = [(key, value, copy.get(key)) for key, value in schema.items() if value is not None]
    elif isinstance(schema, list) and isinstance(copy, list) and len(schema) == len(copy):
        parts = [(index, value, copy[index]) for index, value in enumerate(schema)]
    else:
        return None if schema == copy else path
    for key, value, copied in parts:
        if lost := _lost(value, copied, f"{path}.{key}"):
            return lost
    return None
