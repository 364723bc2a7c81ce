"""Our messages and tools as Inspect's, and back. Loads Inspect."""

from collections.abc import Sequence
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
)
from inspect_ai.tool import ToolCall as InspectToolCall
from inspect_ai.tool import ToolInfo, ToolParams

from assay.core.errors import UsageError
from assay.models.messages import Message, Tool, ToolCall
from assay.models.settings import ModelSettings


def to_inspect(message: Message, name: str) -> ChatMessage:
    """A message as Inspect wants it for the model `name`.

    What a provider added for itself goes back only to the model that said it, because others cannot read it, and only
    as long as nobody has changed what was said.
    """
    if message.role == "system":
        return ChatMessageSystem(content=message.text)
    if message.role == "user":
        return ChatMessageUser(content=message.text)
    if message.role == "tool":
        return ChatMessageTool(content=message.text, tool_call_id=message.tool_call_id)
    plain = _assistant(message)
    if message.native and message.native["model"] == name:
        said = ChatMessageAssistant.model_validate(message.native["message"])
        if said.text == plain.text and said.tool_calls == plain.tool_calls:
            return said
    return plain


def to_inspect_all(messages: Sequence[Message], name: str) -> list[ChatMessage]:
    """A conversation as Inspect wants it: as `to_inspect`, and answers of tools name the tool."""
    tools = {call.id: call.name for message in messages for call in message.tool_calls}
    converted = [to_inspect(message, name) for message in messages]
    for message in converted:
        if isinstance(message, ChatMessageTool) and message.tool_call_id:
            message.function = tools.get(message.tool_call_id)
    return converted


def from_inspect(message: ChatMessage, name: str, memory: dict[str, Any] | None = None) -> Message:
    """A message as we keep it; `native` only where the plain fields would not bring everything back."""
    if not isinstance(message, ChatMessageAssistant):
        answered = message.tool_call_id if isinstance(message, ChatMessageTool) else None
        return Message(role=message.role, text=message.text, tool_call_id=answered)
    message = _writable(message)
    plain = Message(
        role="assistant",
        text=message.text,
        tool_calls=tuple(
            ToolCall(id=call.id, name=call.function, arguments=call.arguments, fault=call.parse_error)
            for call in message.tool_calls or ()
        ),
        reasoning=_reasoning(message.content),
    )
    said = _dump(message)
    if said == _dump(_assistant(plain)) and not memory:
        return plain
    native = {"model": name, "message": said, **({"memory": memory} if memory else {})}
    return plain.model_copy(update={"native": native})


def tool_info(tool: Tool) -> ToolInfo:
    """A tool as Inspect wants it; what its schema says must survive the conversion, or nobody could rely on it."""
    try:
        info = ToolInfo(
            name=tool.name, description=tool.description, parameters=ToolParams.model_validate(tool.parameters)
        )
    except ValueError as error:
        raise UsageError(f"tool {tool.name}: its parameters are no JSON schema of an object: {error}") from None
    if lost := _lost(tool.parameters, info.parameters.model_dump(exclude_none=True)):
        raise UsageError(f"tool {tool.name}: models would not be told about {lost}; say it in a description instead")
    return info


def generate_config(settings: ModelSettings) -> GenerateConfig:
    """Our settings as Inspect's; tools are always sent as we describe them, never swapped for a provider's own."""
    attempt = settings.attempt_timeout
    return GenerateConfig(
        temperature=settings.temperature,
        top_p=settings.top_p,
        max_tokens=settings.max_tokens,
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


def _writable(message: ChatMessageAssistant) -> ChatMessageAssistant:
    """The message with a question mark for each half of a character, which no file and no provider takes."""
    said = _dump(message)
    whole = _whole(said)
    return message if whole == said else ChatMessageAssistant.model_validate(whole)


def _whole(said: Any) -> Any:
    if isinstance(said, str):
        return said.encode(errors="replace").decode()
    if isinstance(said, dict):
        return {_whole(key): _whole(value) for key, value in said.items()}
    return [_whole(part) for part in said] if isinstance(said, list) else said


def _assistant(message: Message) -> ChatMessageAssistant:
    calls = [
        InspectToolCall(id=call.id, function=call.name, arguments=call.arguments, parse_error=call.fault)
        for call in message.tool_calls
    ]
    return ChatMessageAssistant(content=message.text, tool_calls=calls or None)


def _dump(message: ChatMessageAssistant) -> dict[str, Any]:
    # Inspect's own number of the message is drawn anew each time and means nothing later; neither do the last two.
    content = message.model_dump(mode="json", exclude_none=True, exclude={"id", "model", "source"})
    match content["content"]:
        case [{"type": "text", "text": text, **rest}] if not rest:
            content["content"] = text
    return content


def _reasoning(content: str | list[Content]) -> str | None:
    if isinstance(content, str):
        return None
    blocks = [block for block in content if isinstance(block, ContentReasoning)]
    # What providers keep to themselves comes encrypted, at best with a summary beside it.
    texts = [block.summary or ("" if block.redacted else block.reasoning) for block in blocks]
    return "\n\n".join(text for text in texts if text) or None


def _lost(ours: Any, theirs: Any, where: str = "parameters") -> str | None:
    """The first place where a schema says something that its copy does not."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key, value in ours.items():
            inner = f"{where}.{key}"
            if value is not None and (lost := _lost(value, theirs.get(key), inner)):
                return lost
        return None
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = enumerate(zip(ours, theirs, strict=True))
        return next((lost for place, (a, b) in pairs if (lost := _lost(a, b, f"{where}.{place}"))), None)
    return None if ours == theirs else where
