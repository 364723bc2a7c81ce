"""What happened: events, budgets, and the folders that keep trials and runs."""

from assay.records.budget import Clock, OutOfBudget
from assay.records.events import Event, EventLog, read_events
from assay.records.lease import Lease, LeaseLost
from assay.records.run import RunFile, RunFolder
from assay.records.trial import State, TrialFile, TrialFolder, trial_id

__all__ = [
    "Clock",
    "Event",
    "EventLog",
    "Lease",
    "LeaseLost",
    "OutOfBudget",
    "RunFile",
    "RunFolder",
    "State",
    "TrialFile",
    "TrialFolder",
    "read_events",
    "trial_id",
]
