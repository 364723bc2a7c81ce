"""Submissions as the published grader reads them: slices by the ids in the file, which may end early."""

from dataclasses import replace

import numpy as np

from assay.grading.submission.answers import ParsedSubmission, check_header
from assay.grading.submission.lenient import LenientTable
from assay.tasks import Column


def read(table: LenientTable) -> ParsedSubmission:
    """Pass the submitted ids to the metric, and predict None for each row that the file lacks."""
    header = list(map(str, table.frame.columns))
    check_header(header, ["id", *table.answers.task.submission.columns], table.name, extra=True)
    parsed = table.parse()
    slices = table.convert_column("id", Column(type="text", only_text=True), parsed)
    columns = {}
    for name, masks in parsed.columns.items():
        columns[name] = np.full(len(table.answers.frame), None, object)
        columns[name][: len(masks)] = masks
    return replace(parsed, columns=columns, rows=None, submitted={"predicted_slices": slices})
