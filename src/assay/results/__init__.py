"""Results of a run: statistics, tables, figures and reports, all computed from a sequence of outcomes.

Start reading at `outcome.py` (one trial), then `statistics.py`. `collect.py` reads the outcomes of a run folder.
"""

from typing import TYPE_CHECKING

from assay.core.lazy_import import import_on_use

if TYPE_CHECKING:
    from assay.results.collect import collect_outcomes
    from assay.results.comparison import Comparison, collect_trials, compare_agents
    from assay.results.export import export_run
    from assay.results.outcome import Outcome, RuleSet
    from assay.results.statistics import Cell, Standing, summarize_cells, summarize_standings
    from assay.results.verification import verify_run

__all__ = [
    "Cell",
    "Comparison",
    "Outcome",
    "RuleSet",
    "Standing",
    "collect_outcomes",
    "collect_trials",
    "compare_agents",
    "export_run",
    "summarize_cells",
    "summarize_standings",
    "verify_run",
]

__getattr__ = import_on_use(
    __name__,
    {
        "collect": ["collect_outcomes"],
        "comparison": ["Comparison", "collect_trials", "compare_agents"],
        "export": ["export_run"],
        "outcome": ["Outcome", "RuleSet"],
        "statistics": ["Cell", "Standing", "summarize_cells", "summarize_standings"],
        "verification": ["verify_run"],
    },
)
