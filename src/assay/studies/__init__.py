"""Studies of results beyond their scores: scaling, contamination, similarity, violations, published results.

One module per study; `trials.py` and `paired.py` are what they share. Start reading at `scaling.py`.
"""

from assay.studies.published import load_leaderboard, verify_reports

__all__ = ["load_leaderboard", "verify_reports"]
