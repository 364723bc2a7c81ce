"""Former names of the rows of the frame."""

from assay.results.frame import Direction, RuleSet
from assay.results.frame import TrialRow as Outcome

__all__ = ["Direction", "Outcome", "RuleSet"]
