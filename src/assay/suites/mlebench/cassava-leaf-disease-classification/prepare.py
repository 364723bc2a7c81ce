"""Cassava leaf diseases: the photos of a tenth of the TFRecord files are the test set."""

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows

from .._shared.tfrecords import copy_features, read_image_names, renumber_files


def prepare(job: PrepareJob) -> None:
    """Split by TFRecord file, with rows in raw order; `fixed` removes the labels from the test TFRecord files."""
    labels = pandas_tables.read(job.raw / "train.csv")
    pandas_tables.check_columns(labels, ["image_id", "label"], "train.csv")
    records = files.list_files(job.raw / "train_tfrecords", ".tfrec")
    kept, held_out = ([records[row] for row in side] for side in random_rows(len(records), test=0.1, seed=0))
    is_test = labels["image_id"].isin(read_image_names(held_out))
    train, test = labels[~is_test], labels[is_test]
    pandas_tables.write_csv_split(
        train, test, id="image_id", sample={"label": 4}, test_name=None, public=job.public, private=job.private
    )
    for side, table in (("train", train), ("test", test)):
        (job.public / f"{side}_images").mkdir()
        files.copy_by_id(job.raw / "train_images", job.public / f"{side}_images", table["image_id"], "")
    files.copy(renumber_files(kept, job.public / "train_tfrecords", "ld_train"))
    test_files = renumber_files(held_out, job.public / "test_tfrecords", "ld_test")
    if job.edition == "fixed":
        for source, destination in test_files:
            copy_features(source, destination, {"image", "image_name"})
    else:
        files.copy(test_files)
    names = "label_num_to_disease_map.json"
    files.copy([(job.raw / names, job.public / names)])
