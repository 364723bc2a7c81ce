"""Miniature raw data for dog-breed-identification: each breed has a colour of its own."""

import tomllib
from pathlib import Path

import numpy as np

from assay.data.miniature import Miniature


def synthesize(raw: Path, make: Miniature) -> None:
    """480 photographs, four of each breed; a breed's number in base five gives the levels of red, green and blue."""
    task = tomllib.loads(Path(__file__).with_name("task.toml").read_text())
    breeds = task["submission"]["alike"][0]["names"]
    ids, labels = make.hex_ids(480, 32), make.labels(480, classes=len(breeds))
    make.csv(raw / "labels.csv", {"id": ids, "breed": [breeds[label] for label in labels]})
    for id, label in zip(ids, labels, strict=True):
        levels = (label % 5, label // 5 % 5, label // 25)
        pixels = np.dstack([make.texture((16, 16), 0.2 + 0.15 * level) for level in levels])
        make.image(raw / "train" / f"{id}.jpg", pixels)
