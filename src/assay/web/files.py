"""The files of a workspace as the snapshots of a trial have them.

A file is named by its position in the sorted list of its snapshot, never by its path: those are untrusted.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from assay.core.errors import RecordError
from assay.lab.snapshots import SnapshotFile, load_snapshot, open_object
from assay.records import TrialFolder, read_events
from assay.records.events import SnapshotTaken
from assay.web.trace import Block

MAX_SHOWN = 2_000
"""How many files one page lists."""
_MAX_TEXT = 200_000
_CHUNK = 2**18


@dataclass(frozen=True)
class WorkspaceFile:
    """One file of a snapshot."""

    position: int
    path: str
    file: SnapshotFile


@dataclass(frozen=True)
class WorkspaceFiles:
    """The files after a step. `number` is that of the snapshot's event, `before` and `after` those of its neighbors."""

    number: int
    step: int
    files: tuple[WorkspaceFile, ...]
    links: tuple[str, ...]
    left_out: tuple[str, ...]
    before: int | None
    after: int | None

    @property
    def size(self) -> int:
        """The total size of the files in bytes."""
        return sum(file.file.size for file in self.files)


def find_files(folder: TrialFolder, number: int) -> WorkspaceFiles | None:
    """Return the files of the snapshot with the event `number`; None if there is no such snapshot."""
    events = [event for event in read_events(folder.events) if isinstance(event, SnapshotTaken)]
    numbers = [event.number for event in events]
    if number not in numbers:
        return None
    at = numbers.index(number)
    snapshot = load_snapshot(folder.snapshots, events[at].snapshot)
    different = [event.snapshot != events[at].snapshot for event in events]
    return WorkspaceFiles(
        number=number,
        step=events[at].step,
        files=tuple(
            WorkspaceFile(position, _as_text(path), file)
            for position, (path, file) in enumerate(sorted(snapshot.files.items()))
        ),
        links=tuple(_as_text(f"{name} → {target}") for name, target in sorted(snapshot.links.items())),
        left_out=tuple(map(_as_text, snapshot.left_out)),
        before=next((numbers[i] for i in range(at - 1, -1, -1) if different[i]), None),
        after=next((numbers[i] for i in range(at + 1, len(numbers)) if different[i]), None),
    )


def read_text(folder: TrialFolder, file: WorkspaceFile) -> Block | None:
    """Return the beginning of a file as text; None if it is not text."""
    with open_object(folder.snapshots, file.file.sha256) as source:
        content = source.read(_MAX_TEXT)
    if b"\0" in content:
        return None
    cut = f"\n… {file.file.size - len(content):,} bytes more" if file.file.size > len(content) else ""
    return Block(file.path, content.decode(errors="replace") + cut, "code", path=file.path)


def read_chunks(folder: TrialFolder, file: WorkspaceFile) -> Iterator[bytes]:
    """Yield the content of a file; `RecordError` if there is more of it than its manifest says."""
    left = file.file.size
    with open_object(folder.snapshots, file.file.sha256) as source:
        while chunk := source.read(_CHUNK):
            left -= len(chunk)
            if left < 0:
                raise RecordError(f"{file.path} is larger than its snapshot says")
            yield chunk


def _as_text(name: str) -> str:
    return name.encode(errors="replace").decode()
