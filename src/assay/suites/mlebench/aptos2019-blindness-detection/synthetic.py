"""A miniature of aptos2019-blindness-detection: the brighter the photograph, the worse the grade."""

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write 400 photographs with grades from 0 to 4."""
    codes, grades = make.hex_ids(400, 12), make.labels(400, classes=5)
    make.csv(job.raw / "train.csv", {"id_code": codes, "diagnosis": grades})
    for code, grade in zip(codes, grades, strict=True):
        make.image(job.raw / "train_images" / f"{code}.png", make.texture((24, 24, 3), 0.2 + 0.15 * grade))
