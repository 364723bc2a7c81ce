"""Whether the medals of a leaderboard distinguish solutions, or only noise in their scores."""

from assay.audit.finding import AuditFinding
from assay.audit.subject import Subject

CHECK = "crowded leaderboard"

_MIN_GAP = 0.0025
"""Gold and bronze must be at least this share of the way from the sample submission to gold apart."""
_MIN_RELATIVE_GAP = 0.01
_EQUAL = 1.5e-5


def check_leaderboard(subject: Subject, sample_score: float | None) -> list[AuditFinding]:
    """Report medals with (almost) one threshold, and a bronze medal for a median score."""
    board = subject.prepared.task.leaderboard if subject.prepared else None
    if board is None:
        return [AuditFinding(CHECK, "skipped", "there is no leaderboard")]
    computed_on = f"the published leaderboard of {board.teams:,} teams"
    thresholds = f"gold {board.gold:g}, silver {board.silver:g}, bronze {board.bronze:g}, median {board.median:g}"
    gap = abs(board.gold - board.bronze)
    span = abs(board.gold - sample_score) if sample_score is not None else None
    findings = []
    if gap <= _EQUAL:
        findings.append(f"gold and bronze are the same score ({board.gold:g})")
    elif span and gap / span < _MIN_GAP and gap < _MIN_RELATIVE_GAP * abs(board.gold):
        findings.append(f"gold and bronze are {gap:.2g} apart, {gap / span:.2%} of the way from the sample to gold")
    if abs(board.silver - board.bronze) <= _EQUAL < gap:
        findings.append(f"silver and bronze are the same score ({board.bronze:g})")
    if abs(board.bronze - board.median) <= _EQUAL:
        findings.append(f"a median score wins bronze ({board.bronze:g})")
    if not findings:
        return [AuditFinding(CHECK, "none", thresholds, (), computed_on)]
    return [AuditFinding(CHECK, "low", text, (thresholds,), computed_on) for text in findings]
