"""A miniature of aerial-cactus-identification: the brighter thumbnails show a cactus."""

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write 300 images of 32 × 32 pixels in one archive, and a table of their file names."""
    names, labels = [f"{id}.jpg" for id in make.hex_ids(300, 32)], make.labels(300)
    make.csv(job.raw / "train.csv", {"id": names, "has_cactus": labels})
    pictures = (make.encode_image(make.texture((32, 32, 3), 0.3 + 0.4 * label), ".jpg") for label in labels)
    make.zip(job.raw / "train.zip", {f"train/{name}": picture for name, picture in zip(names, pictures, strict=True)})
