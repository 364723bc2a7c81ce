"""Next visit: whole patients are hidden; of each, one visit is to be predicted, and those before it are history."""

import polars as pl

from assay.data.polars_tables import read, write
from assay.data.selection import SelectionJob

PERSON = ["drug", "age", "sex"]


def split(job: SelectionJob) -> pl.DataFrame:
    """Hide patients, whose age is as good as a name; a later visit would be the answer of the one before it."""
    tables = {
        name: read(job.source / name) for name in ("train.csv", "test.csv", "sample_submission.csv", "history.csv")
    }
    train, test, random = tables["train.csv"], tables["test.csv"], job.random
    patients = train.select(PERSON).unique(maintain_order=True)
    chosen = patients[sorted(random.permutation(patients.height)[: round(patients.height * job.task.selection.share)])]
    visits = train.join(chosen, on=PERSON, how="semi", maintain_order="left")
    groups = visits.partition_by(PERSON, maintain_order=True)
    picks = [int(random.randint(own.height)) for own in groups]
    hidden = pl.concat([own[pick] for own, pick in zip(groups, picks, strict=True)])
    earlier = [
        own.head(pick).with_columns(row_id=pl.lit(own["row_id"][pick])) for own, pick in zip(groups, picks, strict=True)
    ]
    history = pl.concat([tables["history.csv"], *(own.select(tables["history.csv"].columns) for own in earlier)])
    sample = tables["sample_submission.csv"]
    value = pl.lit(sample["next_log_bilirubin"][0]).alias("next_log_bilirubin")
    write(train.join(chosen, on=PERSON, how="anti", maintain_order="left"), job.public / "train.csv")
    write(pl.concat([test, hidden.select(test.columns)]), job.public / "test.csv")
    write(pl.concat([sample, hidden.select("row_id", value)]), job.public / "sample_submission.csv")
    write(history, job.public / "history.csv")
    return hidden.select("row_id", "next_log_bilirubin")
