"""Asks for competitions' raw data, one after the other, and tells what comes of it, one JSON object a line.

A program of its own, to be run in a network of its own and to be killed: `kaggle_call.py HOME CALL…`, where a call is a
JSON object with the competition, its MD5, and options. With `"most"` no file can grow beyond so many bytes.
"""

import json
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.core.errors import AssayError
from assay.core.home import Home
from assay.core.progress import Advance
from assay.data.sources import kaggle
from assay.tasks import Kaggle


class Telling:
    """Writes each stage, and how far it is, as lines."""

    @contextmanager
    def stage(self, what: str, total: float | None = None) -> Iterator[Advance]:
        tell(stage=what, total=total)
        yield lambda amount: tell(advance=amount)


def tell(**what: object) -> None:
    print(json.dumps(what), flush=True)


def main(home: Home, calls: list[dict]) -> None:
    for call in calls:
        if "most" in call:
            resource.setrlimit(resource.RLIMIT_FSIZE, (call["most"], resource.RLIM_INFINITY))
        source = Kaggle(competition=call["competition"], md5=call.get("md5"))
        try:
            made = kaggle.fetch(
                home, source, local_copy=None, unverified=call.get("unverified", False), progress=Telling()
            )
        except AssayError as error:
            tell(error=str(error))
        else:
            tell(folder=str(made.folder), **made.origin.model_dump())


if __name__ == "__main__":
    main(Home(Path(sys.argv[1])), [json.loads(call) for call in sys.argv[2:]])
