"""The routes from a request to the test server: each is a model, and with it a client library and a protocol."""

from dataclasses import dataclass, field

from server import ModelServer

from assay.models import Models, ModelSettings, Prices

PRICES = Prices()


@dataclass(frozen=True)
class Route:
    """A model, and the settings that make it use this route."""

    name: str
    label: str
    settings: dict = field(default_factory=dict)

    def models(self, server: ModelServer, **settings) -> Models:
        """Return models that call `server`, by default without retries of Inspect's."""
        base_url = server.anthropic if self.name.startswith("anthropic/") else server.openai
        merged = ModelSettings(**{"base_url": base_url, "max_retries": 0, **self.settings, **settings})
        return Models({"main": self.name}, merged, prices=PRICES)


CHAT = Route("openai/gpt-4o", "chat")
# If this were not set, Inspect would first send a request of its own to find out whether summaries are visible.
RESPONSES = Route("openai/gpt-5", "responses", {"reasoning_summary": "auto"})
MESSAGES = Route("anthropic/claude-sonnet-5-5", "messages", {"options": {"streaming": False}, "max_tokens": 1000})
STREAMED = Route("anthropic/claude-sonnet-5-5", "streamed-messages")
COMPATIBLE = Route("openai-api/local/thing", "compatible")
ROUTES = [CHAT, RESPONSES, MESSAGES, STREAMED, COMPATIBLE]
