"""Results of a run: statistics, tables, figures and reports, all computed from a sequence of outcomes.

Start reading at `outcome.py` (one trial), then `statistics.py`. `collect.py` reads the outcomes of a run folder.
"""

from assay.results.outcome import Outcome, RuleSet

__all__ = ["Outcome", "RuleSet"]
