"""Everything that asking a model needs, loaded by importing this: for processes that others are forked from.

Inspect reads its tables of models and finds its plug-ins when the first question is put, which takes longer than a
small trial. So a question is put here, to a model that only pretends to be one.
"""

import anyio
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from assay.models import inspect_client

__all__ = ["inspect_client"]


async def _ask() -> None:
    answer = ModelOutput.from_content("mockllm/model", "Well.")
    # Without usage, Inspect would count tokens with tables that it fetches from the network.
    answer.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    await get_model("mockllm/model", memoize=False, custom_outputs=[answer]).generate("Are you there?")


anyio.run(_ask)
