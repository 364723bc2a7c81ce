"""A miniature of dogs-vs-cats-redux-kernels-edition: dogs are brighter than cats."""

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write 250 photographs of each class, named by class, and a few unlabeled ones that are not used."""
    members = {
        f"train/{kind}.{number}.jpg": make.encode_image(make.texture((24, 24, 3), brightness), ".jpg")
        for kind, brightness in (("cat", 0.35), ("dog", 0.65))
        for number in range(250)
    }
    make.zip(job.raw / "train.zip", members)
    unused = {
        f"test/{number}.jpg": make.encode_image(make.texture((24, 24, 3), 0.5), ".jpg") for number in range(1, 11)
    }
    make.zip(job.raw / "test.zip", unused)
