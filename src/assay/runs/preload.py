"""What every trial needs, loaded by importing this: for the process that those of all trials are forked from."""

import gc
from collections.abc import Iterator
from contextlib import suppress

import anyio._backends._asyncio  # anyio looks for these two when they are first needed
import anyio._core._signals
from pydantic import BaseModel

from assay.core.errors import LabError
from assay.grading.metrics import classification, combine, probability, ranking, regression
from assay.grading.submission.file_signatures import refuse_other_kinds
from assay.lab.sandboxes import bubblewrap, bwrap_args
from assay.runs import trial

__all__ = ["anyio", "bubblewrap", "classification", "combine", "probability", "ranking", "regression", "trial"]

# Asking bwrap for its version takes a process; where there is none, a trial says so.
with suppress(LabError):
    bwrap_args.program()
bwrap_args.installed()
refuse_other_kinds(b"", "nothing")  # its patterns are compiled when they are first looked for


def _below(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for one in model.__subclasses__():
        yield one
        yield from _below(one)


# Ours are built when they are first used, so that small commands start quickly; a trial uses most of them.
for _model in _below(BaseModel):
    if _model.__module__.startswith("assay."):
        _model.model_rebuild()

# Looking for garbage among what is there to stay would make each process copy all of it for itself.
gc.collect()
gc.freeze()
gc.set_threshold(10_000)
