"""Iceberg classifier: radar images as lists of numbers in JSON files, split at random and packed as 7z archives."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from assay.core.errors import SourceError
from assay.data import pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows
from assay.formats import seven_zip

_CHUNK = 2**20
_MAX_OBJECT = 2**26


def prepare(job: PrepareJob) -> None:
    """Use a random fifth of the images as the test set; their fields are those of the raw test images."""
    with TemporaryDirectory(dir=job.private) as scratch:
        folder = Path(scratch)
        for side in ("train", "test"):
            seven_zip.extract(job.raw / f"{side}.json.7z", folder)
        images = json.loads((folder / "data/processed/train.json").read_text(encoding="utf-8"))
        fields = list(_read_first(folder / "data/processed/test.json"))
        rows = random_rows(len(images), test=0.2, seed=0)
        train, test = ([images[row] for row in side] for side in rows)
        _pack(train, job.public / "train.json.7z", folder)
        _pack([{field: image[field] for field in fields} for image in test], job.public / "test.json.7z", folder)
        answers = {"id": [image["id"] for image in test], "is_iceberg": [int(image["is_iceberg"]) for image in test]}
        pandas_tables.write(pd.DataFrame(answers), job.private / "test.csv")
        sample = job.private / "sample_submission.csv"
        pandas_tables.write(pd.DataFrame(answers).assign(is_iceberg=0.5), sample)
        copy = folder / sample.name
        copy.write_bytes(sample.read_bytes())
        seven_zip.pack(job.public / "sample_submission.csv.7z", [(sample.name, copy)])


def _read_first(path: Path) -> dict[str, Any]:
    """Return the first object of a JSON list without reading the others: the raw test file is larger than memory."""
    text = ""
    with path.open(encoding="utf-8") as file:
        while (chunk := file.read(_CHUNK)) and len(text) < _MAX_OBJECT:
            text += chunk
            try:
                first = json.JSONDecoder().raw_decode(text.lstrip().removeprefix("[").lstrip())[0]
            except json.JSONDecodeError:
                continue  # the object is not complete yet
            if isinstance(first, dict):
                return first
            break
    raise SourceError(f"{path.name} is not a JSON list of objects")


def _pack(images: list[dict[str, Any]], archive: Path, folder: Path) -> None:
    path = folder / archive.stem
    with path.open("w", encoding="utf-8") as file:
        json.dump(images, file)
    seven_zip.pack(archive, [(path.name, path)])
