"""What a trial left in its workspace: the traces that show whether it took a planted shortcut."""

from collections.abc import Iterable

from assay.core.errors import RecordError
from assay.grading.integrity import Traces
from assay.lab.snapshots import SnapshotReader
from assay.records.events import Event, SnapshotTaken
from assay.records.trial import TrialFolder

_MAX_MANIFESTS = 2**30


def read_traces(folder: TrialFolder, events: Iterable[Event]) -> Traces | None:
    """Return the traces in all snapshots of a trial; None if its record lacks one of them, as an export does."""
    ids = [event.snapshot for event in events if isinstance(event, SnapshotTaken)]
    reader = SnapshotReader(folder.snapshots, _MAX_MANIFESTS)
    try:
        traces = Traces.of_snapshots(folder.snapshots, [reader.load(id) for id in dict.fromkeys(ids)])
    except RecordError:
        return None
    has_contents = (folder.snapshots / "objects").is_dir()
    return traces if has_contents and traces.files else None
