"""The client of one model, on top of Inspect. Imports Inspect, so it is imported only when a model is called."""

import time
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

import anyio
from inspect_ai.model import GenerateConfig, Logprobs, ModelOutput, ModelUsage, RetryDecision, get_model
from inspect_ai.tool import ToolChoice, ToolFunction
from tenacity import RetryError

from assay.core.errors import AssayError, ModelError, PromptTooLong
from assay.core.text import one_line
from assay.models import local as _local  # noqa: F401 - registers the provider
from assay.models import provider_state
from assay.models.convert import from_inspect, generate_config, sampling_config, to_inspect_all, tool_info
from assay.models.errors import request_error, setup_error, timeout_error
from assay.models.messages import Message, Reply, Stop, TokenLogprob, Tool, Usage
from assay.models.prices import Prices
from assay.models.server_checks import find_connection_error
from assay.models.settings import ModelSettings, Sampling

STOPS: dict[str, Stop] = {
    "stop": "stop",
    "max_tokens": "length",
    "model_length": "too_long",
    "tool_calls": "tool_calls",
    "content_filter": "filter",
}
_TEST_PROMPT = "Reply with the word OK."
_TEST_TIMEOUT = 120.0
MAX_REFUSED = 3
"""Attempts without any connection after which a request fails: a trial can wait for a dead server at no cost."""
T = TypeVar("T")


@dataclass
class _Attempts:
    """The failed attempts at a request, and how many of them had no connection."""

    failed: int = 0
    refused: int = 0


_attempts: ContextVar[_Attempts] = ContextVar("attempts")


class InspectClient:
    """A model that can be called. `report` is called with the reason before each retry of a request."""

    def __init__(
        self, name: str, settings: ModelSettings, prices: Prices, report: Callable[[str], None] = lambda trouble: None
    ) -> None:
        self._name, self._settings, self._prices, self._report = name, settings, prices, report
        try:
            # Not shared: a provider's client belongs to the event loop that first used it.
            self._model = get_model(
                name,
                config=generate_config(settings, name),
                base_url=settings.base_url,
                memoize=False,
                **settings.options,  # type: ignore[arg-type]
            )
        except Exception as error:  # the provider's own code: anything may be missing
            raise setup_error(name, error) from error
        self._decide_retry = self._model.api.should_retry
        self._model.api.should_retry = self._should_retry  # type: ignore[method-assign]

    @property
    def address(self) -> str | None:
        """The base URL of the model's server, if it has one."""
        client = getattr(self._model.api, "client", None)
        address = str(getattr(client, "base_url", "") or "")
        return address if address.startswith(("http://", "https://")) else None

    async def ask(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        number: int,
        choice: str | None = None,
        sampling: Sampling | None = None,
    ) -> Reply:
        """Send one request; raises `PromptTooLong` if it is too long, `ModelError` if there is no answer."""
        conversation = to_inspect_all(messages, self._name)
        offered = [tool_info(tool) for tool in tools]
        config = sampling_config(sampling, self._settings) if sampling else GenerateConfig()

        async def generate() -> Reply:
            _attempts.set(_Attempts())
            provider_state.restore(messages, self._name)
            started = time.monotonic()
            output = await self._model.generate(conversation, offered, _tool_choice(choice, tools), config)
            return self._reply(output, messages, number, time.monotonic() - started)

        try:
            with anyio.move_on_after(self._settings.timeout):
                return await _in_own_context(generate)
        except AssayError:
            raise
        except Exception as error:  # whatever a provider's client raises means that there is no answer
            raise _request_error(self._name, error) from error
        raise timeout_error(self._name, self._settings.timeout)

    async def answers(self, number: int) -> bool:
        """Whether the model answers a short prompt within two minutes, with content."""
        with anyio.move_on_after(_TEST_TIMEOUT):
            try:
                reply = await self.ask([Message(role="user", text=_TEST_PROMPT)], (), number)
            except (ModelError, PromptTooLong):
                return False
            return not reply.cut_off_before_content
        return False

    async def split_tokens(self, text: str) -> list[bytes] | None:
        """Return the tokens of a text, or None if the provider does not say which they are."""
        split: Callable[[str], Awaitable[list[bytes]]] | None = getattr(self._model.api, "split_tokens", None)
        if split is None:
            return None
        try:
            return await split(text)
        except Exception as error:  # as above
            raise _request_error(self._name, error) from error

    async def close(self) -> None:
        """Close the connections of the client."""
        await self._model.api.aclose()

    def _should_retry(self, ex: Exception) -> bool | RetryDecision:
        """Decide as the provider's client does, but stop early where nobody answers."""
        decision = self._decide_retry(ex)
        if not decision:
            return decision
        attempts, refused = _attempts.get(), find_connection_error(ex)
        attempts.failed += 1
        attempts.refused += refused is not None
        self._report(f"{self._name}: retry {attempts.failed}, {refused or one_line(str(ex), 100)}")
        return decision if attempts.refused < MAX_REFUSED else False

    def _reply(self, output: ModelOutput, messages: Sequence[Message], number: int, seconds: float) -> Reply:
        if output.empty:
            raise ValueError("the reply is empty")
        stop = STOPS.get(output.stop_reason, "unknown")
        # A reply that fills the context to the end was paid for and is kept; one that never began is an error.
        if stop == "too_long" and not (output.usage and output.usage.output_tokens):
            raise PromptTooLong(f"{self._name}: the conversation is too long for the model: {output.completion}")
        state = provider_state.collect(output.message, messages, self._name)
        working = seconds if output.time is None else min(output.time, seconds)
        return Reply(
            message=from_inspect(output.message, self._name, state),
            stop=stop,
            usage=self._usage(output.usage),
            model=self._name,
            served=output.model or None,
            number=number,
            seconds=round(seconds, 3),
            waited=round(seconds - working, 3),
            logprobs=_logprobs(output.choices[0].logprobs),
        )

    def _usage(self, reported: ModelUsage | None) -> Usage:
        if reported is None:  # a provider that reports no usage: the cost is unknown
            return Usage()
        usage = Usage(
            input_tokens=reported.input_tokens,
            output_tokens=reported.output_tokens,
            cached_tokens=reported.input_tokens_cache_read or 0,
            cache_write_tokens=reported.input_tokens_cache_write or 0,
            reasoning_tokens=reported.reasoning_tokens or 0,
        )
        return usage.model_copy(update={"cost": self._prices.cost(self._name, usage)})


def _request_error(name: str, error: Exception) -> ModelError:
    """Return the error of a request; of one that was retried, that of the last attempt."""
    if not isinstance(error, RetryError):
        return request_error(name, error)
    last = error.last_attempt
    cause = last.exception()
    return request_error(name, cause if isinstance(cause, Exception) else error, last.attempt_number)


def _logprobs(reported: Logprobs | None) -> tuple[TokenLogprob, ...] | None:
    if reported is None:
        return None
    logprobs = []
    for token in reported.content:
        top: dict[str, float] = {}
        for other in token.top_logprobs or ():
            top.setdefault(other.token, other.logprob)  # parts of a character look alike; the most likely comes first
        logprobs.append(TokenLogprob(token=token.token, logprob=token.logprob, top=top))
    return tuple(logprobs)


def _tool_choice(choice: str | None, tools: Sequence[Tool]) -> ToolChoice | None:
    if choice is None or choice in ("any", "none"):
        return choice  # type: ignore[return-value]
    return ToolFunction(name=choice) if any(tool.name == choice for tool in tools) else None


async def _in_own_context(work: Callable[[], Awaitable[T]]) -> T:
    """Run `work` in a context of its own, which ends with it.

    Inspect appends every call to a transcript in a context variable; in ours it would grow until the process ends.
    """
    results: list[T] = []

    async def run() -> None:
        results.append(await work())

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(run)
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from errors.exceptions[0].__cause__
    return results[0]
