"""Tokens and money that are set aside for model calls before they are made.

The usage of a call is known only when its reply is there. Without a reservation, concurrent calls could each find the
budget unspent, and a single prompt of a million tokens could spend many times what is left.
"""

import hashlib
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from assay.records import Clock

if TYPE_CHECKING:
    from assay.models import Message, Models, Sampling, Tool, Usage

TOKENS_PER_MESSAGE = 16
"""Tokens that a provider may add to each message and tool call, for its role and its limits."""
KNOWN_PROMPTS = 64
"""Prompts whose tokens are remembered, because others may begin with them."""
ASSUMED_REPLY = 32_768
"""Tokens to set aside for a reply if nothing limits its length."""


@dataclass(frozen=True)
class CallEstimate:
    """The most that a prompt may use, and what the reply to it may; an unknown price counts as 0."""

    prompt_tokens: int
    reply_tokens: int
    prompt_cost: float
    reply_cost: float


class ModelBudget:
    """Lets model calls start only while the token and cost budgets can pay for them.

    A prompt that may be larger than what is left is refused. Concurrent calls start only while their prompts and
    replies fit next to those of all calls under way; otherwise they wait for one of them to end. So a budget can be
    exceeded by no more than one reply.

    How many tokens a text has is known only to the provider; an agent may write one of which every byte is a token. So
    each byte counts as one, except in the beginning of a prompt that was sent before, whose tokens the provider said.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._under_way: list[CallEstimate] = []
        self._ended = anyio.Event()
        self._known: dict[bytes, int] = {}

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
        prompt_tokens = self._bound_tokens(models.name(role), messages, tools)
        estimate = estimate_usage(models, role, prompt_tokens, priced=budget.cost is not None, max_reply=max_reply)
        while not self._fits(estimate):
            await self._ended.wait()
        self._under_way.append(estimate)
        try:
            yield
        finally:
            self._under_way.remove(estimate)
            self._ended.set()
            self._ended = anyio.Event()

    def learn(
        self, models: "Models", role: str, messages: "Sequence[Message]", tools: "Sequence[Tool]", usage: "Usage"
    ) -> None:
        """Remember how many tokens a prompt has, by the reply to it."""
        if usage.all_input_tokens and messages:
            *_, (digest, _) = _digest_prefixes(models.name(role), messages, tools)
            self._known.pop(digest, None)
            self._known[digest] = usage.all_input_tokens
            if len(self._known) > KNOWN_PROMPTS:
                del self._known[next(iter(self._known))]

    def _bound_tokens(self, model: str, messages: "Sequence[Message]", tools: "Sequence[Tool]") -> int:
        """Return the most tokens that a prompt can have."""
        tokens = 0
        for digest, size in _digest_prefixes(model, messages, tools):
            tokens = min(tokens + size, self._known.get(digest, tokens + size))
        return tokens

    def _fits(self, new: CallEstimate) -> bool:
        """Whether a call can start now; raise `OutOfBudget` if it could not even if it waited."""
        clock = self._clock
        clock.check()
        tokens, cost = clock.budget.tokens, clock.budget.cost
        if tokens is not None and new.prompt_tokens > tokens - clock.tokens:
            prompt = f"the next prompt may have {new.prompt_tokens:,}"
            raise clock.exhaust("tokens", f"of {tokens:,} tokens {tokens - clock.tokens:,} are left; {prompt}")
        if cost is not None and new.prompt_cost > cost - clock.cost:
            prompt = f"the next prompt may cost {new.prompt_cost:.4g}"
            raise clock.exhaust("cost", f"of {cost:g} dollars {cost - clock.cost:.4g} are left; {prompt}")
        if not self._under_way:
            return True
        calls = [*self._under_way, new]
        if tokens is not None and sum(call.prompt_tokens + call.reply_tokens for call in calls) > tokens - clock.tokens:
            return False
        return cost is None or sum(call.prompt_cost + call.reply_cost for call in calls) <= cost - clock.cost


def estimate_usage(
    models: "Models", role: str, prompt_tokens: int, *, priced: bool, max_reply: int | None = None
) -> CallEstimate:
    """Return what a call may use, by the tokens of its prompt and the limit on replies, the model's or the call's."""
    reply_tokens = models.max_reply(role, max_reply) or ASSUMED_REPLY
    prompt_cost, reply_cost = models.estimate_cost(role, prompt_tokens, reply_tokens) if priced else (0.0, 0.0)
    return CallEstimate(prompt_tokens, reply_tokens, prompt_cost, reply_cost)


def _digest_prefixes(
    model: str, messages: "Sequence[Message]", tools: "Sequence[Tool]"
) -> "Iterator[tuple[bytes, int]]":
    """Yield for the tools, and then for each message, the digest of the prompt so far and what it adds at most."""
    schemas = "".join(tool.model_dump_json() for tool in tools).encode()
    digest = hashlib.sha256(model.encode() + b"\0" + schemas)
    yield digest.digest(), len(schemas) + TOKENS_PER_MESSAGE * len(tools)
    for message in messages:
        calls = [(call.id, call.name, json.dumps(call.arguments)) for call in message.tool_calls]
        parts = [message.role, message.text, message.reasoning or "", message.tool_call_id or "", *sum(calls, ())]
        contents = [part.encode(errors="replace") for part in parts]
        size = sum(map(len, contents)) + TOKENS_PER_MESSAGE * (1 + len(calls))
        if message.native:  # encrypted reasoning, which only the provider can read
            size = max(size, len(json.dumps(message.native)))
        digest.update(json.dumps([*map(len, contents)]).encode() + b"".join(contents))
        yield digest.digest(), size
