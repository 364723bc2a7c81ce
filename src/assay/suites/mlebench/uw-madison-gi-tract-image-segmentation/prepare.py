"""UW-Madison GI tract: patients split at random; of the others, days after the fourth are for the test, too."""

import pandas as pd

from assay.core.errors import SourceError
from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows

MAX_TRAIN_DAYS = 4
SAMPLE = "1 1 5 2"


def prepare(job: PrepareJob) -> None:
    """Ask for a mask of each organ in each test slice; the answers have the size of the slice from its file name."""
    masks = pandas_tables.read(job.raw / "train.csv")
    pandas_tables.check_columns(masks[sorted(masks.columns)], ["class", "id", "segmentation"], "train.csv")
    parts = masks["id"].str.split("_")
    cases, days = parts.str[0], parts.str[1]
    scans = cases + "/" + cases + "_" + days
    names = cases.unique()
    train_cases, test_cases = (names[side] for side in random_rows(len(names), test=0.1, seed=42))
    moved = set()
    for case in train_cases:
        in_order = sorted(days[cases == case].unique(), key=lambda day: int(day.removeprefix("day")))
        moved |= {f"{case}/{case}_{day}" for day in in_order[MAX_TRAIN_DAYS:]}
    in_test = cases.isin(test_cases) | scans.isin(moved)
    if absent := next((scan for scan in scans.unique() if not (job.raw / "train" / scan).is_dir()), None):
        raise SourceError(f"train.csv has slices of {absent}, but there is no folder train/{absent}")
    answers = masks[in_test].rename(columns={"segmentation": "predicted"})
    sizes = _find_sizes(job, pd.DataFrame({"scan": scans[in_test], "number": parts[in_test].str[-1]}))
    pandas_tables.write(masks[~in_test], job.public / "train.csv")
    pandas_tables.write(answers.drop(columns="predicted"), job.public / "test.csv")
    pandas_tables.write(answers.assign(predicted=SAMPLE), job.public / "sample_submission.csv")
    pandas_tables.write(answers.assign(**sizes), job.private / "test.csv")
    files.copy_folder_by_id(job.raw / "train", job.public / "train", train_cases, without=moved)
    files.copy_folder_by_id(job.raw / "train", job.public / "test", [*test_cases, *moved])


def _find_sizes(job: PrepareJob, slices: pd.DataFrame) -> dict[str, list[float]]:
    """Return width and height of each slice, which are the third and fourth part of its file's name."""
    images = {scan: files.list_files(job.raw / "train" / scan / "scans", ".png") for scan in slices["scan"].unique()}
    widths, heights = [], []
    for scan, number in slices.itertuples(index=False):
        stems = [path.stem for path in images[scan] if path.name.startswith(f"slice_{number}_")]
        if len(stems) != 1:
            raise SourceError(f"train/{scan}/scans has {len(stems)} images of slice {number}; expected is one")
        width, height = stems[0].split("_")[2:4]
        widths.append(float(int(width)))
        heights.append(float(int(height)))
    return {"image_width": widths, "image_height": heights}
