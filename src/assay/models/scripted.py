"""The model `scripted/PATH`: replies from a file, for tests and demonstrations. Imports Inspect.

`scripted/replies.json` answers the first request with the first reply of a JSON list, the second with the second, and
so on. The requests of one trial to this script are counted, in order; `Models` counts them, and continues the count
when a trial is resumed. So concurrent trials do not disturb each other, a resumed trial gets the replies it would have
got, and a summary in between has its place in the list. Roles that should not share a script get one each.

`scripted/brain.py:answer` calls the function `answer(messages, tools)` for each request. If it depends on nothing but
its arguments, its replies do not depend on the order of requests: use it for agents that make concurrent requests.

A reply is a text, or an object:

    text, reasoning   the content of the message
    tool_calls        a list of objects with `name`, `arguments` (text is parsed as JSON, and may be malformed) and `id`
    stop              the stop reason, if not the usual one
    usage             token counts as in `Usage`; by default, four characters count as one token
    top_logprobs      the log probabilities of the most likely first tokens, by token
    error             what goes wrong instead: "rate limit", "down", "refused" or "too long"
    times             how many attempts fail before the reply is given; by default, all of them
"""

import json
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    Content,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    Logprob,
    Logprobs,
    ModelAPI,
    ModelInfo,
    ModelOutput,
    ModelUsage,
    StopReason,
    TopLogprob,
    modelapi,
    set_model_info,
)
from inspect_ai.tool import ToolCall as InspectToolCall
from inspect_ai.tool import ToolChoice, ToolInfo
from pydantic import Field, TypeAdapter, ValidationError
from tenacity import wait_none
from tenacity.wait import wait_base

from assay.core.errors import UsageError
from assay.core.quantities import Model
from assay.core.text import describe_validation_error
from assay.models.convert import from_inspect
from assay.models.messages import Message, Stop, Tool, Usage
from assay.tasks import load_plugin

CHARACTERS_PER_TOKEN = 4
STATUS_CODES = {"rate limit": 429, "down": 503, "refused": 401}
STOP_REASONS: dict[Stop, StopReason] = {"length": "max_tokens", "filter": "content_filter", "too_long": "model_length"}


class ScriptedCall(Model):
    """A tool call in a script."""

    name: str
    arguments: dict[str, Any] | str = Field(default_factory=dict)
    id: str | None = None


class ScriptedReply(Model):
    """One reply in a script."""

    text: str = ""
    reasoning: str | None = None
    tool_calls: tuple[ScriptedCall, ...] = ()
    stop: Stop | None = None
    usage: Usage | None = None
    top_logprobs: dict[str, float] | None = None
    error: Literal["rate limit", "down", "refused", "too long"] | None = None
    times: int | None = None


AnyReply = str | dict[str, Any] | ScriptedReply
ReplyFunction = Callable[[list[Message], list[Tool]], AnyReply]
REPLIES: TypeAdapter[list[str | ScriptedReply]] = TypeAdapter(list[str | ScriptedReply])


@dataclass
class RequestAttempts:
    """The number of the current request in its trial, and how many attempts were made at it."""

    number: int
    attempts: int = 0


_request: ContextVar[RequestAttempts] = ContextVar("request")


class ScriptedError(Exception):
    """An error from the script."""

    def __init__(self, error: str) -> None:
        super().__init__(f"the script says: {error}")
        self.status_code = STATUS_CODES[error]


@modelapi(name="scripted")
class Scripted(ModelAPI):
    """A model that replies from a script."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - as Inspect declares it; never changed
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        # Otherwise Inspect would search all models it knows for one with a similar name.
        set_model_info(f"scripted/{model_name}", ModelInfo())
        path, _, function = model_name.partition(":")
        self._replies = () if function else read_replies(Path(path))
        self._function = load_function(Path(path), function) if function else None

    def number_request(self, number: int) -> None:
        """Say which request of its trial the next one is; retries of it have the same number."""
        _request.set(RequestAttempts(number))

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        """Return the reply to the current request of the trial."""
        current = _request.get()
        current.attempts += 1
        reply = self._reply(input, tools, current.number)
        if reply.error and (reply.times is None or current.attempts <= reply.times):
            if reply.error == "too long":
                return ModelOutput.from_content(self.model_name, "says the script", stop_reason="model_length")
            raise ScriptedError(reply.error)
        return _output(self.model_name, reply, input, current.number)

    def should_retry(self, ex: BaseException) -> bool:
        """Retry rate limits and outages, but not a refusal."""
        return isinstance(ex, ScriptedError) and ex.status_code in (429, 503)

    def retry_wait(self) -> wait_base:
        """Do not wait before a retry."""
        return wait_none()

    def _reply(self, input: list[ChatMessage], tools: list[ToolInfo], number: int) -> ScriptedReply:
        if self._function:
            messages = [from_inspect(message, f"scripted/{self.model_name}") for message in input]
            offered = [
                Tool(
                    name=tool.name,
                    description=tool.description,
                    parameters=tool.parameters.model_dump(exclude_none=True),
                )
                for tool in tools
            ]
            return _parse_reply(self._function(messages, offered))
        if number >= len(self._replies):
            raise IndexError(f"the script has only {len(self._replies)} replies, and one more was requested")
        return self._replies[number]


def read_replies(path: Path) -> tuple[ScriptedReply, ...]:
    """Read the replies of a JSON script."""
    try:
        return tuple(_parse_reply(reply) for reply in REPLIES.validate_python(json.loads(path.read_text("utf-8"))))
    except OSError as error:
        raise UsageError(f"Cannot read script {path}: {error.strerror}") from None
    except ValidationError as error:
        raise UsageError(f"Script {path}: {describe_validation_error(error)}") from None
    except ValueError as error:
        raise UsageError(f"Script {path} is not JSON: {error}") from None


def load_function(path: Path, name: str) -> ReplyFunction:
    """Load the function of a Python script."""
    function: ReplyFunction | None = getattr(load_plugin(path), name, None)
    if not callable(function):
        raise UsageError(f"Script {path} defines no function {name}")
    return function


def _parse_reply(reply: AnyReply) -> ScriptedReply:
    if isinstance(reply, ScriptedReply):
        return reply
    return ScriptedReply(text=reply) if isinstance(reply, str) else ScriptedReply.model_validate(reply)


def _output(name: str, reply: ScriptedReply, input: Sequence[ChatMessage], number: int) -> ModelOutput:
    calls = [_tool_call(call, f"call-{number}-{index}") for index, call in enumerate(reply.tool_calls)]
    content: str | list[Content] = reply.text
    if reply.reasoning is not None:
        content = [ContentReasoning(reasoning=reply.reasoning), ContentText(text=reply.text)]
    default: StopReason = "tool_calls" if calls else "stop"
    message = ChatMessageAssistant(content=content, tool_calls=calls or None)
    reason = STOP_REASONS.get(reply.stop, default) if reply.stop else default
    choice = ChatCompletionChoice(message=message, stop_reason=reason, logprobs=_logprobs(reply))
    return ModelOutput(model=name, choices=[choice], usage=_model_usage(reply, input))


def _logprobs(reply: ScriptedReply) -> Logprobs | None:
    if not reply.top_logprobs:
        return None
    top = [TopLogprob(token=token, logprob=value) for token, value in reply.top_logprobs.items()]
    first = max(top, key=lambda candidate: candidate.logprob)
    return Logprobs(content=[Logprob(token=first.token, logprob=first.logprob, top_logprobs=top)])


def _tool_call(call: ScriptedCall, id: str) -> InspectToolCall:
    arguments, parse_error = call.arguments, None
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError as error:
            parse_error = f"{call.arguments!r} is not JSON: {error}"
        if not isinstance(arguments, dict):
            arguments, parse_error = {}, parse_error or f"{call.arguments!r} is not a JSON object"
    return InspectToolCall(id=call.id or id, function=call.name, arguments=arguments, parse_error=parse_error)


def _model_usage(reply: ScriptedReply, input: Sequence[ChatMessage]) -> ModelUsage:
    # Without usage, Inspect would count tokens with tables that it downloads.
    written = len(reply.text) + len(reply.reasoning or "") + sum(len(str(call.arguments)) for call in reply.tool_calls)
    usage = reply.usage or Usage(
        input_tokens=sum(len(message.text) for message in input) // CHARACTERS_PER_TOKEN,
        output_tokens=written // CHARACTERS_PER_TOKEN,
    )
    return ModelUsage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=usage.total_tokens,
        input_tokens_cache_read=usage.cached_tokens,
        input_tokens_cache_write=usage.cache_write_tokens,
        reasoning_tokens=usage.reasoning_tokens,
    )
