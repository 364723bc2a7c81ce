"""Miniature raw data for alaska2-image-steganalysis: altered images are brighter."""

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

FOLDERS = {"Cover": 0.3, "JMiPOD": 0.5, "JUNIWARD": 0.6, "UERD": 0.7}
PHOTOS = 450
DIFFERENT = 40
SIZE = 1024  # of a file in bytes


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Few different images, for speed; bytes after the end of an image make files unique and of one size."""
    for folder, brightness in FOLDERS.items():
        (job.raw / folder).mkdir()
        images = [make.encode_image(make.texture((8, 8, 3), brightness), ".jpg") for _ in range(DIFFERENT)]
        endings = make.rng.bytes(16 * PHOTOS)
        for number in range(PHOTOS):
            content = images[number % DIFFERENT] + endings[16 * number : 16 * number + 16]
            (job.raw / folder / f"{number + 1:05d}.jpg").write_bytes(content.ljust(SIZE, b"\0"))
