"""Which submissions a trial's record keeps once it has ended; everything else in it is kept.

A search makes hundreds of submissions, and most of the disk that its record takes is for those that were not picked.
What may be missing follows from `trial.json` and the log, so nothing else needs to say that it was removed.
"""

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from assay.core.errors import RecordError
from assay.lab.snapshots import Snapshot, SnapshotReader, object_digests
from assay.records.consistency import recorded_contents
from assay.records.events import Event, SnapshotTaken, Submitted
from assay.records.search import Direction, find_submissions, read_journal
from assay.records.state import Keep
from assay.records.trial import TrialFile, TrialFolder


def remove_submissions(folder: TrialFolder, events: Sequence[Event], keep: Keep, direction: Direction) -> None:
    """Remove the submissions that a trial does not keep; where nothing was submitted, all are kept.

    What the log or a snapshot names as something else stays.
    """
    submitted = next((event for event in events if isinstance(event, Submitted)), None)
    if keep == "all" or submitted is None or submitted.submission.file is None:
        return
    snapshots = [event.snapshot for event in events if isinstance(event, SnapshotTaken)]
    reader, name = SnapshotReader(folder.snapshots), submitted.submission.file
    unkept, needed = {digest for _, digest in find_submissions(events)}, {submitted.submission.sha256}
    for id in dict.fromkeys(snapshots):
        for path, file in reader.load(id).files.items():
            (unkept if is_submission(path, name) else needed).add(file.sha256)
    if snapshots:
        needed |= {file.sha256 for path, file in reader.load(snapshots[-1]).files.items() if is_submission(path, name)}
    if keep == "best" and (best := read_journal(events, direction).best):
        needed.add(best.submission)
    needed |= {content.sha256 for content in recorded_contents(events) if not content.inline}
    for digest, stored in object_digests(folder.snapshots).items():
        if digest in unkept - needed:
            stored.unlink()


def is_submission(path: str, name: str) -> bool:
    """Whether a file of a workspace is, or was, what a trial submits under this name."""
    return PurePosixPath(path).name == name


def find_missing(file: TrialFile, events: Sequence[Event], snapshot: Snapshot, present: Iterable[str]) -> set[str]:
    """Return the contents of a snapshot that a record lacks but should have."""
    submitted = next((event.submission for event in events if isinstance(event, Submitted)), None)
    name = submitted.file if submitted and file.keep != "all" else None
    return {
        entry.sha256
        for path, entry in snapshot.files.items()
        if entry.sha256 not in present
        and not (name and submitted and is_submission(path, name) and entry.sha256 != submitted.sha256)
    }


def check_kept(folder: TrialFolder, snapshot: Snapshot) -> None:
    """Raise `RecordError` if a snapshot cannot be restored because its submission was not kept."""
    present = object_digests(folder.snapshots)
    if any(file.sha256 not in present for file in snapshot.files.values()):
        raise RecordError(f"{folder.path.name}: this step has a submission that was not kept; see --keep")
