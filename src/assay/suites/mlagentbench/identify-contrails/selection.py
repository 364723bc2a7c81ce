"""Identify contrails: training records move to the test records, without their masks."""

import json

import polars as pl

from assay.data.polars_tables import read, write
from assay.data.selection import SelectionJob

from .prepare import describe_masks

SAMPLE = "sample_submission.csv"


def split(job: SelectionJob) -> pl.DataFrame:
    """Hide random records, with the place and time of each."""
    records = sorted(folder.name for folder in (job.source / "train").iterdir())
    hidden = sorted(job.random.permutation(records)[: round(len(records) * job.task.selection.share)].tolist())
    described = {side: json.loads((job.source / f"{side}_metadata.json").read_bytes()) for side in ("train", "test")}
    job.copy(SAMPLE, *(f"{side}_metadata.json" for side in described), *(f"train/{record}/*" for record in hidden))
    for record in hidden:
        for band in sorted((job.source / "train" / record).glob("band_*.npy")):
            job.copy_file(f"train/{record}/{band.name}", f"test/{record}/{band.name}")
    moved = [entry for entry in described["train"] if str(entry["record_id"]) in hidden]
    described["test"] += moved
    described["train"] = [entry for entry in described["train"] if entry not in moved]
    for side, entries in described.items():
        (job.public / f"{side}_metadata.json").write_text(json.dumps(entries))
    answers = describe_masks(job.source / "train", hidden).cast(pl.String)
    empty = answers.select("record_id", encoded_pixels=pl.lit("-"))
    write(pl.concat([read(job.source / SAMPLE), empty]), job.public / SAMPLE)
    return answers
