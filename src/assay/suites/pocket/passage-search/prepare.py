"""Passage search: a query passage, another one of its address, and 19 of addresses of nearby years."""

import numpy as np
import polars as pl

from assay.data.job import PrepareJob
from assay.data.polars_tables import write

from .._shared.addresses import read_passages

TRAIN, TEST, CANDIDATES = 150, 400, 20
NEARBY = 60
"""Years that the other candidates may be away: language alone tells distant times apart."""
SEED = 20272


def prepare(job: PrepareJob) -> None:
    """Draw queries and candidates; no address has passages on both sides, and no passage is used twice as a query."""
    passages = read_passages(job.raw / "package/data")
    addresses = np.array([address for address, _, _ in passages])
    years = np.array([year for _, year, _ in passages])
    texts = [text for _, _, text in passages]
    random = np.random.RandomState(SEED)
    shuffled = random.permutation(np.unique(addresses))
    cut = len(shuffled) * TRAIN // (TRAIN + TEST)
    tables: dict[str, pl.DataFrame] = {}
    for side, names, count in (("train", shuffled[:cut], TRAIN), ("test", shuffled[cut:], TEST)):
        own = np.isin(addresses, names)
        queries: list[str] = []
        rankings: list[str] = []
        listed: list[list[str]] = []
        for query in random.permutation(np.flatnonzero(own)):
            siblings = np.flatnonzero(
                (addresses == addresses[query]) & np.isin(np.abs(np.arange(len(texts)) - query), (1, 2))
            )
            near = np.flatnonzero(own & (np.abs(years - years[query]) <= NEARBY) & (addresses != addresses[query]))
            if len(siblings) == 0 or len(near) < CANDIDATES - 1 or len(queries) == count:
                continue
            chosen = np.r_[random.choice(siblings), random.choice(near, CANDIDATES - 1, replace=False)]
            order = random.permutation(CANDIDATES)
            queries.append(texts[query])
            rankings.append(f"c{int(np.flatnonzero(order == 0)[0])}")
            listed.append([texts[row] for row in chosen[order]])
        number = len(tables.get("train", ()))
        ids = range(number, number + len(queries))
        candidates = {f"c{column}": [row[column] for row in listed] for column in range(CANDIDATES)}
        tables[side] = pl.DataFrame({"query": list(ids), "text": queries, **candidates, "ranking": rankings})
    write(tables["train"], job.public / "train.csv")
    write(tables["test"].drop("ranking"), job.public / "test.csv")
    every = " ".join(f"c{column}" for column in range(CANDIDATES))
    write(tables["test"].select("query", ranking=pl.lit(every)), job.public / "sample_submission.csv")
    write(tables["test"].select("query", "ranking"), job.private / "answers.csv")
