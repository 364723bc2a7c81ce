"""Processes of Python that import nothing from the current folder, which may be a stranger's.

By default, `python -m` and `python -c` look there first, and so do the fork servers of `multiprocessing`: a file
`random.py` beside a plan would run on this machine.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import forkserver, get_context
from multiprocessing.context import ForkServerContext

_VARIABLE = "PYTHONSAFEPATH"


@contextmanager
def own_path() -> Iterator[None]:
    """Let processes that start meanwhile, and all that these start, import nothing from the current folder."""
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_VARIABLE]
        else:
            os.environ[_VARIABLE] = before


def start_fork_server(*modules: str) -> ForkServerContext:
    """Start the fork server of this process, unless it runs already, with these modules; return its context."""
    context = get_context("forkserver")
    context.set_forkserver_preload(list(modules))
    with own_path():
        forkserver.ensure_running()
    return context
