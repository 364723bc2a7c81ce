"""Tar files, which a few competitions come in: read with or without compression, written without."""

import posixpath
import shutil
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from assay.core.errors import SourceError


def pack_tar(archive: Path, members: Iterable[tuple[str, Path]]) -> None:
    """Write a new tar file of files under the given names, sorted by name, all with the same time and owner."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive, "x", format=tarfile.PAX_FORMAT) as content:
        for name, path in sorted(members):
            info = tarfile.TarInfo(name)
            info.size = path.stat().st_size
            with path.open("rb") as file:
                content.addfile(info, file)


def unpack_tar(archive: Path, destinations: Mapping[str, Path]) -> None:
    """Write the named members of a tar file to their destinations in one pass, and create their folders."""
    missing = set(destinations)
    try:
        with tarfile.open(archive, "r|*") as content:
            for member in content:
                name = posixpath.normpath(member.name)
                file = content.extractfile(member) if member.isfile() and name in destinations else None
                if file is None:
                    continue
                destinations[name].parent.mkdir(parents=True, exist_ok=True)
                with file, destinations[name].open("wb") as copied:
                    shutil.copyfileobj(file, copied)
                missing.discard(name)
    except FileNotFoundError:
        raise SourceError(f"the raw data has no {archive.name}") from None
    except (tarfile.TarError, EOFError) as error:
        raise SourceError(f"{archive.name} is damaged or not a tar file: {error}") from None
    if missing:
        raise SourceError(f"{archive.name} holds no {min(missing)}")
