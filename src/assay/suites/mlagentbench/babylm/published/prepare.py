"""BabyLM as published: the challenge's files under their own names, without the test text."""

from pathlib import Path

import numpy as np
import polars as pl

from assay.data import archives, files
from assay.data.job import PrepareJob
from assay.data.polars_tables import write

from ..prepare import SHOWN, SOURCES, content

TASK = Path(__file__).parent.parent
README = "babylm_data/README.md"
MAX_HIDDEN = 30_000
"""Bytes of each source's test text that are graded, so that a model of GPT-2's size is run in minutes without a GPU."""


def prepare(job: PrepareJob) -> None:
    """Hide the test text, which the published workspace holds; the beginning of each of its sources is graded."""
    archive = job.raw / "babylm_data.zip"
    for side, folder in SHOWN.items():
        names = (f"babylm_data/{folder}/{name}.{side}" for name in SOURCES)
        archives.extract(archive, ((name, job.public / name) for name in names))
    archives.extract(archive, ((name, job.public / name) for name in archives.list_names(archive, below=README)))
    files.copy(
        [(TASK / "model.py", job.public / "model.py"), (TASK / "published" / "judge.py", job.public / "judge.py")]
    )

    hidden = b"".join(beginning(content(archive, f"babylm_data/babylm_test/{name}.test")) for name in SOURCES)
    (job.private / "inputs").mkdir()
    np.save(job.private / "inputs" / "text.npy", np.frombuffer(hidden, np.uint8))
    write(pl.DataFrame({"id": [0], "bits": [0.0], "tokens": [1]}), job.private / "answers.csv")


def beginning(text: bytes) -> bytes:
    """Return the first lines of a text, `MAX_HIDDEN` bytes or a little less."""
    return text[: text.rfind(b"\n", 0, MAX_HIDDEN) + 1]
