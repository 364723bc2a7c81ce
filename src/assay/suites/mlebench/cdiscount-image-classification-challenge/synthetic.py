"""Miniature raw data for cdiscount-image-classification-challenge: categories differ in brightness."""

import struct

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

PRODUCTS = 300
CATEGORIES = [1000010653, 1000018296, 1000000237, 1000005912, 1000021872]


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Products with one to four photos, in the order of their numbers, which have gaps."""
    ids = make.rng.integers(1, 6, PRODUCTS).cumsum().tolist()
    with (job.raw / "train.bson").open("wb") as file:
        for id, label in zip(ids, make.labels(PRODUCTS, len(CATEGORIES)).tolist(), strict=True):
            photos = [make.texture((16, 16, 3), label / len(CATEGORIES)) for _ in range(make.rng.integers(1, 5))]
            pictures = [_binary("picture", make.encode_image(pixels, ".jpg")) for pixels in photos]
            numbered = [b"\3%d\0" % index + _document(picture) for index, picture in enumerate(pictures)]
            images = b"\4imgs\0" + _document(*numbered)
            file.write(_document(_integer("_id", id), images, _integer("category_id", CATEGORIES[label])))
    levels = {f"category_level{level}": [make.words(2).upper() for _ in CATEGORIES] for level in (1, 2)}
    names = [f"{make.words(1)} - {make.words(1)}, été" for _ in CATEGORIES]
    make.csv(job.raw / "category_names.csv", {"category_id": CATEGORIES, **levels, "category_level3": names})


def _document(*elements: bytes) -> bytes:
    content = b"".join(elements)
    return struct.pack("<i", len(content) + 5) + content + b"\0"


def _integer(name: str, value: int) -> bytes:
    return b"\x10" + name.encode() + b"\0" + struct.pack("<i", value)


def _binary(name: str, content: bytes) -> bytes:
    return b"\5" + name.encode() + b"\0" + struct.pack("<i", len(content)) + b"\0" + content
