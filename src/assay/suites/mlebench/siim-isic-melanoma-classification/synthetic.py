"""A miniature of the skin lesions: each as DICOM, as JPEG and in a TFRecord file; melanomas are darker."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature
from assay.formats import tfrecord

SITES = ["head/neck", "lower extremity", "torso", "upper extremity", "palms/soles"]
RECORDS = ["train00-2071", "train01-2071", "train06-2071", "train15-2061"]
LESIONS = 240


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write lesions, a quarter of them melanoma; TFRecord files of training images contain the label."""
    target = (make.labels(LESIONS, 4) == 0).astype(int)
    names = [f"ISIC_{number:07d}" for number in make.rng.choice(10**7, LESIONS, replace=False)]
    patient, sex, site = make.rng.integers(0, 60, LESIONS), make.labels(LESIONS), make.labels(LESIONS, len(SITES))
    age = 5 * make.rng.integers(3, 18, LESIONS)
    known = make.rng.random((LESIONS, 3)) < 0.97
    make.csv(
        job.raw / "train.csv",
        {
            "image_name": names,
            "patient_id": [f"IP_{number:07d}" for number in patient * 7919],
            "sex": np.where(known[:, 0], np.where(sex == 1, "male", "female"), ""),
            "age_approx": np.where(known[:, 1], age, np.nan),
            "anatom_site_general_challenge": np.where(known[:, 2], np.take(SITES, site), ""),
            "diagnosis": np.where(target == 1, "melanoma", "unknown"),
            "benign_malignant": np.where(target == 1, "malignant", "benign"),
            "target": target,
        },
    )
    pictures = []
    for name, melanoma in zip(names, target, strict=True):
        pixels = make.texture((32, 32, 3), 0.3 if melanoma else 0.6)
        make.dicom(job.raw / "train" / f"{name}.dcm", pixels[:, :, 0])
        make.image(job.raw / "jpeg" / "train" / f"{name}.jpg", pixels)
        pictures.append(make.encode_image(pixels, ".jpg"))
    facts = {"patient_id": patient, "sex": sex, "age_approx": age, "anatom_site_general_challenge": site}
    labels = {"diagnosis": target, "target": target}
    for part, name in enumerate(RECORDS):
        rows = range(part, LESIONS, len(RECORDS))
        _write_records(job.raw, name, rows, pictures, names, facts | labels)
    _write_records(job.raw, "test00-687", range(3), pictures, [f"ISIC_{row:07d}" for row in range(3)], facts)


def _write_records(
    raw: Path, name: str, rows: range, pictures: list[bytes], names: list[str], facts: dict[str, NDArray[np.int64]]
) -> None:
    """Write the named TFRecord file of these rows."""
    tfrecord.write(
        raw / "tfrecords" / f"{name}.tfrec",
        (
            {
                "image": [pictures[row]],
                "image_name": [names[row].encode()],
                **{feature: [int(values[row])] for feature, values in facts.items()},
            }
            for row in rows
        ),
    )
