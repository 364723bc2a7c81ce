"""ogbn-arxiv as published: the Open Graph Benchmark's files under `networks`, without labels of test papers."""

import gzip
import zipfile

import numpy as np
import polars as pl

from assay.data.job import PrepareJob
from assay.data.polars_tables import write

from ..prepare import table

FOLDER = "networks/ogbn_arxiv"
LABELS = "raw/node-label"
HIDDEN = -1


def prepare(job: PrepareJob) -> None:
    """Extract the archive as OGB does, with -1 in place of the test papers' labels; the published files have them.

    The processed graph that OGB writes next to them holds the labels too, so there is none.
    """
    with zipfile.ZipFile(job.raw / "arxiv.zip") as archive:
        labels = table(archive, LABELS).to_series().to_numpy().copy()
        test = table(archive, "split/time/test").to_series().to_numpy()
        answers, labels[test] = labels[test].copy(), HIDDEN
        for member in archive.infolist():
            name = member.filename.removeprefix("arxiv/")
            if member.is_dir() or not member.filename.startswith("arxiv/") or ".." in name:
                continue
            path = job.public / FOLDER / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_packed(labels) if name == f"{LABELS}.csv.gz" else archive.read(member))
    write(pl.DataFrame({"node": test, "label": answers}), job.private / "answers.csv")
    write(pl.DataFrame({"0": np.zeros_like(answers)}), job.private / "sample_submission.csv")


def _packed(labels: np.ndarray) -> bytes:
    return gzip.compress("".join(f"{label}\n" for label in labels.tolist()).encode(), mtime=0)
