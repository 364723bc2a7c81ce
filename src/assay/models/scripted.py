"""Answers that are written down beforehand, for tests and demonstrations: the model `scripted/PATH`. Loads Inspect.

`scripted/replies.json` answers the first question with the first reply of a JSON list, the second with the second, and
so on. What counts are the questions that one trial asks this script, in the order of asking; `Models` counts them, and
goes on counting in a trial that is taken up again. So trials at the same time do not disturb each other, a resumed
trial hears what it would have heard, and a summary in between has its place in the list. Roles that should not share a
script get one each.

`scripted/brain.py:answer` calls the function `answer(messages, tools)` for each question. As long as it depends on
nothing but what it is told, it is repeatable in whatever order questions come: the choice for agents that ask several
things at once.

A reply is a text, or a table:

    text, reasoning   what is said
    tool_calls        a list of tables with `name`, `arguments` (a text is read as JSON, and need not be any) and `id`
    stop              why it ends there, if not for the usual reason
    usage             the tokens, as in `Usage`; if not given, four letters count as one
    fault             what goes wrong instead: "rate limit", "down", "refused" or "too long"
    times             after how many tries the fault is over and the reply is given; if not given, never
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
    ModelAPI,
    ModelInfo,
    ModelOutput,
    ModelUsage,
    StopReason,
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
from assay.models.convert import from_inspect
from assay.models.messages import Message, Stop, Tool, Usage
from assay.tasks import load_plugin

LETTERS_PER_TOKEN = 4
STATUS = {"rate limit": 429, "down": 503, "refused": 401}
STOP_REASONS: dict[Stop, StopReason] = {"length": "max_tokens", "filter": "content_filter", "too_long": "model_length"}


class Called(Model):
    """A tool that a script calls."""

    name: str
    arguments: dict[str, Any] | str = Field(default_factory=dict)
    id: str | None = None


class Line(Model):
    """One reply of a script."""

    text: str = ""
    reasoning: str | None = None
    tool_calls: tuple[Called, ...] = ()
    stop: Stop | None = None
    usage: Usage | None = None
    fault: Literal["rate limit", "down", "refused", "too long"] | None = None
    times: int | None = None


Written = str | dict[str, Any] | Line
Function = Callable[[list[Message], list[Tool]], Written]
LINES: TypeAdapter[list[str | Line]] = TypeAdapter(list[str | Line])


@dataclass
class Place:
    """Which question of its trial is being asked, and how often it was tried."""

    number: int
    tries: int = 0


place: ContextVar[Place] = ContextVar("place")


class ScriptedFault(Exception):
    """A fault that the script asks for."""

    def __init__(self, fault: str) -> None:
        super().__init__(f"the script says: {fault}")
        self.status_code = STATUS[fault]


@modelapi(name="scripted")
class Scripted(ModelAPI):
    """A model that says what a script tells it to."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - as Inspect declares it; never changed
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        # Inspect would look for a model with a similar name, among all that it knows.
        set_model_info(f"scripted/{model_name}", ModelInfo())
        path, _, function = model_name.partition(":")
        self._lines = () if function else read_lines(Path(path))
        self._function = load_function(Path(path), function) if function else None

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        """The reply for this place of the trial."""
        now = place.get()
        now.tries += 1
        line = self._line(input, tools, now.number)
        if line.fault and (line.times is None or now.tries <= line.times):
            if line.fault == "too long":
                return ModelOutput.from_content(self.model_name, "as the script says", stop_reason="model_length")
            raise ScriptedFault(line.fault)
        return _output(self.model_name, line, input, now.number)

    def should_retry(self, ex: BaseException) -> bool:
        """Limits and outages pass; a refusal stays."""
        return isinstance(ex, ScriptedFault) and ex.status_code in (429, 503)

    def retry_wait(self) -> wait_base:
        """Nobody is there who would need a rest."""
        return wait_none()

    def _line(self, input: list[ChatMessage], tools: list[ToolInfo], number: int) -> Line:
        if self._function:
            told = [from_inspect(message, f"scripted/{self.model_name}") for message in input]
            offered = [
                Tool(
                    name=tool.name,
                    description=tool.description,
                    parameters=tool.parameters.model_dump(exclude_none=True),
                )
                for tool in tools
            ]
            return _as_line(self._function(told, offered))
        if number >= len(self._lines):
            raise IndexError(f"the script ends after {len(self._lines)} replies, and one more was asked for")
        return self._lines[number]


def read_lines(path: Path) -> tuple[Line, ...]:
    """The replies of a JSON script."""
    try:
        return tuple(_as_line(line) for line in LINES.validate_python(json.loads(path.read_text())))
    except OSError as error:
        raise UsageError(f"the script {path} cannot be read: {error.strerror}") from None
    except ValidationError as error:
        fault = error.errors()[-1]
        raise UsageError(f"the script {path}: {'.'.join(map(str, fault['loc']))}: {fault['msg']}") from None
    except ValueError as error:
        raise UsageError(f"the script {path} is not JSON: {error}") from None


def load_function(path: Path, name: str) -> Function:
    """The function of a Python script."""
    found: Function | None = getattr(load_plugin(path), name, None)
    if not callable(found):
        raise UsageError(f"the script {path} defines no function {name}")
    return found


def _as_line(written: Written) -> Line:
    if isinstance(written, Line):
        return written
    return Line(text=written) if isinstance(written, str) else Line.model_validate(written)


def _output(name: str, line: Line, input: Sequence[ChatMessage], number: int) -> ModelOutput:
    calls = [_tool_call(call, f"call-{number}-{index}") for index, call in enumerate(line.tool_calls)]
    content: str | list[Content] = line.text
    if line.reasoning is not None:
        content = [ContentReasoning(reasoning=line.reasoning), ContentText(text=line.text)]
    usual: StopReason = "tool_calls" if calls else "stop"
    message = ChatMessageAssistant(content=content, tool_calls=calls or None)
    reason = STOP_REASONS.get(line.stop, usual) if line.stop else usual
    choice = ChatCompletionChoice(message=message, stop_reason=reason)
    return ModelOutput(model=name, choices=[choice], usage=_model_usage(line, input))


def _tool_call(call: Called, id: str) -> InspectToolCall:
    arguments, fault = call.arguments, None
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError as error:
            fault = f"{call.arguments!r} is not JSON: {error}"
        if not isinstance(arguments, dict):
            arguments, fault = {}, fault or f"{call.arguments!r} is no JSON object"
    return InspectToolCall(id=call.id or id, function=call.name, arguments=arguments, parse_error=fault)


def _model_usage(line: Line, input: Sequence[ChatMessage]) -> ModelUsage:
    # Without usage, Inspect would count tokens with tables that it fetches from the network.
    said = len(line.text) + len(line.reasoning or "") + sum(len(str(call.arguments)) for call in line.tool_calls)
    usage = line.usage or Usage(
        input_tokens=sum(len(message.text) for message in input) // LETTERS_PER_TOKEN,
        output_tokens=said // LETTERS_PER_TOKEN,
    )
    return ModelUsage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=usage.total_tokens,
        input_tokens_cache_read=usage.cached_tokens,
        input_tokens_cache_write=usage.cache_write_tokens,
        reasoning_tokens=usage.reasoning_tokens,
    )
