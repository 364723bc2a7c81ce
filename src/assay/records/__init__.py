"""The record of what happened: typed events, the log, budgets, and the folders of trials and runs.

Start with `events` (the vocabulary of the log), then `log` (how it is written and read), `tape` (recording and replay)
and `trial` (the trial folder). `lease` decides which process may write, `verify` checks finished runs, `index` reads
thousands of trials fast. Exported names are imported on first use: a table of trials does not need the events.
"""

from typing import TYPE_CHECKING

from assay.core.lazy_import import import_on_use

if TYPE_CHECKING:
    from assay.records.budget import BudgetUsed, Clock, OutOfBudget
    from assay.records.events import Event
    from assay.records.index import TrialSummary, read_trials
    from assay.records.labels import label_plans, label_trials
    from assay.records.lease import Lease, LeaseLost
    from assay.records.log import EventLog, read_events
    from assay.records.run import RunFile, RunFolder
    from assay.records.search import Journal, read_journal
    from assay.records.state import State, SubmissionEntry
    from assay.records.trial import TrialFile, TrialFolder, trial_id

__all__ = [
    "BudgetUsed",
    "Clock",
    "Event",
    "EventLog",
    "Journal",
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
    "read_journal",
    "read_trials",
    "trial_id",
]

__getattr__ = import_on_use(
    __name__,
    {
        "budget": ["BudgetUsed", "Clock", "OutOfBudget"],
        "events": ["Event"],
        "index": ["TrialSummary", "read_trials"],
        "labels": ["label_plans", "label_trials"],
        "lease": ["Lease", "LeaseLost"],
        "log": ["EventLog", "read_events"],
        "run": ["RunFile", "RunFolder"],
        "search": ["Journal", "read_journal"],
        "state": ["State", "SubmissionEntry"],
        "trial": ["TrialFile", "TrialFolder", "trial_id"],
    },
)
