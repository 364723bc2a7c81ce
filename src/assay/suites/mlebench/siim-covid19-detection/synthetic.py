"""Miniature raw data for siim-covid19-detection: opacities are bright, and a corner shows the class of a study."""

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

STUDIES = 160
CLASSES = (
    "Negative for Pneumonia", "Typical Appearance", "Indeterminate Appearance", "Atypical Appearance",
)  # fmt: skip


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Most studies have one image, some two; negative ones have no boxes, and some others neither."""
    studies, classes = make.hex_ids(STUDIES, 12), make.labels(STUDIES, 4)
    names = iter(make.hex_ids(4 * STUDIES, 12))
    rows = []
    for study, kind in zip(studies, classes, strict=True):
        for _ in range(2 if make.rng.random() < 0.1 else 1):
            image, pixels = next(names), make.texture((48, 48), 0.3)
            pixels[:8, :8] = make.texture((8, 8), kind / 3)
            boxes = []
            for half in range(make.rng.integers(0, 3) if kind else 0):
                x, y = make.rng.integers(10, 20) + 24 * half - 10, make.rng.integers(10, 20)
                width, height = make.rng.integers(6, 14, 2)
                pixels[y : y + height, x : x + width] = make.texture((height, width), 0.9)[:, : 48 - x]
                boxes.append({"x": x + 0.5, "y": y + 0.25, "width": width - 0.125, "height": height - 0.3})
            make.dicom(job.raw / "train" / study / next(names) / f"{image}.dcm", pixels)
            rows.append((f"{image}_image", _listed(boxes), _labeled(boxes), study))
    indicators = {name: (classes == number).astype(int) for number, name in enumerate(CLASSES)}
    make.csv(job.raw / "train_study_level.csv", {"id": [f"{study}_study" for study in studies], **indicators})
    columns = ("id", "boxes", "label", "StudyInstanceUID")
    table = {name: [row[column] for row in rows] for column, name in enumerate(columns)}
    make.csv(job.raw / "train_image_level.csv", table)


def _listed(boxes: list[dict[str, float]]) -> str | None:
    return str([{key: float(value) for key, value in box.items()} for box in boxes]) if boxes else None


def _labeled(boxes: list[dict[str, float]]) -> str:
    corners = [(box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"]) for box in boxes]
    return " ".join(f"opacity 1 {' '.join(map(str, box))}" for box in corners) or "none 1 0 0 1 1"
