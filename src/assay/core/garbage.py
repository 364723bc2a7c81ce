"""The only place that manages what happens to memory that is no longer used.

Python's garbage collector looks for reference cycles among all objects. Among tens of thousands of new objects that
stay, this takes a third of the time of creating them. The C library returns large freed memory to the system at once,
which clears it before it gives it out again.
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


def keep_freed_memory() -> None:
    """Have up to 64 MB of freed memory stay with this process: arrays of a megabyte then take a quarter of the time.

    The GNU C library adapts to the largest block that was freed so far; other ones do what they do.
    """
    bytes(2**25 - 2**16)
