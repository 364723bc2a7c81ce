"""Makes the invasive species task: photos of a forest, packed as the competition packed them."""

from pathlib import Path
from tempfile import TemporaryDirectory

from assay.data import archives, pandas_tables
from assay.data.splits import random_rows
from assay.formats import seven_zip


def prepare(raw: Path, public: Path, private: Path, edition: str) -> None:
    """A random fifth of the photos is the test; tables go into zip files and photos into 7z files."""
    with archives.open_member(raw / "train_labels.csv.zip", "train_labels.csv") as file:
        labels = pandas_tables.read(file)
    train, test = pandas_tables.split(labels, random_rows(len(labels), test=0.2, seed=0))
    sample = test.assign(invasive=0.5)
    pandas_tables.write(test, private / "answers.csv")
    pandas_tables.write(sample, private / "sample_submission.csv")
    pandas_tables.write_zipped(train, public / "train_labels.csv.zip")
    pandas_tables.write_zipped(sample, public / "sample_submission.csv.zip")
    with TemporaryDirectory(dir=private) as folder:
        seven_zip.extract(raw / "train.7z", Path(folder))
        for side, table in (("train", train), ("test", test)):
            photos = ((f"{side}/{name}.jpg", Path(folder, f"train/{name}.jpg")) for name in table["name"])
            seven_zip.pack(public / f"{side}.7z", photos)
