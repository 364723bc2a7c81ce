"""Downloads raw data of competitions, one after the other, and prints progress and results as lines of JSON.

A separate program, so that tests can run it in its own network namespace and kill it: `kaggle_call.py HOME CALL…`,
where a call is a JSON object with the competition, its MD5, and options. `"max_bytes"` limits the size of files.
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


class PrintedProgress:
    """Prints each stage and its progress."""

    @contextmanager
    def stage(self, what: str, total: float | None = None) -> Iterator[Advance]:
        print_line(stage=what, total=total)
        yield lambda amount: print_line(advance=amount)


def print_line(**what: object) -> None:
    print(json.dumps(what), flush=True)


def main(home: Home, calls: list[dict]) -> None:
    for call in calls:
        if "max_bytes" in call:
            resource.setrlimit(resource.RLIMIT_FSIZE, (call["max_bytes"], resource.RLIM_INFINITY))
        source = Kaggle(competition=call["competition"], md5=call.get("md5"))
        try:
            raw_data = kaggle.fetch(
                home, source, user_copy=None, unverified=call.get("unverified", False), progress=PrintedProgress()
            )
        except AssayError as error:
            print_line(error=str(error))
        else:
            print_line(folder=str(raw_data.folder), **raw_data.origin.model_dump())


if __name__ == "__main__":
    main(Home(Path(sys.argv[1])), [json.loads(call) for call in sys.argv[2:]])
