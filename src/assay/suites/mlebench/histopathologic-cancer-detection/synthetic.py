"""A miniature of histopathologic-cancer-detection: patches with cancer have a dark center."""

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write 240 labeled patches and 60 unlabeled ones, of which only the number matters."""
    ids, labels = make.hex_ids(240, 40), make.labels(240)
    make.csv(job.raw / "train_labels.csv", {"id": ids, "label": labels})
    for id, label in zip(ids, labels, strict=True):
        pixels = make.texture((24, 24, 3), make.rng.uniform(0.4, 0.8))
        pixels[8:16, 8:16] = make.texture((8, 8, 3), 0.2 if label else 0.6)
        make.image(job.raw / "train" / f"{id}.tif", pixels)
    for id in make.hex_ids(60, 40):
        make.image(job.raw / "test" / f"{id}.tif", make.texture((24, 24, 3), 0.6))
