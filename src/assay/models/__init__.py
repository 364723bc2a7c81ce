"""Who thinks: the one door to language models, the roles they play, what they use and what that costs.

    prices = Prices.load()
    async with Models({"main": "openai/gpt-5", "fast": "openai/gpt-5-mini"}, prices=prices) as models:
        models.check()
        reply = await models.ask("main", [Message(role="user", text="Which model fits this table?")])

Models are named as Inspect names them: `openai/…`, `anthropic/…`, `google/…`, `openai-api/SERVICE/…` for anything that
speaks OpenAI's protocol, and `scripted/PATH` for answers that are written down beforehand. Keys come from the
environment (`OPENAI_API_KEY`, `ANTHROPIC_API_KEY`, …) and are never part of a setting or a record. Inspect itself takes
a second or two to load; the first `check` or `ask` does it.
"""

from assay.models.client import Models
from assay.models.messages import Message, Reply, Stop, Tool, ToolCall, Usage
from assay.models.prices import Price, Prices
from assay.models.settings import ModelSettings

__all__ = [
    "Message",
    "ModelSettings",
    "Models",
    "Price",
    "Prices",
    "Reply",
    "Stop",
    "Tool",
    "ToolCall",
    "Usage",
]
