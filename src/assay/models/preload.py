"""Importing this module loads everything a model call needs, for processes that others are forked from.

Inspect reads its model tables and finds its plug-ins at the first request, which takes longer than a small trial. So a
request is sent here, to a mock model.
"""

import anyio
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from assay.models import inspect_client

__all__ = ["inspect_client"]


async def _send_request() -> None:
    output = ModelOutput.from_content("mockllm/model", "Hello.")
    # Without usage, Inspect would count tokens with tables that it downloads.
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    await get_model("mockllm/model", memoize=False, custom_outputs=[output]).generate("Hello?")


anyio.run(_send_request)
