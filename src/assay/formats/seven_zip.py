"""7z files, which a few competitions come in; needs the package py7zr."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from assay.core.errors import UsageError


def extract(archive: Path, folder: Path) -> None:
    """Unpack all of an archive below a folder."""
    with _library().SevenZipFile(archive) as content:
        content.extractall(folder)


def pack(archive: Path, members: Iterable[tuple[str, Path]]) -> None:
    """Make a new archive of files under the given names, sorted by name, stored as they are and all of one time."""
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
        raise UsageError("7z files need py7zr; run: pip install 'assay[mlebench]'") from None
    return py7zr
