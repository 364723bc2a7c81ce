"""How a model is asked."""

from typing import Any, Literal

from pydantic import Field, JsonValue

from assay.core.quantities import Model, Seconds

PATIENCE = {"max_connections", "attempt_timeout", "timeout", "max_retries"}


class ModelSettings(Model):
    """How a model is asked; what is not set is left to its provider.

    A try that fails in a passing way (rate limit, overload, lost connection) is repeated after 3 seconds, then 6, 12, …
    up to `max_retries` times and until `timeout` is over. Before that, most providers' own clients try twice more at
    once, or when the provider's `retry-after` says. One try is given up after `attempt_timeout`.

    Where `reasoning_summary` is not set, Inspect finds out whether OpenAI lets this account see summaries by one tiny
    question of its own per process, which is not in the usage.

    `options` go to Inspect's provider as they are (`responses_api`, `cache_ttl`, `emulate_tools`, …).
    """

    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, gt=0)
    stop: tuple[str, ...] = ()
    seed: int | None = None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    reasoning_tokens: int | None = Field(default=None, gt=0)
    reasoning_summary: Literal["none", "concise", "detailed", "auto"] | None = None
    parallel_tool_calls: bool | None = None
    base_url: str | None = None
    options: dict[str, JsonValue] = Field(default_factory=dict)
    max_connections: int | None = Field(default=None, gt=0)
    attempt_timeout: Seconds | None = None
    timeout: Seconds = 3600.0
    max_retries: int = Field(default=8, ge=0)

    def shaping(self) -> dict[str, Any]:
        """The settings that can change what is answered, as opposed to how long we are ready to wait for it."""
        return self.model_dump(mode="json", exclude_defaults=True, exclude=PATIENCE)
