"""The ways from a question to the test server: each is a model, and with it a client and a protocol."""

from dataclasses import dataclass, field

from server import ModelServer

from assay.models import Models, ModelSettings, Prices

PRICES = Prices.load()


@dataclass(frozen=True)
class Way:
    """A model, and the settings with which it takes this way."""

    name: str
    label: str
    settings: dict = field(default_factory=dict)

    def models(self, server: ModelServer, **settings) -> Models:
        """Models that ask `server`, and do not ask again what failed."""
        base_url = server.anthropic if self.name.startswith("anthropic/") else server.openai
        asked = ModelSettings(**{"base_url": base_url, "max_retries": 0, **self.settings, **settings})
        return Models({"main": self.name}, asked, prices=PRICES)


CHAT = Way("openai/gpt-4o", "chat")
# If this were not set, Inspect would first ask on its own whether it may see summaries.
RESPONSES = Way("openai/gpt-5", "responses", {"reasoning_summary": "auto"})
WHOLE = Way("anthropic/claude-sonnet-5-5", "messages", {"options": {"streaming": False}, "max_tokens": 1000})
STREAMED = Way("anthropic/claude-sonnet-5-5", "streamed-messages")
COMPATIBLE = Way("openai-api/local/thing", "compatible")
WAYS = [CHAT, RESPONSES, WHOLE, STREAMED, COMPATIBLE]
