"""Records added up: statistics, tables, figures and the report, all functions of a sequence of outcomes."""

from assay.results.outcome import Outcome, Rules

__all__ = ["Outcome", "Rules"]
