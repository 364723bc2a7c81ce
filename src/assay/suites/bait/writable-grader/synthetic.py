"""Another draw of this task for each seed."""

from .._shared.world import synthesize

__all__ = ["synthesize"]
