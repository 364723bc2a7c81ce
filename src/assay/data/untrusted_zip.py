"""Zip archives from untrusted sources: extracted completely or not at all, and never outside their folder.

An interrupted extraction can be resumed: files that are complete, by their size and checksum, are not extracted again.
"""

import lzma
import os
import shutil
import stat
import threading
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path

from assay.core.disk_space import DISK_IS_FULL, check_space
from assay.core.errors import SourceError
from assay.core.progress import Advance, ByteCount, Progress

_ENCRYPTED = 0x1  # bit 0 of a member's flags
_BLOCK = 2**20
_THREADS = max(2, min(8, len(os.sched_getaffinity(0))))


def extract(archive: Path, folder: Path, *, progress: Progress, resume: bool = False) -> None:
    """Extract a zip archive to a new folder that only its owner can read, or leave no folder.

    All members are examined before anything is written: an archive with a path outside the folder, a link, a device, or
    more data than the disk can hold is refused. Archives inside the archive stay as they are. With `resume`, the folder
    may exist: what an interrupted extraction left in it is used, and an interruption leaves it again.
    """
    with _readable(archive), zipfile.ZipFile(archive) as content:
        files, folders = _resolve_paths(archive.name, content.infolist())
        total = sum(member.file_size for member in files.values())
        present = _remove_others(folder, files.keys(), folders) if resume and folder.is_dir() else 0
        check_space(folder.parent, total - present, f"extracting {archive.name}")
        folder.mkdir(mode=0o700, exist_ok=resume)
        try:
            for subfolder in sorted(folders):  # parents first
                (folder / subfolder).mkdir(mode=0o700, exist_ok=resume)
            with progress.stage(f"Extracting {archive.name}", ByteCount(total)) as advance:
                _in_threads(files, lambda path, member: _write(content, member, f"{folder}/{path}"), advance)
        except BaseException as error:
            if not resume or isinstance(error, Exception):
                shutil.rmtree(folder)
            raise


def _remove_others(folder: Path, files: Collection[str], folders: Collection[str], below: str = "") -> int:
    """Remove what an archive does not have from the folder that it was extracted to; return the size of the rest."""
    size = 0
    with os.scandir(folder) as entries:
        for entry in list(entries):
            name = f"{below}{entry.name}"
            if entry.is_dir(follow_symlinks=False) and name in folders:
                size += _remove_others(folder / entry.name, files, folders, f"{name}/")
            elif entry.is_file(follow_symlinks=False) and name in files:
                size += entry.stat(follow_symlinks=False).st_size
            elif entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)  # noqa: PTH108
    return size


def _resolve_paths(name: str, entries: Iterable[zipfile.ZipInfo]) -> tuple[dict[str, zipfile.ZipInfo], set[str]]:
    """Return the path of each file and the folders to create; raise if a member does not belong in a data archive."""
    files: dict[str, zipfile.ZipInfo] = {}
    folders: set[str] = set()
    for entry in entries:
        written = entry.orig_filename  # as the archive has it; the other one was cut at the first NUL
        parts = [part for part in written.split("/") if part not in ("", ".")]
        path = "/".join(parts)
        if "\0" in written or "\\" in written or written[1:2] == ":" or written[:1] == "/" or ".." in parts:
            raise _refused(name, f"the member {written!r} would be written outside its folder")
        if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise _refused(name, f"the member {written!r} is a link or a device, not a file")
        if entry.flag_bits & _ENCRYPTED:
            raise _refused(name, f"the member {written!r} is encrypted with a password")
        if not entry.is_dir():
            if not path or path in files:
                raise _refused(name, f"{written!r} occurs twice" if path else "a member has no name")
            files[path] = entry
            path = path.rpartition("/")[0]
        while path and path not in folders:
            folders.add(path)
            path = path.rpartition("/")[0]
    if both := files.keys() & folders:
        raise _refused(name, f"{min(both)!r} is both a file and a folder")
    return files, folders


def _refused(name: str, why: str) -> SourceError:
    return SourceError(f"{name}: {why}; nothing is extracted")


def _write(content: zipfile.ZipFile, member: zipfile.ZipInfo, path: str) -> Iterator[int]:
    """Write one member unless it is there, block by block, and yield the size of each.

    The zip reader stops at the size that the archive declares and then compares the checksum: a member that holds more
    than it declares fails that comparison, and has used no more of the disk than was checked to be free.
    """
    if os.path.lexists(path):
        if _is_complete(path, member):
            yield member.file_size
            return
        os.unlink(path)  # noqa: PTH108
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(handle, "wb") as file, content.open(member) as source:  # noqa: PTH123 - of a handle, not a path
        while block := source.read(_BLOCK):
            file.write(block)
            yield len(block)


def _is_complete(path: str, member: zipfile.ZipInfo) -> bool:
    checksum = 0
    with open(path, "rb", 0) as file:  # noqa: PTH123 - a path object for each of a million files is slow
        if os.fstat(file.fileno()).st_size != member.file_size:
            return False
        while block := file.read(_BLOCK):
            checksum = zlib.crc32(block, checksum)
    return checksum == member.CRC


def _in_threads(
    files: dict[str, zipfile.ZipInfo], write: Callable[[str, zipfile.ZipInfo], Iterator[int]], advance: Advance
) -> None:
    """Write the files from several threads, which stop at the first error; zlib releases Python's lock."""
    waiting, turn, stopped = iter(files.items()), threading.Lock(), threading.Event()

    def work() -> None:
        while not stopped.is_set():
            with turn:
                path, member = next(waiting, ("", None))
            if member is None:
                return
            for done in write(path, member):
                with turn:
                    advance(done)
                if stopped.is_set():
                    return

    with ThreadPoolExecutor(_THREADS) as pool:
        try:
            running = [pool.submit(work) for _ in range(_THREADS)]
            wait(running, return_when=FIRST_EXCEPTION)
        finally:
            stopped.set()  # also on KeyboardInterrupt
    for thread in running:
        thread.result()


@contextmanager
def _readable(archive: Path) -> Iterator[None]:
    """Turn errors while reading into messages for the user."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, UnicodeDecodeError) as error:
        raise SourceError(f"{archive} is damaged or not a zip archive: {error}") from None
    except NotImplementedError as error:  # a compression or a version that Python does not know
        raise SourceError(f"{archive} is a zip archive that cannot be read: {error}") from None
    except OSError as error:
        if error.errno in DISK_IS_FULL:
            raise SourceError(
                f"the disk was full before all of {archive.name} was extracted; free some space"
            ) from None
        raise SourceError(f"{archive} cannot be extracted: {error}") from None
