"""Denoising dirty documents: pages split at random; the answers are the clean test pages, pixel by pixel."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from assay.core.errors import SourceError
from assay.data import archives
from assay.data.job import PrepareJob
from assay.data.splits import random_rows

VALUES = [repr(level / 255) for level in range(256)]


def prepare(job: PrepareJob) -> None:
    """Split the pages in the order of their names as text: 10.png comes before 2.png."""
    pages = archives.list_folder(job.raw / "train.zip", "train", ".png")
    test = [pages[row] for row in random_rows(len(pages), test=0.2, seed=0).test]
    unpack(job.raw, set(test), job.public, pages_only=job.edition == "fixed")
    cleaned = sorted({*test} & {*archives.list_folder(job.raw / "train_cleaned.zip", "train_cleaned", ".png")})
    if not cleaned:
        raise SourceError("train_cleaned.zip holds none of the test pages")
    with (job.public / "sampleSubmission.csv").open("w") as sample, (job.private / "answers.csv").open("w") as answers:
        sample.write("id,value\n")
        answers.write("id,value\n")
        for page in cleaned:
            levels = gray_levels(job.raw / "train_cleaned.zip", f"train_cleaned/{page}")
            for ids, line in pixel_rows(page.removesuffix(".png"), levels):
                sample.write("".join([f"{id},1\n" for id in ids]))
                answers.write("".join([f"{id},{VALUES[level]}\n" for id, level in zip(ids, line, strict=True)]))


def unpack(raw: Path, test: set[str], public: Path, *, pages_only: bool) -> None:
    """Extract both archives, with the test pages in their own folder and without the clean ones.

    Other members of the archives are extracted too unless `pages_only`; a name in both comes from the second.
    """
    sources: dict[str, tuple[str, str]] = {}
    for folder in ("train", "train_cleaned"):
        archive = f"{folder}.zip"
        pages = {f"{folder}/{page}" for page in archives.list_folder(raw / archive, folder, ".png")}
        for name in pages if pages_only else archives.list_names(raw / archive):
            if name not in pages or name.removeprefix(f"{folder}/") not in test:
                sources[name] = (archive, name)
            elif folder == "train":
                sources[name.replace("train/", "test/", 1)] = (archive, name)
    for archive in ("train.zip", "train_cleaned.zip"):
        members = ((name, public / target) for target, (source, name) in sources.items() if source == archive)
        archives.extract(raw / archive, members)


def gray_levels(archive: Path, name: str) -> NDArray[np.uint8]:
    """Return the gray levels of a page, 0 for black to 255 for white."""
    with archives.open_member(archive, name) as file, Image.open(file) as picture:
        return np.asarray(picture.convert("L"))


def pixel_rows(page: str, levels: NDArray[np.uint8]) -> Iterator[tuple[list[str], list[int]]]:
    """Yield the ids and levels of each row of pixels; an id is page, row and column, counted from 1."""
    columns = [f"_{column}" for column in range(1, levels.shape[1] + 1)]
    for row, line in enumerate(levels.tolist(), start=1):
        start = f"{page}_{row}"
        yield [start + column for column in columns], line
