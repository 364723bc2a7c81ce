"""CIFAR-10: the published training and test images, each side in a new order."""

import json
import tarfile
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from PIL import Image

from assay.data.job import PrepareJob
from assay.data.polars_tables import write

SEED = 20266
SIDE = 32
ARCHIVE = "cifar-10-binary.tar.gz"
TRAIN = [f"data_batch_{number}" for number in range(1, 6)]
TEST = ["test_batch"]

Images = NDArray[np.uint8]
Labels = NDArray[np.int64]


def prepare(job: PrepareJob) -> None:
    """Shuffle both sides, because models may have memorized the published order of the labels."""
    random = np.random.RandomState(SEED)
    (images, labels), (unseen, answers) = read_sides(job.raw)
    order, new_order = random.permutation(len(labels)), random.permutation(len(answers))
    np.save(job.public / "train_images.npy", images[order])
    np.save(job.public / "train_labels.npy", labels[order])
    np.save(job.public / "test_images.npy", unseen[new_order])
    numbers = np.arange(len(answers))
    write(pl.DataFrame({"index": numbers, "label": np.zeros_like(answers)}), job.public / "sample_submission.csv")
    write(pl.DataFrame({"index": numbers, "label": answers[new_order]}), job.private / "answers.csv")


def read_sides(raw: Path) -> list[tuple[Images, Labels]]:
    """Return images and labels of the training and of the test side, in the published order."""
    return _from_archive(raw) if (raw / ARCHIVE).is_file() else _from_package(raw)


def _from_package(raw: Path) -> list[tuple[Images, Labels]]:
    """Read the package: each row of a batch holds the pixels of an image; labels are in separate lists."""
    sides = []
    for batches, labels in ((TRAIN, "train_lables.json"), (TEST, "test_lables.json")):
        rows = np.concatenate([np.asarray(Image.open(raw / "package" / f"{batch}.png")) for batch in batches])
        truth = np.array(json.loads((raw / "package" / labels).read_bytes()), dtype=np.int64)
        sides.append((rows.reshape(-1, SIDE, SIDE, 3), truth))
    return sides


def _from_archive(raw: Path) -> list[tuple[Images, Labels]]:
    """Read the archive: each record is a byte for the label, then the red, green and blue planes, row by row."""
    sides = []
    with tarfile.open(raw / ARCHIVE) as archive:
        for batches in (TRAIN, TEST):
            files = (archive.extractfile(f"cifar-10-batches-bin/{batch}.bin") for batch in batches)
            content = b"".join(file.read() for file in files if file)
            records = np.frombuffer(content, dtype=np.uint8).reshape(-1, 1 + 3 * SIDE * SIDE)
            images = records[:, 1:].reshape(-1, 3, SIDE, SIDE).transpose(0, 2, 3, 1)
            sides.append((np.ascontiguousarray(images), records[:, 0].astype(np.int64)))
    return sides
