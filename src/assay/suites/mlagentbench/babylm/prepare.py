"""BabyLM: public training and development text, and blocks of the test text for grading."""

from pathlib import Path

import numpy as np
import polars as pl

from assay.data import archives, files
from assay.data.job import PrepareJob
from assay.data.polars_tables import write

FOLDER = Path(__file__).parent
SHOWN = {"train": "babylm_10M", "dev": "babylm_dev"}
SOURCES = (
    "aochildes", "bnc_spoken", "cbt", "children_stories", "gutenberg", "open_subtitles", "qed", "simple_wikipedia",
    "switchboard", "wikipedia",
)  # fmt: skip
BLOCKS = 128
SIZE = 2048
SEED = 20275


def prepare(job: PrepareJob) -> None:
    """Draw blocks from the test text: unlike all of it, as published, they are scored in minutes without a GPU."""
    archive = job.raw / "babylm_data.zip"
    for side, folder in SHOWN.items():
        members = ((f"babylm_data/{folder}/{name}.{side}", job.public / side / f"{name}.txt") for name in SOURCES)
        archives.extract(archive, members)
    files.copy((FOLDER / name, job.public / name) for name in ("model.py", "judge.py"))

    test_blocks = [
        block for name in SOURCES for block in blocks(content(archive, f"babylm_data/babylm_test/{name}.test"))
    ]
    drawn = np.random.RandomState(SEED).permutation(len(test_blocks))[:BLOCKS]
    texts = np.stack([np.frombuffer(test_blocks[number], np.uint8) for number in np.sort(drawn)])
    (job.private / "inputs").mkdir()
    np.save(job.private / "inputs" / "texts.npy", texts)
    write(pl.DataFrame({"id": np.arange(len(texts)), "bytes": np.full(len(texts), SIZE)}), job.private / "answers.csv")


def content(archive: Path, name: str) -> bytes:
    with archives.open_member(archive, name) as file:
        return file.read()


def blocks(text: bytes) -> list[bytes]:
    """Return the blocks of a text: each starts at the first line after the block before it and is `SIZE` bytes long.

    The rest of the line in which a block ends belongs to no block.
    """
    parts, begin = [], 0
    while begin + SIZE <= len(text):
        end = begin + SIZE
        parts.append(text[begin:end])
        begin = text.find(b"\n", end - 1) + 1 or len(text)
    return parts
