"""Former names of how results are written."""

from assay.core.quantities import format_duration
from assay.core.text import one_line, plural
from assay.core.values import (
    NOTHING,
    format_change,
    format_count,
    format_estimate,
    format_interval,
    format_number,
    format_percent,
)
from assay.results.report import (
    ARROWS,
    describe_failures,
    describe_reasons,
    format_mean_success,
    format_rank,
    format_trial_rank,
    format_trial_result,
    short_task_name,
)
from assay.results.report import format_medals_or_rank as format_cell_rank
from assay.results.report import format_score as format_cell_score
from assay.results.report import format_valid as format_cell_valid
from assay.results.verdict import format_strength

__all__ = [
    "ARROWS",
    "NOTHING",
    "describe_failures",
    "describe_reasons",
    "format_cell_rank",
    "format_cell_score",
    "format_cell_valid",
    "format_change",
    "format_count",
    "format_duration",
    "format_estimate",
    "format_interval",
    "format_mean_success",
    "format_number",
    "format_percent",
    "format_rank",
    "format_strength",
    "format_trial_rank",
    "format_trial_result",
    "one_line",
    "plural",
    "short_task_name",
]
