"""mRNA degradation: molecules are split; the answers have a row for each base of the test molecules."""

import numpy as np
import pandas as pd

from assay.data import pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import Split, widen

TARGETS = ["reactivity", "deg_Mg_pH10", "deg_pH10", "deg_Mg_50C", "deg_50C"]


def prepare(job: PrepareJob) -> None:
    """Use a tenth of the molecules as the test set, drawn from those whose measurements passed the filter for noise."""
    molecules = pd.read_json(job.raw / "train.json", lines=True)
    columns = list(pd.read_json(job.raw / "test.json", lines=True))
    clean = np.flatnonzero(molecules["SN_filter"] > 0)
    drawn = np.random.RandomState(0).choice(len(clean), int(0.1 * len(molecules)), replace=False)
    rows = widen(Split(np.setdiff1d(clean, clean[drawn]), clean[drawn]))
    is_test = np.isin(np.arange(len(molecules)), rows.test)
    train, test = (molecules[side].assign(index=range(side.sum())) for side in (~is_test, is_test))
    pandas_tables.write_json_lines(train, job.public / "train.json")
    pandas_tables.write_json_lines(test[columns], job.public / "test.json")
    answers = pandas_tables.explode(test, "id", TARGETS, length="seq_length", name="id_seqpos", fill=0.0, flag="keep")
    pandas_tables.write(answers, job.private / "test.csv", float_format="%.10f")
    sample = pandas_tables.sample(answers, "id_seqpos", dict.fromkeys(TARGETS, 0.0))
    pandas_tables.write(sample, job.public / "sample_submission.csv", float_format="%.10f")
