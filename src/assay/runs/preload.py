"""Imports what every trial needs, in the fork server that the processes of all trials are forked from."""

from collections.abc import Iterator
from contextlib import suppress

import anyio._backends._asyncio  # anyio imports these two on first use
import anyio._core._signals
from pydantic import BaseModel

from assay.core.errors import LabError
from assay.core.garbage import share_with_forks
from assay.grading.metrics import classification, combine, regression
from assay.grading.submission.read import refuse_signatures
from assay.lab.sandboxes import bubblewrap, bwrap_args
from assay.runs import trial

__all__ = ["anyio", "bubblewrap", "classification", "combine", "regression", "trial"]

# Caches bwrap's version, which takes a process to find out. If there is no bwrap, the trial reports it.
with suppress(LabError):
    bwrap_args.find_bwrap()
bwrap_args.find_python_packages()
refuse_signatures(b"", "nothing")  # compiles its patterns


def _subclasses(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for subclass in model.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)


# Validators are built on first use, so that small commands start fast; a trial uses most of them.
for _model in _subclasses(BaseModel):
    if _model.__module__.startswith("assay."):
        _model.model_rebuild()

share_with_forks()
