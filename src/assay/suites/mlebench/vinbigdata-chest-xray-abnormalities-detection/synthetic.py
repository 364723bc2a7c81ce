"""Miniature raw data for vinbigdata-chest-xray-abnormalities-detection: rectangles, as bright as their class says."""

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

IMAGES = 160
SIZE = 64
NAMES = (
    "Aortic enlargement", "Atelectasis", "Calcification", "Cardiomegaly", "Consolidation", "ILD", "Infiltration",
    "Lung Opacity", "Nodule/Mass", "Other lesion", "Pleural effusion", "Pleural thickening", "Pneumothorax",
    "Pulmonary fibrosis", "No finding",
)  # fmt: skip
COLUMNS = ("image_id", "class_name", "class_id", "rad_id", "x_min", "y_min", "x_max", "y_max")


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Half of the images have findings; three radiologists read each image, and their boxes differ slightly."""
    rows = []
    for image in make.hex_ids(IMAGES, 32):
        pixels = make.texture((SIZE, SIZE), 0.2)
        findings: list[tuple[int, ...]] = []
        for left in make.rng.permutation([0, 16, 32, 48])[: make.rng.integers(1, 4) if make.rng.random() < 0.5 else 0]:
            kind = int(make.rng.integers(0, 14)) if not findings or make.rng.random() < 0.7 else findings[-1][0]
            top, width, height = (int(make.rng.integers(*limits)) for limits in ((2, 40), (8, 14), (8, 20)))
            pixels[top : top + height, left : left + width] = make.texture((height, width), 0.3 + kind / 20)
            findings.append((kind, int(left) + 1, top, int(left) + width, top + height))
        for reader in make.rng.choice(17, 3, replace=False):
            seen = [finding for finding in findings if make.rng.random() < 0.8]
            for kind, *corners in seen:
                drawn = [corner + int(make.rng.integers(-1, 2)) for corner in corners]
                rows.append((image, NAMES[kind], kind, f"R{reader + 1}", *drawn))
            if not seen:
                rows.append((image, NAMES[14], 14, f"R{reader + 1}", None, None, None, None))
        make.dicom(job.raw / "train" / f"{image}.dicom", pixels)
    order = make.rng.permutation(len(rows))
    table = {name: [rows[row][column] for row in order] for column, name in enumerate(COLUMNS)}
    make.csv(job.raw / "train.csv", table)
