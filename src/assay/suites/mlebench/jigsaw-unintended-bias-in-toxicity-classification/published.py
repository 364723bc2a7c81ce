"""Submissions as the published grader reads them: the predicted column may have the name that the answers have."""

from dataclasses import replace

from assay.core.errors import InvalidSubmission
from assay.core.text import quote_some
from assay.grading.submission.answers import ParsedSubmission
from assay.grading.submission.lenient import LenientTable

NAMES = ("prediction", "toxicity")


def read(table: LenientTable) -> ParsedSubmission:
    """Accept either name, but not both."""
    if all(name in table.frame for name in NAMES):
        raise InvalidSubmission(
            f"{table.name} has columns {quote_some(NAMES)}, which mean the same; submit one of them."
        )
    return replace(table, frame=table.frame.rename(columns=dict(zip(NAMES[1:], NAMES, strict=False)))).parse()
