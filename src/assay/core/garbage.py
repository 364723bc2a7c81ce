"""The only place that manages Python's garbage collector, which looks for reference cycles among all objects.

Among tens of thousands of new objects that stay, this takes a third of the time of creating them.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pause_garbage_collection(*, keep: bool = False) -> Iterator[None]:
    """Do not look for cycles; what was created meanwhile counts as old or, with `keep`, is never searched again.

    Modules are worth keeping: they stay for good.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.freeze()
            if not keep:
                gc.unfreeze()
            gc.enable()


def share_with_forks() -> None:
    """Keep all present objects out of later searches, which would make each forked process copy their memory."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000)
