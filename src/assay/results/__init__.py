"""Results of runs: one frame, a row per trial, and the estimates, comparisons and tables computed from it.

Start reading at `frame.py`, then `estimate.py` and `paired.py`; `report.py` and `verdict.py` put them into tables and
words.
"""

from typing import TYPE_CHECKING

from assay.core.lazy_import import import_on_use

if TYPE_CHECKING:
    from assay.results.estimate import Summary, summarize_agents, summarize_tasks
    from assay.results.export import export_run
    from assay.results.frame import Frame, RuleSet, TrialRow, read_frame
    from assay.results.paired import Comparison, compare_agents, select_trials
    from assay.results.report import make_report
    from assay.results.verification import verify_run

__all__ = [
    "Comparison",
    "Frame",
    "RuleSet",
    "Summary",
    "TrialRow",
    "compare_agents",
    "export_run",
    "make_report",
    "read_frame",
    "select_trials",
    "summarize_agents",
    "summarize_tasks",
    "verify_run",
]

__getattr__ = import_on_use(
    __name__,
    {
        "estimate": ["Summary", "summarize_agents", "summarize_tasks"],
        "export": ["export_run"],
        "frame": ["Frame", "RuleSet", "TrialRow", "read_frame"],
        "paired": ["Comparison", "compare_agents", "select_trials"],
        "report": ["make_report"],
        "verification": ["verify_run"],
    },
)
