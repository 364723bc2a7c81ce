"""Miniature raw data for rsna-breast-cancer-detection: the images of a breast with cancer have a bright spot."""

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

PATIENTS = 160
COLUMNS = (
    "site_id", "patient_id", "image_id", "laterality", "view", "age", "cancer", "biopsy", "invasive", "BIRADS",
    "implant", "density", "machine_id", "difficult_negative_case",
)  # fmt: skip


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Each patient has two breasts with two or three images each; some ages, grades and densities are missing."""
    rows = []
    patients = make.rng.choice(65_000, PATIENTS, replace=False).tolist()
    images = iter(make.rng.permutation(10**6).tolist())
    for patient in patients:
        site, age = int(make.rng.integers(1, 3)), int(make.rng.integers(30, 90))
        for side in "LR":
            cancer = bool(make.rng.random() < 0.2)
            for view in ("CC", "MLO", "CC")[: make.rng.integers(2, 4)]:
                image, draw = next(images), make.rng.random(4)
                pixels = make.texture((24, 24), make.rng.uniform(0.2, 0.4))
                if cancer:
                    pixels[8:16, 8:16] = make.texture((8, 8), 0.8)
                make.dicom(job.raw / "train_images" / str(patient) / f"{image}.dcm", pixels)
                biopsy = cancer or draw[0] < 0.1
                rows.append((
                    site, patient, image, side, view, age if draw[1] < 0.98 else None, int(cancer), int(biopsy),
                    int(cancer and draw[0] < 0.6), int(not cancer) if draw[2] < 0.5 else None, int(draw[3] < 0.05),
                    "ABCD"[int(4 * draw[3])] if site == 1 else None, int(make.rng.integers(20, 200)),
                    bool(biopsy and not cancer),
                ))  # fmt: skip
    make.csv(job.raw / "train.csv", {name: [row[column] for row in rows] for column, name in enumerate(COLUMNS)})
