"""A miniature of the citation graph: papers on the same subject share features and cite each other."""

import gzip
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

PAPERS, SUBJECTS, WORDS = 1200, 40, 128


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write the benchmark's archive: features, labels, years and edges without headers, and the split by year."""
    labels = make.labels(PAPERS, SUBJECTS)
    years = make.rng.choice(np.arange(2011, 2021), PAPERS, p=[0.06, 0.07, 0.08, 0.09, 0.1, 0.1, 0.1, 0.15, 0.15, 0.1])
    centres = make.rng.normal(0, 0.15, (SUBJECTS, WORDS))
    features = (centres[labels] + make.rng.normal(0, 0.2, (PAPERS, WORDS))).round(6)
    edges = [(citing, cited) for citing in range(PAPERS) for cited in references(make, citing, labels, years)]
    subjects = [f"arxiv cs {chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(SUBJECTS)]
    tables: dict[str, Any] = {
        "raw/edge": edges, "raw/node-feat": features,
        "raw/node-label": labels[:, None], "raw/node_year": years[:, None],
        "raw/num-node-list": [[PAPERS]], "raw/num-edge-list": [[len(edges)]],
        "split/time/train": np.flatnonzero(years <= 2017)[:, None],
        "split/time/valid": np.flatnonzero(years == 2018)[:, None],
        "split/time/test": np.flatnonzero(years >= 2019)[:, None],
        "mapping/labelidx2arxivcategeory": [["label idx", "arxiv category"], *enumerate(subjects)],
    }  # fmt: skip
    members = {f"arxiv/{name}.csv.gz": packed(rows) for name, rows in tables.items()}
    make.zip(job.raw / "arxiv.zip", {"arxiv/RELEASE_v1.txt": b"", **members})


def references(make: Miniature, paper: int, labels: NDArray[Any], years: NDArray[Any]) -> list[int]:
    """Return a few older papers, most of them on the same subject."""
    older = np.flatnonzero(years < years[paper])
    alike = older[labels[older] == labels[paper]]
    pools = [alike if len(alike) and make.rng.random() < 0.8 else older for _ in range(make.rng.integers(1, 6))]
    return sorted({int(make.rng.choice(pool)) for pool in pools if len(pool)})


def packed(rows: Any) -> bytes:
    return gzip.compress("".join(f"{','.join(map(str, row))}\n" for row in rows).encode(), mtime=0)
