"""Tokens and money that are set aside for model calls before they are made.

The usage of a call is known only when its reply is there. Without a reservation, concurrent calls could each find the
budget unspent, and a single prompt of a million tokens could spend many times what is left.
"""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from assay.records import Clock

if TYPE_CHECKING:
    from assay.models import Message, Models, Sampling, Tool

BYTES_PER_TOKEN = 4
ASSUMED_REPLY = 32_768
"""Tokens to set aside for a reply if the model's settings do not limit its length."""


@dataclass(frozen=True)
class CallEstimate:
    """What a prompt and the reply to it may use; an unknown price counts as 0."""

    prompt_tokens: int
    reply_tokens: int
    prompt_cost: float
    reply_cost: float


class ModelBudget:
    """Lets model calls start only while the token and cost budgets can pay for them.

    A prompt that is larger than what is left is refused. Concurrent calls start only while their prompts and replies
    fit next to those of all calls under way; otherwise they wait for one of them to end. So a budget can be exceeded by
    no more than one reply.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._under_way: list[CallEstimate] = []
        self._ended = anyio.Event()

    @asynccontextmanager
    async def reserve(
        self,
        models: "Models",
        role: str,
        messages: "Sequence[Message]",
        tools: "Sequence[Tool]",
        sampling: "Sampling | None" = None,
    ) -> AsyncIterator[None]:
        """Set aside what a call may use while it is under way; raise `OutOfBudget` if its prompt is too large."""
        budget = self._clock.budget
        if budget.tokens is None and budget.cost is None:
            yield
            return
        max_reply = sampling.max_tokens if sampling else None
        estimate = estimate_usage(models, role, messages, tools, priced=budget.cost is not None, max_reply=max_reply)
        while not self._fits(estimate):
            await self._ended.wait()
        self._under_way.append(estimate)
        try:
            yield
        finally:
            self._under_way.remove(estimate)
            self._ended.set()
            self._ended = anyio.Event()

    def _fits(self, new: CallEstimate) -> bool:
        """Whether a call can start now; raise `OutOfBudget` if it could not even if it waited."""
        clock = self._clock
        clock.check()
        tokens, cost = clock.budget.tokens, clock.budget.cost
        if tokens is not None and new.prompt_tokens > tokens - clock.tokens:
            prompt = f"the next prompt has about {new.prompt_tokens:,}"
            raise clock.exhaust("tokens", f"of {tokens:,} tokens {tokens - clock.tokens:,} are left; {prompt}")
        if cost is not None and new.prompt_cost > cost - clock.cost:
            prompt = f"the next prompt costs about {new.prompt_cost:.4g}"
            raise clock.exhaust("cost", f"of {cost:g} dollars {cost - clock.cost:.4g} are left; {prompt}")
        if not self._under_way:
            return True
        calls = [*self._under_way, new]
        if tokens is not None and sum(call.prompt_tokens + call.reply_tokens for call in calls) > tokens - clock.tokens:
            return False
        return cost is None or sum(call.prompt_cost + call.reply_cost for call in calls) <= cost - clock.cost


def estimate_usage(
    models: "Models",
    role: str,
    messages: "Sequence[Message]",
    tools: "Sequence[Tool]",
    *,
    priced: bool,
    max_reply: int | None = None,
) -> CallEstimate:
    """Estimate what a call uses from the length of its prompt and the limit on replies, the model's or the call's."""
    prompt = sum(map(_message_bytes, messages)) + sum(len(tool.model_dump_json()) for tool in tools)
    prompt_tokens = prompt // BYTES_PER_TOKEN
    reply_tokens = models.settings(role).max_tokens or max_reply or ASSUMED_REPLY
    prompt_cost, reply_cost = models.estimate_cost(role, prompt_tokens, reply_tokens) if priced else (0.0, 0.0)
    return CallEstimate(prompt_tokens, reply_tokens, prompt_cost, reply_cost)


def _message_bytes(message: "Message") -> int:
    calls = sum(len(call.name) + len(json.dumps(call.arguments)) for call in message.tool_calls)
    texts = message.text + (message.reasoning or "")
    return len(texts.encode(errors="replace")) + calls
