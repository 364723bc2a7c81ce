"""Meters with an offset for each site, which only its own file tells."""

import numpy as np
import polars as pl

from assay.data.job import PrepareJob

from .._shared.world import open_world

SITES, READINGS, TESTS = 100, 5, 3


def prepare(job: PrepareJob) -> None:
    """Write a file of readings for each site."""
    rng = open_world(job)
    offsets = rng.normal(0, 10_000, SITES).round(2)

    def read(site: int, rows: int) -> pl.DataFrame:
        loads = rng.uniform(0, 50, rows).round(2)
        values = (offsets[site] + 2 * loads + rng.normal(size=rows)).round(2)
        return pl.DataFrame({"load": loads, "value": values})

    (job.public / "sites").mkdir()
    for site in range(SITES):
        read(site, READINGS).write_csv(job.public / f"sites/site-{site + 1:03}.csv")
    parts = [read(site, TESTS).select(pl.lit(f"site-{site + 1:03}").alias("site"), pl.all()) for site in range(SITES)]
    test = pl.concat(parts)[rng.permutation(SITES * TESTS).tolist()]
    test = test.select(pl.Series("row", np.arange(test.height)), pl.all())
    test.drop("value").write_csv(job.public / "test.csv")
    test.select("row", pl.lit(0.0).alias("value")).write_csv(job.public / "sample_submission.csv")
    test.select("row", "value").write_csv(job.private / "answers.csv")
