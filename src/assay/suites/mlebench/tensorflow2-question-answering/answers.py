"""Every right answer to a question: the grader accepts any of them, the gold submission has the first."""

from pathlib import Path
from typing import Any

from assay.formats.json_lines import read_json_lines


def read_answers(path: Path) -> dict[str, list[str]]:
    """Return two rows for each question of the private file, with all right answers separated by spaces."""
    rows: dict[str, list[str]] = {"example_id": [], "PredictionString": []}
    for record in read_json_lines(path):
        for kind, answers in list_right_answers(record["annotations"][0]).items():
            rows["example_id"].append(f"{record['example_id']}_{kind}")
            rows["PredictionString"].append(" ".join(answers))
    return rows


def list_right_answers(annotation: dict[str, Any]) -> dict[str, list[str]]:
    """Return the right short and long answers; none where the page does not answer the question."""
    yes_or_no, passage = annotation["yes_no_answer"], annotation["long_answer"]
    short = [] if yes_or_no == "NONE" else [yes_or_no]
    short += [_span(phrase) for phrase in annotation["short_answers"]]
    return {"short": short, "long": [] if passage["start_token"] == -1 else [_span(passage)]}


def _span(tokens: dict[str, int]) -> str:
    return f"{tokens['start_token']}:{tokens['end_token']}"
