"""7z files, which a few competitions come in; needs the package py7zr."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from assay.core.errors import MissingDependency


def extract(archive: Path, folder: Path) -> None:
    """Extract all of an archive below a folder."""
    with _library().SevenZipFile(archive) as content:
        content.extractall(folder)


def pack(archive: Path, members: Iterable[tuple[str, Path]]) -> None:
    """Write a new archive of files under the given names, sorted by name, uncompressed and all with the same time."""
    library = _library()
    archive.parent.mkdir(parents=True, exist_ok=True)
    with library.SevenZipFile(archive, "w", filters=[{"id": library.FILTER_COPY}]) as content:
        for name, path in sorted(members):
            os.utime(path, (0, 0))
            content.write(path, name)


def _library() -> Any:
    try:
        import py7zr
    except ModuleNotFoundError:
        raise MissingDependency("7z files", "mlebench") from None
    return py7zr
