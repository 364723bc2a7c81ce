"""RSNA cervical spine fractures: a share of the studies is drawn, in fixed proportions of those with further labels."""

import random
from collections.abc import Sequence

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob

STUDY = "StudyInstanceUID"
TARGETS = ["patient_overall", "C1", "C2", "C3", "C4", "C5", "C6", "C7"]
BOX_COLUMNS = ["x", "y", "width", "height", "slice_number"]
SHARE = 0.1


def prepare(job: PrepareJob) -> None:
    """Ask for a probability per study and target; the studies drawn are for training in v1, for the test in fixed."""
    studies = pandas_tables.read(job.raw / "train.csv")
    boxes = pandas_tables.read(job.raw / "train_bounding_boxes.csv")
    pandas_tables.check_columns(studies, [STUDY, *TARGETS], "train.csv")
    pandas_tables.check_columns(boxes, [STUDY, *BOX_COLUMNS], "train_bounding_boxes.csv")
    segmented = sorted(path.stem for path in (job.raw / "segmentations").glob("*.nii"))
    drawn, with_boxes, with_segmentation = _draw(studies[STUDY].tolist(), sorted(boxes[STUDY].unique()), segmented)
    in_train = studies[STUDY].isin(drawn)
    if job.edition == "fixed":
        in_train = ~in_train
        with_boxes = with_segmentation = studies.loc[in_train, STUDY].tolist()
    answers = studies[~in_train].melt(id_vars=STUDY, var_name="prediction_type", value_name="fractured")
    answers["row_id"] = answers[STUDY] + "_" + answers["prediction_type"]
    pandas_tables.write(studies[in_train], job.public / "train.csv")
    pandas_tables.write(boxes[boxes[STUDY].isin(with_boxes)], job.public / "train_bounding_boxes.csv")
    pandas_tables.write(answers.drop(columns="fractured"), job.public / "test.csv")
    pandas_tables.write(
        pandas_tables.sample(answers, "row_id", {"fractured": 0.5}), job.public / "sample_submission.csv"
    )
    pandas_tables.write(answers, job.private / "answers.csv")
    for folder in ("segmentations", "train_images", "test_images"):
        (job.public / folder).mkdir()
    public_segmentations = sorted(set(segmented) & set(with_segmentation))
    files.copy_by_id(job.raw / "segmentations", job.public / "segmentations", public_segmentations, ".nii")
    for side, rows in (("train_images", in_train), ("test_images", ~in_train)):
        files.copy_folder_by_id(job.raw / "train_images", job.public / side, studies.loc[rows, STUDY])


def _draw(
    studies: Sequence[str], with_boxes: Sequence[str], segmented: Sequence[str]
) -> tuple[list[str], list[str], list[str]]:
    """Return the studies drawn, and those of them whose boxes and whose segmentations are shown.

    There are four draws: from the studies with both labels, those with a segmentation only, those with boxes only, and
    all that were not drawn yet. A study of the last draw shows none of its labels, even if it has some.
    """
    rng = random.Random(0)
    has_boxes, has_segmentation = set(with_boxes), set(segmented)
    both = [study for study in with_boxes if study in has_segmentation]
    of_both = round(len(both) * SHARE)
    first = rng.sample(both, of_both)
    only_segmented = [study for study in segmented if study not in has_boxes]
    second = rng.sample(only_segmented, round(len(segmented) * SHARE) - of_both)
    only_boxes = [study for study in with_boxes if study not in has_segmentation]
    third = rng.sample(only_boxes, round(len(with_boxes) * SHARE) - of_both)
    drawn = [*first, *second, *third]
    rest = [study for study in studies if study not in set(drawn)]
    fourth = rng.sample(rest, round(len(studies) * SHARE) - len(drawn))
    return [*drawn, *fourth], [*first, *third], [*first, *second]
