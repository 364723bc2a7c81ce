"""The record of what happened: typed events, the log, budgets, and the folders of trials and runs.

Start with `events` (the vocabulary of the log), then `log` (how it is written and read), `tape` (recording and replay)
and `trial` (the trial folder). `lease` decides which process may write, `verify` checks finished runs, `index` reads
thousands of trials fast. Exported names are imported on first use: a table of trials does not need the events.
"""

from typing import TYPE_CHECKING

from assay.core.lazy_import import export_lazily

if TYPE_CHECKING:
    from assay.records.budget import BudgetUsed as BudgetUsed
    from assay.records.budget import Clock as Clock
    from assay.records.budget import OutOfBudget as OutOfBudget
    from assay.records.events import Event as Event
    from assay.records.find import find_runs as find_runs
    from assay.records.find import list_newest_runs as list_newest_runs
    from assay.records.index import TrialSummary as TrialSummary
    from assay.records.index import read_trials as read_trials
    from assay.records.labels import label_trials as label_trials
    from assay.records.labels import name_agents as name_agents
    from assay.records.lease import Lease as Lease
    from assay.records.lease import LeaseLost as LeaseLost
    from assay.records.log import EventLog as EventLog
    from assay.records.log import read_events as read_events
    from assay.records.run import RunFile as RunFile
    from assay.records.run import RunFolder as RunFolder
    from assay.records.search import Journal as Journal
    from assay.records.search import read_journal as read_journal
    from assay.records.state import State as State
    from assay.records.state import SubmissionEntry as SubmissionEntry
    from assay.records.trial import TrialFile as TrialFile
    from assay.records.trial import TrialFolder as TrialFolder
    from assay.records.trial import TrialPlan as TrialPlan

__all__, __getattr__ = export_lazily(__name__, __file__)
