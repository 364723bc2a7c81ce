"""Whether the files of a test row hold its answer: the numbers to predict, or the outline of the objects to find."""

import math
import re
from collections import defaultdict
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.audit.finding import AuditFinding
from assay.audit.subject import Subject
from assay.audit.task_check import parse_numbers
from assay.audit.test_files import MAX_FILES, PublicFile, list_files, match_rows
from assay.core.errors import InvalidSubmission, RecordError
from assay.core.untrusted import parse_json
from assay.formats import parse_mask

CHECK = "answers in test files"

_TEXTS = (".json", ".geojson", ".nmea", ".txt", ".csv", ".tsv", ".xml", ".log", ".gpx", ".kml")
_NUMBER = re.compile(rb"-?\d+\.\d+(?:[eE][-+]?\d+)?")
_NMEA = re.compile(rb"(\d{2,3})(\d{2}\.\d+),([NSEW])")
_TOLERANCE = 1e-6
_MIN_MATCHED = 0.9
_MIN_VALUES = 5
_MIN_DICE = 0.8
_MAX_PIXELS = 50_000_000


def check_side_files(subject: Subject) -> list[AuditFinding]:
    """Look for the answers of a row in the text files that belong to it."""
    if not len(subject.labels) or not subject.ids:
        return [AuditFinding(CHECK, "skipped", "there are no answers with ids")]
    kinds: dict[str, list[PublicFile]] = defaultdict(list)
    rows_of: dict[str, list[int]] = {}
    for file in list_files(subject.public):
        if file.suffix not in _TEXTS:
            continue
        rows = match_rows(file.name, subject.rows_of_id)
        if rows:
            kinds[_kind(file.name, subject.table[subject.ids[0]].iloc[rows[0]])].append(file)
            rows_of[file.name] = rows
    computed_on = f"{len(rows_of):,} text files of test rows (of at most {MAX_FILES:,} files)"
    if not rows_of:
        return [AuditFinding(CHECK, "skipped", "test rows have no text files of their own")]
    findings = []
    for kind, files in sorted(kinds.items()):
        evidence = _find_numbers(subject, files, rows_of) or _find_outlines(subject, files, rows_of)
        if evidence:
            text = f"the files {kind} hold the answers of their test rows"
            findings.append(AuditFinding(CHECK, "high", text, (evidence, f"for example: {files[0].name}"), computed_on))
    return findings or [
        AuditFinding(CHECK, "none", f"{len(kinds)} kinds of files, none holds answers", (), computed_on)
    ]


def _kind(name: str, id: str) -> str:
    base = PurePosixPath(name).name
    return base.replace(id, "ID") if id in base else f"*{PurePosixPath(name).suffix} {base}" if len(base) < 40 else "*"


def _find_numbers(subject: Subject, files: list[PublicFile], rows_of: dict[str, list[int]]) -> str | None:
    """Compare numeric answers with the numbers of the files, up to rounding; and with positions in NMEA format."""
    for target in subject.labels.columns:
        truth = parse_numbers(subject.labels[target])
        if truth.dtype.kind != "f" or len(np.unique(truth)) < _MIN_VALUES or not np.isfinite(truth).all():
            continue
        tolerance = _TOLERANCE * float(np.std(truth))
        matched = total = 0
        for file in files[:200]:
            numbers = _numbers(file.read())
            answers = truth[rows_of[file.name]]
            if len(numbers):
                total += len(answers)
                matched += int((_distance(numbers, answers) <= tolerance).sum())
        if matched >= _MIN_VALUES and matched >= _MIN_MATCHED * total:
            return f"{matched:,} of {total:,} values of {target} are in them"
    return None


def _numbers(content: bytes) -> NDArray[np.float64]:
    plain = [float(number) for number in _NUMBER.findall(content)[:200_000]]
    signs = {b"S": -1, b"W": -1}
    degrees = [
        signs.get(side, 1) * (int(whole) + float(minutes) / 60)
        for whole, minutes, side in _NMEA.findall(content)[:100_000]
    ]
    return np.unique([*plain, *degrees])


def _distance(numbers: NDArray[np.float64], answers: NDArray[Any]) -> NDArray[np.float64]:
    positions = np.searchsorted(numbers, answers)
    below = numbers[np.clip(positions - 1, 0, len(numbers) - 1)]
    above = numbers[np.clip(positions, 0, len(numbers) - 1)]
    nearest: NDArray[np.float64] = np.minimum(np.abs(below - answers), np.abs(above - answers))
    return nearest


def _find_outlines(subject: Subject, files: list[PublicFile], rows_of: dict[str, list[int]]) -> str | None:
    """Draw the polygons of JSON files, and compare them with answers that are masks."""
    if subject.key is None:
        return None
    rules = subject.key.task.submission.columns
    for target, column in subject.key.targets.items():
        codec = rules[target].codec
        if codec is None or codec.name != "mask" or not {"height", "width"} <= {*codec.answers}:
            continue
        scores = []
        for file in files[:20]:
            row = subject.table.iloc[rows_of[file.name][0]]
            height, width = (int(row[codec.answers[side]]) for side in ("height", "width"))
            polygons = _polygons(file.read())
            if not polygons or height * width > _MAX_PIXELS:
                continue
            scores.append(_overlap(polygons, row[column], height, width, str(codec.params.get("order", "column"))))
        if scores and float(np.mean(scores)) >= _MIN_DICE:
            return f"their polygons overlap with the true masks: Dice {np.mean(scores):.2f} over {len(scores)} files"
    return None


def _polygons(content: bytes) -> list[list[tuple[float, float]]]:
    try:
        document = parse_json(content, "a side file", strict=False)
    except RecordError:
        return []
    polygons: list[list[tuple[float, float]]] = []
    pending = [document]
    while pending and len(polygons) < 10_000:
        item = pending.pop()
        if isinstance(item, dict):
            pending += item.values()
        elif isinstance(item, list):
            points = [point for point in item if isinstance(point, list) and len(point) == 2]
            numeric = all(
                isinstance(number, int | float) and math.isfinite(number) for point in points for number in point
            )
            if len(points) == len(item) >= 3 and numeric:
                polygons.append([(float(x), float(y)) for x, y in points])
            else:
                pending += item
    return polygons


def _overlap(polygons: list[list[tuple[float, float]]], text: str, height: int, width: int, order: str) -> float:
    from PIL import Image, ImageDraw

    try:
        truth = parse_mask(text, height, width, "answers", order="row" if order == "row" else "column").decode()
    except InvalidSubmission:
        return 0.0
    image = Image.new("1", (width, height))
    draw = ImageDraw.Draw(image)
    for polygon in polygons:
        draw.polygon(polygon, fill=1)
    drawn = np.asarray(image)
    return float(2 * (drawn & truth).sum() / max(1, drawn.sum() + truth.sum()))
