"""Checking that a disk has room before a long operation begins."""

import errno
import os
import shutil
from pathlib import Path

from assay.core.errors import SourceError
from assay.core.quantities import format_size

# Errors that mean that no more can be written: the disk is full, the quota is used up, the file is too large.
DISK_IS_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def check_space(folder: Path, needed: int, what: str) -> None:
    """Raise `SourceError` unless the disk that holds `folder` has `needed` bytes free."""
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise SourceError(
            f"{what} needs {format_size(needed)}, but the disk of {folder} has only {format_size(free)} free; "
            "free some space, or set ASSAY_HOME to a folder on a larger disk"
        )


def folder_size(folder: Path) -> int:
    """Return the total size of the files below a folder, in bytes; links are not followed."""
    total = 0
    waiting = [os.fspath(folder)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    total += entry.stat(follow_symlinks=False).st_size
    return total
