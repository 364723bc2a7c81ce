"""Former names of paired comparisons on the frame."""

from assay.results.frame import CONDITIONS
from assay.results.measures import MEASURES, RATES, Measure
from assay.results.measures import measure_trial as measure_outcome
from assay.results.paired import (
    AgentSummary,
    Comparison,
    PairedDifference,
    TaskDifference,
    compare_agents,
    find_differences,
    select_trials,
    try_comparing,
)
from assay.results.paired import PairedDifference as PairComparison

__all__ = [
    "CONDITIONS",
    "MEASURES",
    "RATES",
    "AgentSummary",
    "Comparison",
    "Measure",
    "PairComparison",
    "PairedDifference",
    "TaskDifference",
    "compare_agents",
    "find_differences",
    "measure_outcome",
    "select_trials",
    "try_comparing",
]
