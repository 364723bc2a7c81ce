"""Studies of results: what was published before, recomputed where its reports are known, and how new results compare.

Start reading at `published.py`.
"""

from assay.studies.published import load_leaderboard, verify_reports

__all__ = ["load_leaderboard", "verify_reports"]
