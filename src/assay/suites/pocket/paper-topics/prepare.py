"""Paper topics: the graph under new numbers, 20 labels per topic for training."""

import numpy as np
import polars as pl

from assay.data.job import PrepareJob
from assay.data.polars_tables import write, write_split

LABELED = 20
SEED = 20274


def prepare(job: PrepareJob) -> None:
    """Renumber papers, words and topics, so that nothing in the files identifies a paper of the original."""
    random = np.random.RandomState(SEED)
    lines = [line.split("\t") for line in (job.raw / "pgl/data/cora/cora.content").read_text().splitlines()]
    papers, topics = [line[0] for line in lines], sorted({line[-1] for line in lines})
    words = np.array([line[1:-1] for line in lines]) == "1"
    words = words[:, random.permutation(words.shape[1])]
    numbers = dict(zip(random.permutation(sorted(papers)).tolist(), range(len(papers)), strict=True))
    codes = dict(zip(random.permutation(topics).tolist(), range(len(topics)), strict=True))
    order = np.argsort([numbers[paper] for paper in papers])
    labels = np.array([codes[line[-1]] for line in lines])[order]
    write(
        pl.DataFrame(
            {"paper": range(len(papers)), "words": [" ".join(map(str, np.flatnonzero(words[row]))) for row in order]}
        ),
        job.public / "papers.csv",
    )
    cited = [line.split() for line in (job.raw / "pgl/data/cora/cora.cites").read_text().splitlines()]
    pairs = {tuple(sorted((numbers[first], numbers[second]))) for first, second in cited if first != second}
    first, second = zip(*sorted(pairs), strict=True)
    write(pl.DataFrame({"paper": first, "other": second}), job.public / "citations.csv")
    known = np.concatenate(
        [random.permutation(np.flatnonzero(labels == topic))[:LABELED] for topic in range(len(topics))]
    )
    known = np.sort(known)
    rest = np.setdiff1d(np.arange(len(papers)), known)
    train, test = (pl.DataFrame({"paper": side, "topic": labels[side]}) for side in (known, rest))
    write_split(train, test, id="paper", sample={"topic": 0}, public=job.public, private=job.private)
