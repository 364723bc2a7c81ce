"""Messages, tools, replies and token usage: plain data that a record can store."""

from typing import Any, Literal

from pydantic import Field

from assay.core.quantities import FiniteFloat, Model

Role = Literal["system", "user", "assistant", "tool"]
Stop = Literal["stop", "length", "tool_calls", "filter", "too_long", "unknown"]


class ToolCall(Model):
    """A tool call by a model; `parse_error` says why its arguments could not be parsed."""

    id: str
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    parse_error: str | None = None


class Message(Model):
    """One message of a conversation.

    In a tool's message, `tool_call_id` names the call that it answers. `native` is provider data that must be sent back
    unchanged when the conversation continues (signed or encrypted reasoning); only `assay.models` reads it.
    """

    role: Role
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    reasoning: str | None = None
    native: dict[str, Any] | None = None


class Tool(Model):
    """A tool that a model may call: its name, what it does, and a JSON schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, Any] = Field(default_factory=lambda: {"type": "object", "properties": {}})


class Usage(Model):
    """Token counts and their cost in US dollars; a `cost` of None means that the price is unknown.

    The input counts do not overlap: `input_tokens` are billed at the full price, `cached_tokens` were read from the
    provider's cache and `cache_write_tokens` written to it. `reasoning_tokens` are part of `output_tokens`.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cost: FiniteFloat | None = None

    @classmethod
    def zero(cls) -> "Usage":
        """No tokens at no cost: the start of a sum."""
        return cls(cost=0.0)

    @property
    def all_input_tokens(self) -> int:
        """All tokens of the prompt, at whatever price."""
        return self.input_tokens + self.cached_tokens + self.cache_write_tokens

    @property
    def total_tokens(self) -> int:
        """All tokens of prompt and completion."""
        return self.all_input_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        cost = None
        if self.cost is not None and other.cost is not None:
            cost = self.cost + other.cost
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            cost=cost,
        )


class TokenLogprob(Model):
    """A token of a reply and its log probability, and those of the most likely tokens at its position."""

    token: str
    logprob: FiniteFloat
    top: dict[str, FiniteFloat] = Field(default_factory=dict)


class Reply(Model):
    """A model's answer, with its usage and timing.

    `seconds` is the time from request to answer, and `waited` the part of it spent on failed attempts, pauses before
    retries, and queueing for a connection. `number` counts the earlier requests to this model in the same trial.
    `served` is the model name that the provider reports. `logprobs` are there if the request asked for them.
    """

    message: Message
    stop: Stop
    usage: Usage
    model: str
    served: str | None = None
    number: int
    seconds: float
    waited: float
    logprobs: tuple[TokenLogprob, ...] | None = None

    @property
    def cut_off_before_content(self) -> bool:
        """Whether it ended at the output limit without text or tool calls, as when reasoning used all of it."""
        return self.stop == "length" and not self.message.text.strip() and not self.message.tool_calls
