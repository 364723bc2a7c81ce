"""The one door to Inspect, and through it to every provider. Loads Inspect; imported when a model is really asked."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import anyio
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.tool import ToolChoice, ToolFunction

from assay.core.errors import AssayError, PromptTooLong
from assay.models import provider_state, scripted
from assay.models.convert import from_inspect, generate_config, to_inspect_all, tool_info
from assay.models.errors import not_answered, not_opened, too_late
from assay.models.messages import Message, Stop, Tool, Usage
from assay.models.settings import ModelSettings

STOPS: dict[str, Stop] = {
    "stop": "stop",
    "max_tokens": "length",
    "model_length": "too_long",
    "tool_calls": "tool_calls",
    "content_filter": "filter",
}
Result = TypeVar("Result")


@dataclass(frozen=True)
class Answer:
    """What came back through the door; `usage` has no cost yet, and is None where the provider does not tell it.

    `waited` is the time apart from the one request that was answered: failed tries, pauses, queueing, and the few
    milliseconds that preparing it takes.
    """

    message: Message
    stop: Stop
    usage: Usage | None
    served: str | None
    seconds: float
    waited: float


class InspectClient:
    """A model that can be asked."""

    def __init__(self, name: str, settings: ModelSettings) -> None:
        self._name, self._settings = name, settings
        try:
            # Not shared with others: clients belong to the event loop they were first used in.
            self._model = get_model(
                name,
                config=generate_config(settings),
                base_url=settings.base_url,
                memoize=False,
                **settings.options,  # type: ignore[arg-type]
            )
        except Exception as error:  # setting up a client is the provider's code: anything may be missing
            raise not_opened(name, error) from error

    async def ask(
        self, messages: Sequence[Message], tools: Sequence[Tool], number: int, choice: str | None = None
    ) -> Answer:
        """Put one question; `ModelError` if nobody answers it, `PromptTooLong` if it is too long to be answered."""
        conversation = to_inspect_all(messages, self._name)
        offered = [tool_info(tool) for tool in tools]

        async def generate() -> Answer:
            scripted.place.set(scripted.Place(number))
            provider_state.recall(messages, self._name)
            started = time.monotonic()
            output = await self._model.generate(conversation, offered, _choice(choice, tools))
            return self._answer(output, messages, time.monotonic() - started)

        try:
            with anyio.move_on_after(self._settings.timeout):
                return await _apart(generate)
        except AssayError:
            raise
        except Exception as error:  # whatever comes out of a provider's client means that there is no answer
            raise not_answered(self._name, error) from error
        raise too_late(self._name, self._settings.timeout)

    async def close(self) -> None:
        """Close its connections."""
        await self._model.api.aclose()

    def _answer(self, output: ModelOutput, messages: Sequence[Message], seconds: float) -> Answer:
        if output.empty:
            raise ValueError("the reply is empty")
        stop, usage = STOPS.get(output.stop_reason, "unknown"), _usage(output.usage)
        # A reply that fills the context to its end was paid for and is kept; one that never began is an error.
        if stop == "too_long" and not (usage and usage.output_tokens):
            raise PromptTooLong(f"{self._name}: the conversation is too long for the model: {output.completion}")
        message = from_inspect(output.message, self._name, provider_state.learned(output.message, messages, self._name))
        worked = seconds if output.time is None else min(output.time, seconds)
        return Answer(message, stop, usage, output.model or None, seconds, seconds - worked)


def _choice(choice: str | None, tools: Sequence[Tool]) -> ToolChoice | None:
    if choice is None or choice in ("any", "none"):
        return choice  # type: ignore[return-value]
    return ToolFunction(name=choice) if any(tool.name == choice for tool in tools) else None


async def _apart(work: Callable[[], Awaitable[Result]]) -> Result:
    """Do `work` in a context of its own, which ends with it.

    Inspect keeps a transcript of all calls in a context variable; in ours it would grow until the process ends.
    """
    results: list[Result] = []

    async def run() -> None:
        results.append(await work())

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(run)
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return results[0]


def _usage(usage: ModelUsage | None) -> Usage | None:
    if usage is None:
        return None
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.input_tokens_cache_read or 0,
        cache_write_tokens=usage.input_tokens_cache_write or 0,
        reasoning_tokens=usage.reasoning_tokens or 0,
    )
