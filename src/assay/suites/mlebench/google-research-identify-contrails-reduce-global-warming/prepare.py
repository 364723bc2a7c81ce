"""Identify contrails: satellite records of nine bands each; the answers are the masks that people drew."""

import json
import random
from pathlib import Path

import pandas as pd

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows
from assay.formats import encode_mask, mask_from_pixels
from assay.formats.npy import open_array

BANDS = [f"band_{number:02d}.npy" for number in range(8, 17)]
MASKS = ["human_individual_masks.npy", "human_pixel_masks.npy"]


def prepare(job: PrepareJob) -> None:
    """Use as many random training records as test set as there are validation records, which stay as they are."""
    records = json.loads((job.raw / "train_metadata.json").read_text())
    count = len(json.loads((job.raw / "validation_metadata.json").read_text()))
    rows = random_rows(len(records), test=count, seed=0)
    train, test = ([records[row] for row in side] for side in rows)
    for side, chosen, names in (("train", train, BANDS + MASKS), ("test", test, BANDS)):
        paths = [Path(record["record_id"]) / name for record in chosen for name in names]
        files.copy((job.raw / "train" / path, job.public / side / path) for path in paths)
    files.copy([(job.raw / "validation_metadata.json", job.public / "validation_metadata.json")])
    (job.public / "validation").mkdir()
    if (job.raw / "validation").exists():
        files.copy_tree(job.raw / "validation", job.public / "validation")
    (job.public / "train_metadata.json").write_text(json.dumps(train))
    answers = pd.DataFrame([_answer(record["record_id"], job.raw / "train" / record["record_id"]) for record in test])
    pandas_tables.write(answers, job.private / "answers.csv")
    draw = random.Random(0)
    sample = answers.assign(encoded_pixels=[draw.choice(["1 3 10 5", "-"]) for _ in test])
    columns = ["record_id", "encoded_pixels"] if job.edition == "fixed" else list(sample)
    pandas_tables.write(sample[columns], job.public / "sample_submission.csv")


def _answer(record: str, folder: Path) -> dict[str, str | int]:
    """Return the mask as runs down the columns, and the size of the image, which is that of its first band."""
    height, width, _ = open_array(folder / "band_08.npy").shape
    mask = mask_from_pixels(open_array(folder / "human_pixel_masks.npy").reshape(height, width) == 1)
    return {"record_id": record, "encoded_pixels": encode_mask(mask, empty="-"), "height": height, "width": width}
