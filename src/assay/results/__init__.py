"""Results of a run: statistics, tables, figures and reports, all computed from a sequence of outcomes.

Start reading at `outcome.py` (one trial), then `statistics.py`. `collect.py` reads the outcomes of a run folder.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

_MODULES = {
    "collect": ("collect_outcomes",),
    "comparison": ("Comparison", "collect_trials", "compare_agents"),
    "export": ("export_run",),
    "outcome": ("Outcome", "RuleSet"),
    "statistics": ("Cell", "Standing", "summarize_cells", "summarize_standings"),
    "verification": ("verify_run",),
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that commands load only what they need."""
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
