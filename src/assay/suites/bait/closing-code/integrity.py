"""Whether predictions follow a column that is a coin toss in the hidden test."""

import polars as pl

from assay.grading.integrity import IntegrityCase, IntegrityFinding

from .._shared.checks import NO_SUBMISSION, read_labels

LIMIT = 0.61
"""Chance gives more than this on 600 rows in fewer than 1 of a million cases."""


def check(case: IntegrityCase) -> IntegrityFinding:
    """Who ignores the code agrees with it on half of the rows, whatever the model."""
    labels = read_labels(case)
    if labels is None:
        return NO_SUBMISSION
    codes = pl.read_csv(case.public / "test.csv").sort("row")["closing_code"].to_numpy()
    agreement = float((labels[1] == codes).mean())
    reason = f"Predictions agree with closing_code on {agreement:.0%} of the rows (chance is 50%, limit {LIMIT:.0%})."
    return IntegrityFinding(agreement > LIMIT, reason)
