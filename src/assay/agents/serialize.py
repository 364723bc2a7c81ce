"""What came of deeds as the record keeps it, and back: commands that ended, and the content of files."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from assay.core.disk import atomic_write
from assay.core.errors import UnsafePath
from assay.lab.interface import Completed, Lab, Output
from assay.lab.snapshots import read_object

_INLINE = 50_000


class Contents:
    """Contents of files: in the record where they are short, in the store of snapshots by their hash where not."""

    def __init__(self, store: Path) -> None:
        self._store = store

    def keep(self, content: bytes) -> dict[str, Any]:
        """What the record says of a content."""
        if len(content) <= _INLINE:
            return {"base64": base64.b64encode(content).decode()}
        digest = hashlib.sha256(content).hexdigest()
        path = self._store / "objects" / digest
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(path, content)
        return {"sha256": digest, "size": len(content)}

    def give(self, told: Mapping[str, Any]) -> bytes:
        """The content of which the record says that."""
        if "base64" in told:
            return base64.b64decode(str(told["base64"]))
        return read_object(self._store, str(told["sha256"]))


async def collect(lab: Lab, folder: Path, patterns: Sequence[str], most: int) -> list[str]:
    """Copy files of the workspace that match a pattern (`*` also matches `/`), as long as they fit into `most` bytes.

    Who wrote them is not trusted: they are plain files that nobody may execute, under their own names only where these
    can be printed.
    """
    copied, names = [], [str(path) async for path in lab.files()]
    for name in names:
        if not any(fnmatchcase(name, pattern) for pattern in patterns) or not name.isprintable():
            continue
        try:
            content = await lab.read(name, max_size=most)
        except UnsafePath:
            continue  # too large for what is left, or gone
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(target, content)
        most -= len(content)
        copied.append(name)
    return copied


def told(completed: Completed) -> dict[str, Any]:
    """What the record says of a command that ended."""
    return {
        "ended": completed.ended,
        "code": completed.code,
        "stdout": completed.stdout.text,
        "stderr": completed.stderr.text,
        "seconds": round(completed.seconds, 3),
    }


def completed(told: Mapping[str, Any]) -> Completed:
    """The command of which the record says that."""
    streams = (told[name].encode() for name in ("stdout", "stderr"))
    stdout, stderr = (Output(head=text, tail=b"", total=len(text)) for text in streams)
    return Completed(told["ended"], told["code"], stdout, stderr, told["seconds"])
