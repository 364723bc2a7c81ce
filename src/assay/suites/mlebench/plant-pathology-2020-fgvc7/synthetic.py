"""A miniature of the apple leaves: small photos, whose brightness increases with the index of the label."""

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

LABELS = ["healthy", "multiple_diseases", "rust", "scab"]
LEAVES = 400


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write enough photos for every label to occur in a tenth of them; Kaggle's test photos share their folder."""
    label = make.labels(LEAVES, len(LABELS))
    for number, disease in enumerate(label):
        make.image(job.raw / "images" / f"Train_{number}.jpg", make.texture((24, 32, 3), 0.25 + disease / 6))
    for number in range(4):
        make.image(job.raw / "images" / f"Test_{number}.jpg", make.texture((24, 32, 3), 0.5))
    indicators = {name: (label == disease).astype(int) for disease, name in enumerate(LABELS)}
    make.csv(job.raw / "train.csv", {"image_id": [f"Train_{number}" for number in range(LEAVES)], **indicators})
