"""The record of what happened: typed events, the log, budgets, and the folders of trials and runs.

Start with `events` (the vocabulary of the log), then `log` (how it is written and read), `tape` (recording and replay)
and `trial` (the trial folder). `lease` decides which process may write, `verify` checks finished runs, `index` reads
thousands of trials fast.
"""

from assay.records.budget import BudgetUsed, Clock, OutOfBudget
from assay.records.events import Event
from assay.records.index import TrialSummary, read_trials
from assay.records.labels import label_plans, label_trials
from assay.records.lease import Lease, LeaseLost
from assay.records.log import EventLog, read_events
from assay.records.run import RunFile, RunFolder
from assay.records.state import State, SubmissionEntry
from assay.records.trial import TrialFile, TrialFolder, trial_id

__all__ = [
    "BudgetUsed",
    "Clock",
    "Event",
    "EventLog",
    "Lease",
    "LeaseLost",
    "OutOfBudget",
    "RunFile",
    "RunFolder",
    "State",
    "SubmissionEntry",
    "TrialFile",
    "TrialFolder",
    "TrialSummary",
    "label_plans",
    "label_trials",
    "read_events",
    "read_trials",
    "trial_id",
]
