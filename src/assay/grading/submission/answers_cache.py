"""Answers that were parsed once are kept in a form that is there at once the next time."""

import hashlib
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from assay.core.disk import random_token

_WORTHWHILE = 2**20


def remembered(folder: Path | None, source: Path, how: Any, parse: Callable[[], pl.DataFrame]) -> pl.DataFrame:
    """What `parse` makes of the file `source`, from `folder` if it is kept there for this very file and way.

    Small files are not worth it. Where nothing can be kept, as on a disk that is full or read-only, it is parsed anew
    each time, with the same result.
    """
    try:
        facts = source.stat()
    except FileNotFoundError:
        return parse()
    if folder is None or facts.st_size < _WORTHWHILE:
        return parse()
    identity = [how, facts.st_size, facts.st_mtime_ns, facts.st_ino, pl.__version__]
    path = folder / f"{hashlib.sha256(json.dumps(identity).encode()).hexdigest()}.arrow"
    if path.exists():
        try:
            return pl.read_ipc(path, memory_map=True)
        except (OSError, pl.exceptions.PolarsError):
            path.unlink(missing_ok=True)
    table = parse()
    beside = path.with_name(f".{path.name}.{random_token()}")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            table.write_ipc(file)
        beside.replace(path)
    except OSError:
        with suppress(OSError):
            beside.unlink()
    return table
