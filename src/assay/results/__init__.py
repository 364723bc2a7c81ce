"""Results of runs: one frame, a row per trial, and the estimates, comparisons and tables computed from it.

Start reading at `frame.py`, then `estimate.py` and `paired.py`; `report.py` and `verdict.py` put them into tables and
words.
"""

from typing import TYPE_CHECKING

from assay.core.lazy_import import export_lazily

if TYPE_CHECKING:
    from assay.results.estimate import Summary as Summary
    from assay.results.estimate import summarize_agents as summarize_agents
    from assay.results.estimate import summarize_tasks as summarize_tasks
    from assay.results.export import export_run as export_run
    from assay.results.frame import Frame as Frame
    from assay.results.frame import RuleSet as RuleSet
    from assay.results.frame import TrialRow as TrialRow
    from assay.results.frame import read_frame as read_frame
    from assay.results.paired import Comparison as Comparison
    from assay.results.paired import compare_agents as compare_agents
    from assay.results.paired import select_trials as select_trials
    from assay.results.report import make_report as make_report

__all__, __getattr__ = export_lazily(__name__, __file__)
