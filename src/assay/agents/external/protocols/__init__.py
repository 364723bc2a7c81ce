"""The wire formats that external agents use: OpenAI's two, Anthropic's and Google's.

Start with `base.py`, which says what a format must do. Requests come from untrusted code, so every parser is linear in
the size of the request and counts against the limits of `base.RequestLimits`.
"""

from assay.agents.external.protocols.anthropic import AnthropicMessages
from assay.agents.external.protocols.base import ClientRequest, Malformed, RequestLimits, WireProtocol
from assay.agents.external.protocols.gemini import Gemini
from assay.agents.external.protocols.openai_chat import OpenAIChat
from assay.agents.external.protocols.openai_responses import OpenAIResponses

__all__ = [
    "AnthropicMessages",
    "ClientRequest",
    "Gemini",
    "Malformed",
    "OpenAIChat",
    "OpenAIResponses",
    "RequestLimits",
    "WireProtocol",
]
