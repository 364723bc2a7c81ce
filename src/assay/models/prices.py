"""The cost of tokens: list prices from the package `genai-prices`, overridden by prices that the user gives.

A local model costs nothing.
"""

from collections.abc import Mapping

from pydantic import Field

from assay.core.quantities import Model
from assay.models.messages import Usage

# Inspect's name of a provider -> the name in genai-prices. Others have no list price: the lookup of genai-prices is
# fuzzy, and would price any server that speaks OpenAI's protocol as OpenAI.
_PROVIDERS = {
    "anthropic": "anthropic",
    "azureai": "azure",
    "bedrock": "aws",
    "cloudflare": "cloudflare",
    "deepseek": "deepseek",
    "fireworks": "fireworks",
    "google": "google",
    "grok": "x-ai",
    "groq": "groq",
    "mistral": "mistral",
    "moonshot": "moonshotai",
    "openai": "openai",
    "openrouter": "openrouter",
    "perplexity": "perplexity",
    "together": "together",
}
_SCRIPTED = ("scripted/", "mockllm/")


class Price(Model):
    """US dollars per million tokens; a missing price for the provider's cache is the price of input."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)
    cache_write: float | None = Field(default=None, ge=0)

    def cost(self, usage: Usage) -> float:
        """Return the cost of `usage` in US dollars."""
        cached = self.input if self.cached is None else self.cached
        cache_write = self.input if self.cache_write is None else self.cache_write
        dollars_per_million = (
            usage.input_tokens * self.input
            + usage.output_tokens * self.output
            + usage.cached_tokens * cached
            + usage.cache_write_tokens * cache_write
        )
        return dollars_per_million / 1e6


class Prices(Model):
    """Prices by model: the user's own first, then list prices. An unknown price is None, which is not the same as 0.

    A key is the name of a model, or the start of a name followed by `*`; the longest match counts.
    """

    models: Mapping[str, Price] = Field(default_factory=dict)

    def cost(self, name: str, usage: Usage) -> float | None:
        """Return the cost of one request to a model, or None if its price is unknown."""
        own = self.own_price(name)
        return own.cost(usage) if own else _list_price(name, usage)

    def own_price(self, name: str) -> Price | None:
        """Return the user's own price of a model, if there is one."""
        matches = [key for key in self.models if _matches(key, name)]
        return self.models[max(matches, key=len)] if matches else None

    def is_free(self, name: str) -> bool:
        """Whether a model costs nothing: it runs here, is a script, or its price is 0."""
        return name.startswith(_SCRIPTED) or self.cost(name, Usage(input_tokens=10**6, output_tokens=10**6)) == 0


def _matches(key: str, name: str) -> bool:
    return name.startswith(key.removesuffix("*")) if key.endswith("*") else name == key


def _list_price(name: str, usage: Usage) -> float | None:
    inspect_provider, _, model = name.partition("/")
    if inspect_provider == "local":
        return 0.0
    provider = _PROVIDERS.get(inspect_provider)
    if provider is None:
        return None
    import genai_prices  # 1.5 MB of tables, needed only after the first paid reply

    counts = genai_prices.Usage(
        input_tokens=usage.all_input_tokens,
        cache_read_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        output_tokens=usage.output_tokens,
    )
    try:
        return float(genai_prices.calc_price(counts, model_ref=model, provider_id=provider).total_price)
    except LookupError:
        return None
