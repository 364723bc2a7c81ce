"""Miniature raw data for cassava-leaf-disease-classification: every class has its own shade of green."""

import json

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature
from assay.formats import tfrecord

DISEASES = [
    "Cassava Bacterial Blight (CBB)",
    "Cassava Brown Streak Disease (CBSD)",
    "Cassava Green Mottle (CGM)",
    "Cassava Mosaic Disease (CMD)",
    "Healthy",
]
RECORDS = 12
PHOTOS = 240


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Each photo is a file and in one of twelve TFRecord files, there with its label, as in the real data."""
    labels = make.labels(PHOTOS, len(DISEASES))
    names = [f"{number}.jpg" for number in make.rng.choice(4 * 10**9, PHOTOS, replace=False)]
    make.csv(job.raw / "train.csv", {"image_id": names, "label": labels})
    (job.raw / "label_num_to_disease_map.json").write_text(json.dumps({str(k): v for k, v in enumerate(DISEASES)}))
    examples: list[tfrecord.Example] = []
    for name, label in zip(names, labels, strict=True):
        shades = [make.texture((24, 24), level) for level in (0.4, 0.1 + 0.2 * label, 0.3)]
        picture = make.encode_image(np.stack(shades, axis=-1), ".jpg")
        make.image(job.raw / "train_images" / name, np.stack(shades, axis=-1))
        examples.append({"image": [picture], "image_name": [name.encode()], "target": [int(label)]})
    for number in range(RECORDS):
        rows = examples[number::RECORDS]
        tfrecord.write(job.raw / "train_tfrecords" / f"ld_train{number:02d}-{len(rows)}.tfrec", rows)
