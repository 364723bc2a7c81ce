"""7z files, which a few competitions come in; needs the package py7zr."""

import lzma
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from assay.core.disk_space import check_space
from assay.core.errors import MissingDependency, SourceError
from assay.core.untrusted import find_special_file


def extract(archive: Path, folder: Path) -> None:
    """Extract a whole archive into a folder; `SourceError` if it is damaged, too large, or contains links."""
    library = _library()
    try:
        with library.SevenZipFile(archive) as content:
            check_space(folder, content.archiveinfo().uncompressed, f"Unpacking {archive.name}")
            content.extractall(folder)
    except FileNotFoundError:
        raise SourceError(f"the raw data has no {archive.name}") from None
    except (library.exceptions.ArchiveError, lzma.LZMAError, EOFError, ValueError) as error:
        raise SourceError(f"{archive.name} is damaged or not a 7z file: {error}") from None
    if special := find_special_file(folder):
        raise SourceError(f"{archive.name} contains {special}, which is a link or a special file")


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
