"""Language models: one client for every provider, models by role, token usage and cost.

    async with Models({"main": "openai/gpt-5", "fast": "openai/gpt-5-mini"}, prices=Prices()) as models:
        models.check()
        reply = await models.ask("main", [Message(role="user", text="Which model fits this table?")])

Start reading at `client.py`. Models are named as in Inspect: `openai/…`, `anthropic/…`, `google/…`,
`openai-api/SERVICE/…` for any endpoint that speaks OpenAI's protocol, `local/smollm2` and `local/PATH.gguf` for a
model that runs in this process, and `scripted/PATH` for replies from a file. API keys come from the environment
(`OPENAI_API_KEY`, `ANTHROPIC_API_KEY`, …) and never enter a setting or a record. Inspect takes a second or two to
import; that happens at the first `check` or `ask`.
"""

from assay.models.client import Models
from assay.models.messages import Message, Reply, Stop, TokenLogprob, Tool, ToolCall, Usage
from assay.models.prices import Price, Prices
from assay.models.settings import MAIN, ModelSettings, Sampling, settings_by_role

__all__ = [
    "MAIN",
    "Message",
    "ModelSettings",
    "Models",
    "Price",
    "Prices",
    "Reply",
    "Sampling",
    "Stop",
    "TokenLogprob",
    "Tool",
    "ToolCall",
    "Usage",
    "settings_by_role",
]
