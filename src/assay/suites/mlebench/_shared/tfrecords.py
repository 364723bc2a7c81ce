"""What competitions with images in TFRecord files share: the images of some files are the test set."""

from collections.abc import Collection, Iterable
from pathlib import Path

from assay.formats import tfrecord


def read_image_names(records: Iterable[Path]) -> set[str]:
    """Return the names of all images in these files."""
    names = (name for path in records for example in tfrecord.read(path) for name in example["image_name"])
    return {name.decode() for name in names if isinstance(name, bytes)}


def renumber_files(records: Iterable[Path], destination: Path, prefix: str) -> list[tuple[Path, Path]]:
    """Return each file with its new path: numbered in order, with the count from its old name."""
    return [
        (path, destination / f"{prefix}{number:02d}-{path.stem.split('-')[1]}.tfrec")
        for number, path in enumerate(records)
    ]


def copy_features(source: Path, destination: Path, features: Collection[str]) -> None:
    """Write a TFRecord file with only these features of each example."""
    tfrecord.write(
        destination,
        (
            {feature: values for feature, values in example.items() if feature in features}
            for example in tfrecord.read(source)
        ),
    )
