"""What a trial has used of its budget so far, read from the end of its log while it is being written."""

from dataclasses import dataclass
from datetime import datetime

from assay.records import BudgetUsed, TrialFolder
from assay.records.events import CallFinished, Submitted
from assay.records.log import read_events_backwards


@dataclass(frozen=True)
class UsedSoFar:
    """What was used, and `at` which time that was recorded."""

    used: BudgetUsed
    at: datetime | None = None


def read_budget_used(folder: TrialFolder) -> UsedSoFar:
    """Return what was used by the end of the last call."""
    for event in read_events_backwards(folder.events):
        if isinstance(event, CallFinished):
            return UsedSoFar(event.used, event.time)
        if isinstance(event, Submitted):
            return UsedSoFar(event.state.used, event.time)
    return UsedSoFar(BudgetUsed())
