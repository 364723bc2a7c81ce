"""Tar files, which a few competitions come in: read from front to back, with or without compression, and written."""

import gzip
import io
import posixpath
import shutil
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
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
    with _open(archive) as content:
        for member in content:
            name = posixpath.normpath(member.name)
            file = content.extractfile(member) if member.isfile() and name in destinations else None
            if file is None:
                continue
            destinations[name].parent.mkdir(parents=True, exist_ok=True)
            with file, destinations[name].open("wb") as copied:
                shutil.copyfileobj(file, copied)
            missing.discard(name)
    if missing:
        raise SourceError(f"{archive.name} contains no {min(missing)}")


def list_tar(archive: Path) -> list[str]:
    """Return the names of the files in a tar file, in their order."""
    with _open(archive) as content:
        return [posixpath.normpath(member.name) for member in content if member.isfile()]


def rewrite_tar_gz(source: Path, target: Path, change: Callable[[str, bytes], bytes]) -> None:
    """Write a compressed tar file with the members of another, each file replaced by `change(name, content)`.

    The same members give the same bytes. One file is in memory at a time.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with (
        _open(source) as content,
        target.open("xb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as written,
    ):
        for member in content:
            original = content.extractfile(member) if member.isfile() else None
            if original is None:
                written.addfile(member)
                continue
            changed = change(posixpath.normpath(member.name), original.read())
            member.size = len(changed)
            written.addfile(member, io.BytesIO(changed))


@contextmanager
def _open(archive: Path) -> Iterator[tarfile.TarFile]:
    """Open an archive to be read from front to back; whatever is wrong with it is a `SourceError` that names it."""
    try:
        with tarfile.open(archive, "r|*") as content:
            yield content
    except FileNotFoundError as error:
        if error.filename is None or Path(error.filename) != archive:
            raise
        raise SourceError(f"the raw data has no {archive.name}") from None
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise SourceError(f"{archive.name} is damaged or not a tar file: {error}") from None
