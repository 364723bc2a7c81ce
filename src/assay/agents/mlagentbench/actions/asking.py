"""Models asked in the middle of an action: when they fail, the action does, and the trial goes on."""

from collections.abc import Iterator
from contextlib import contextmanager

from assay.agents.observation import ActionFailed
from assay.core.errors import ModelError, PromptTooLong


@contextmanager
def asking() -> Iterator[None]:
    """What goes wrong at a model becomes something that the agent is told."""
    try:
        yield
    except PromptTooLong as error:
        raise ActionFailed("too long", f"That is too long for the assistant: {error}.") from None
    except ModelError as error:
        raise ActionFailed("connection", f"The assistant cannot be asked: {error}.") from None
