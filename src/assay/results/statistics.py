"""Former names of estimates from the frame."""

from assay.core.values import Estimate, Rate
from assay.results.estimate import Summary as Cell
from assay.results.estimate import Summary as Standing
from assay.results.estimate import (
    detectable_difference_in_success,
    estimate_mean,
    estimate_rate,
    estimate_success,
    interval_half_width,
    t_probability,
    t_quantile,
)
from assay.results.estimate import summarize_agents as summarize_standings
from assay.results.estimate import summarize_tasks as summarize_cells
from assay.results.frame import group_by
from assay.results.measures import sample_successes

__all__ = [
    "Cell",
    "Estimate",
    "Rate",
    "Standing",
    "detectable_difference_in_success",
    "estimate_mean",
    "estimate_rate",
    "estimate_success",
    "group_by",
    "interval_half_width",
    "sample_successes",
    "summarize_cells",
    "summarize_standings",
    "t_probability",
    "t_quantile",
]
