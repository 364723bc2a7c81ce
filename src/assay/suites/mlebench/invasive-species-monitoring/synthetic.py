"""A miniature of the invasive species data: photos with the plant are brighter."""

from pathlib import Path
from tempfile import TemporaryDirectory

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature
from assay.formats import seven_zip

PHOTOS = 200
SHAPE = (32, 44, 3)


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write photos to the folder `train/` of a 7z file, and the labels to a zip file."""
    labels = dict(enumerate(make.labels(PHOTOS), 1))
    table = make.table({"name": list(labels), "invasive": list(labels.values())})
    make.zip(job.raw / "train_labels.csv.zip", {"train_labels.csv": table})
    with TemporaryDirectory() as folder:
        for number, label in labels.items():
            make.image(Path(folder, f"{number}.jpg"), make.texture(SHAPE, 0.35 + 0.3 * label))
        seven_zip.pack(
            job.raw / "train.7z", ((f"train/{number}.jpg", Path(folder, f"{number}.jpg")) for number in labels)
        )
