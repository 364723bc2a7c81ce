"""Miniature raw data for dogs-vs-cats-redux-kernels-edition: dogs are brighter than cats."""

from pathlib import Path

from assay.data.miniature import Miniature


def synthesize(raw: Path, make: Miniature) -> None:
    """250 photographs of each kind, named after what they show, and a few unlabelled ones that nobody uses."""
    members = {
        f"train/{kind}.{number}.jpg": make.encoded(make.texture((24, 24, 3), brightness), ".jpg")
        for kind, brightness in (("cat", 0.35), ("dog", 0.65))
        for number in range(250)
    }
    make.zip(raw / "train.zip", members)
    unused = {f"test/{number}.jpg": make.encoded(make.texture((24, 24, 3), 0.5), ".jpg") for number in range(1, 11)}
    make.zip(raw / "test.zip", unused)
