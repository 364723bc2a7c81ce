"""SIIM-ISIC melanoma: the images of two TFRecord files are the test set; all others come with their diagnosis."""

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import by_predicate, widen

from .._shared.tfrecords import copy_features, read_image_names, renumber_files

TEST_RECORDS = ("train00-2071.tfrec", "train06-2071.tfrec")
FACTS = ["image_name", "patient_id", "sex", "age_approx", "anatom_site_general_challenge"]


def prepare(job: PrepareJob) -> None:
    """Split by TFRecord file, with rows in raw order; `fixed` removes the labels from the test TFRecord files."""
    listed = files.list_files(job.raw / "tfrecords", ".tfrec")
    labeled = {path for path in listed if path.name.startswith("train")}
    records = sorted(labeled | {job.raw / "tfrecords" / name for name in TEST_RECORDS})
    files_of = widen(by_predicate([path.name in TEST_RECORDS for path in records]))
    kept, held_out = ([records[number] for number in side] for side in files_of)
    lesions = pandas_tables.read_inexactly(job.raw / "train.csv")
    pandas_tables.check_columns(lesions, [*FACTS, "diagnosis", "benign_malignant", "target"], "train.csv")
    is_test = lesions["image_name"].isin(read_image_names(held_out))
    train, test = lesions[~is_test], lesions[is_test]
    pandas_tables.write(train, job.public / "train.csv")
    pandas_tables.write(test[FACTS], job.public / "test.csv")
    pandas_tables.write(test[["image_name", "target"]], job.private / "test.csv")
    pandas_tables.write(pandas_tables.sample(test, "image_name", {"target": 0}), job.public / "sample_submission.csv")
    for folder in ("train", "test", "jpeg/train", "jpeg/test"):
        (job.public / folder).mkdir(parents=True)
    files.copy(
        (job.raw / source / f"{name}{suffix}", job.public / destination / side / f"{name}{suffix}")
        for source, destination, suffix in (("train", "", ".dcm"), ("jpeg/train", "jpeg", ".jpg"))
        for side, rows in (("train", train), ("test", test))
        for name in rows["image_name"]
    )
    files.copy(renumber_files(kept, job.public / "tfrecords", "train"))
    test_files = renumber_files(held_out, job.public / "tfrecords", "test")
    if job.edition == "fixed":
        for source, destination in test_files:
            copy_features(source, destination, {"image", *FACTS})
    else:
        files.copy(test_files)
