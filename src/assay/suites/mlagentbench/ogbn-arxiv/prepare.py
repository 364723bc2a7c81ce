"""ogbn-arxiv: the published split by year, without the labels of the newest papers."""

import gzip
import zipfile

import numpy as np
import polars as pl

from assay.data.job import PrepareJob
from assay.data.polars_tables import write, write_split

SEED = 20273


def prepare(job: PrepareJob) -> None:
    """Renumber the papers, so that labels cannot be looked up by the benchmark's own numbers."""
    with zipfile.ZipFile(job.raw / "arxiv.zip") as archive:
        features = table(archive, "raw/node-feat").to_numpy().astype(np.float32)
        labels, years = (table(archive, f"raw/{name}").to_series().to_numpy() for name in ("node-label", "node_year"))
        edges = table(archive, "raw/edge").to_numpy()
        parts = {
            part: table(archive, f"split/time/{part}").to_series().to_numpy() for part in ("train", "valid", "test")
        }
    number = np.random.RandomState(SEED).permutation(len(features))

    papers = {
        part: pl.DataFrame({"node": number[old], "year": years[old], "label": labels[old]}).sort("node")
        for part, old in parts.items()
    }
    write_split(papers["train"], papers["test"], id="node", sample={"label": 0}, public=job.public, private=job.private)
    write(papers["valid"], job.public / "valid.csv")
    write(pl.DataFrame(number[edges], schema=["citing", "cited"]).sort("citing", "cited"), job.public / "edges.csv")
    shuffled = np.empty_like(features)
    shuffled[number] = features
    np.save(job.public / "features.npy", shuffled)


def table(archive: zipfile.ZipFile, name: str) -> pl.DataFrame:
    """Read a table of numbers without a header."""
    return pl.read_csv(gzip.decompress(archive.read(f"arxiv/{name}.csv.gz")), has_header=False)
