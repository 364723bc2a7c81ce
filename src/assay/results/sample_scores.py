"""Scores of sample submissions: with the gold medal's, they put scores of different metrics on one scale."""


def normalize_score(score: float, sample: float, gold: float) -> float | None:
    """Return where a score is between the sample submission's (0) and the gold medal's (1), limited to these.

    None where the sample submission already scores like gold.
    """
    if sample == gold:
        return None
    return min(max((score - sample) / (gold - sample), 0.0), 1.0)
