"""What is said to a model and what it answers: plain data that a record can keep and give back."""

from typing import Any, Literal

from pydantic import Field

from assay.core.quantities import Model

Role = Literal["system", "user", "assistant", "tool"]
Stop = Literal["stop", "length", "tool_calls", "filter", "too_long", "unknown"]


class ToolCall(Model):
    """A model's wish to use a tool; `fault` says why its arguments could not be read, if they could not."""

    id: str
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    fault: str | None = None


class Message(Model):
    """One turn of a conversation.

    A message of a tool says with `tool_call_id` which call it answers. `native` is what the provider wants to see again
    when the conversation goes on (signed or encrypted reasoning); nobody but `assay.models` looks into it.
    """

    role: Role
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    reasoning: str | None = None
    native: dict[str, Any] | None = None


class Tool(Model):
    """A tool that a model may ask for: its name, what it does, and a JSON schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, Any] = Field(default_factory=lambda: {"type": "object", "properties": {}})


class Usage(Model):
    """The tokens that were used and what they cost in US dollars; a `cost` of None says that the price is unknown.

    The kinds of input do not overlap: `input_tokens` are those at full price, `cached_tokens` were read from the
    provider's cache and `cache_write_tokens` written to it. `reasoning_tokens` are a part of `output_tokens`.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = None

    @classmethod
    def nothing(cls) -> "Usage":
        """What is used before anything is asked: no tokens, at no cost. Begin sums with it."""
        return cls(cost=0.0)

    @property
    def all_input_tokens(self) -> int:
        """Everything that was read, at whatever price."""
        return self.input_tokens + self.cached_tokens + self.cache_write_tokens

    @property
    def total_tokens(self) -> int:
        """Everything that was read and written."""
        return self.all_input_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            cost=None if self.cost is None or other.cost is None else self.cost + other.cost,
        )


class Reply(Model):
    """What a model answered, and what that took.

    `seconds` is the time from question to answer, and `waited` the part of it in which nobody worked: failed tries,
    pauses before the next one, queueing for a connection. `number` counts the questions that this model was asked
    before in the same trial. A `cached` reply cost nothing; its tokens are those of the reply that was paid for.
    """

    message: Message
    stop: Stop
    usage: Usage
    model: str
    served: str | None = None
    number: int
    seconds: float
    waited: float
    cached: bool = False
