"""Settings of a model: sampling, reasoning, timeouts, retries."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from assay.core.quantities import Model, Seconds


class ModelSettings(Model):
    """How a model is called; what is not set is left to its provider.

    A transient failure (rate limit, overload, lost connection) is retried after 3 seconds, then 6, 12, … up to
    `max_retries` times and until `timeout` has passed; without any connection, only twice. Before that, most providers'
    own clients retry twice at once, or when the `retry-after` header says. A single attempt ends after
    `attempt_timeout`.

    If `reasoning_summary` is not set, Inspect finds out whether OpenAI shows reasoning summaries to this account by
    sending one tiny request of its own per process, which is not part of the usage.

    `max_tokens` limits a reply without its reasoning: models that reason may use `reasoning_room` tokens in addition,
    because their providers count both.

    `options` are passed to Inspect's provider unchanged (`responses_api`, `cache_ttl`, `emulate_tools`, …).
    """

    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, gt=0)
    stop: tuple[str, ...] = ()
    seed: int | None = None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    reasoning_tokens: int | None = Field(default=None, gt=0)
    reasoning_room: int = Field(default=32_000, ge=0)
    reasoning_summary: Literal["none", "concise", "detailed", "auto"] | None = None
    parallel_tool_calls: bool | None = None
    base_url: str | None = None
    options: dict[str, JsonValue] = Field(default_factory=dict)
    max_connections: int | None = Field(default=None, gt=0)
    attempt_timeout: Seconds | None = None
    timeout: Seconds = 3600.0
    max_retries: int = Field(default=8, ge=0)


class Sampling(Model):
    """How one request asks to be sampled; settings of the plan take precedence."""

    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, gt=0, le=10**7)
    stop: tuple[Annotated[str, Field(max_length=200)], ...] = Field(default=(), max_length=16)
    seed: int | None = Field(default=None, ge=-(2**63), lt=2**63)
    top_logprobs: int | None = Field(default=None, ge=1, le=20, description="log probabilities to return per token")

    def unless_set(self, settings: ModelSettings) -> dict[str, Any]:
        """Return what is asked for here and not fixed by settings."""
        asked = self.model_dump(exclude_defaults=True)
        return {name: value for name, value in asked.items() if getattr(settings, name, None) in (None, ())}


MAIN = "main"
OTHERS = "*"
"""Stands for all roles without settings of their own."""


def settings_by_role(content: Mapping[str, Any]) -> dict[str, ModelSettings]:
    """Return the settings of each role from those of a plan; raise pydantic's `ValidationError` if they are wrong.

    Settings at the top apply to all roles; a table named after a role (`{"fast": {"temperature": 0.01}}`) changes some
    of them for that role.
    """
    common = {name: value for name, value in content.items() if not is_role(name, value)}
    roles = {MAIN: {}} | {name: value for name, value in content.items() if is_role(name, value)}
    every = ModelSettings.model_validate(common)
    return {OTHERS: every} | {role: ModelSettings.model_validate({**common, **own}) for role, own in roles.items()}


def is_role(name: str, value: object) -> bool:
    """Whether an entry of a plan's model settings is the table of a role, not a setting."""
    return isinstance(value, Mapping) and name not in ModelSettings.model_fields
