"""Makes the denoising-dirty-documents task: pages split at random, the clean test pages written out pixel by pixel."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from assay.data import archives
from assay.data.splits import random_rows

VALUES = [repr(level / 255) for level in range(256)]


def prepare(raw: Path, public: Path, private: Path, edition: str) -> None:
    """The split goes through the pages in the order of their names as text: 10.png comes before 2.png."""
    pages = [PurePosixPath(name).name for name in archives.names(raw / "train.zip", below="train/", suffix=".png")]
    train, test = ([pages[row] for row in rows] for rows in random_rows(len(pages), test=0.2, seed=0))
    archives.extract(raw / "train.zip", ((f"train/{page}", public / "train" / page) for page in train))
    archives.extract(raw / "train.zip", ((f"train/{page}", public / "test" / page) for page in test))
    cleaned = ((f"train_cleaned/{page}", public / "train_cleaned" / page) for page in train)
    archives.extract(raw / "train_cleaned.zip", cleaned)
    with (public / "sampleSubmission.csv").open("w") as sample, (private / "answers.csv").open("w") as answers:
        sample.write("id,value\n")
        answers.write("id,value\n")
        for page in sorted(test):
            levels = grey_levels(raw / "train_cleaned.zip", f"train_cleaned/{page}")
            for ids, line in pixel_rows(page.removesuffix(".png"), levels):
                sample.write("".join([f"{id},1\n" for id in ids]))
                answers.write("".join([f"{id},{VALUES[level]}\n" for id, level in zip(ids, line, strict=True)]))


def grey_levels(archive: Path, name: str) -> NDArray[np.uint8]:
    """The levels of a page, 0 for black to 255 for white."""
    with archives.open_member(archive, name) as file, Image.open(file) as picture:
        return np.asarray(picture.convert("L"))


def pixel_rows(page: str, levels: NDArray[np.uint8]) -> Iterator[tuple[list[str], list[int]]]:
    """The ids and levels of each row of pixels: an id is the page, the row and the column, which count from 1."""
    columns = [f"_{column}" for column in range(1, levels.shape[1] + 1)]
    for row, line in enumerate(levels.tolist(), start=1):
        start = f"{page}_{row}"
        yield [start + column for column in columns], line
