"""Miniature raw data for rsna-miccai-brain-tumor-radiogenomic-classification: methylated tumors are brighter."""

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

SCANS = ("FLAIR", "T1w", "T1wCE", "T2w")


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """120 patients whose numbers have gaps and leading zeros, with four scans of one to three slices each."""
    numbers = sorted(make.rng.choice(1010, 120, replace=False).tolist())
    ids, labels = [f"{number:05d}" for number in numbers], make.labels(120)
    for id, label in zip(ids, labels, strict=True):
        for scan in SCANS:
            for slice in range(make.rng.integers(1, 4)):
                pixels = make.texture((16, 16), 0.6 if label else 0.4)
                make.dicom(job.raw / "train" / id / scan / f"Image-{slice + 1}.dcm", pixels)
    make.csv(job.raw / "train_labels.csv", {"BraTS21ID": ids, "MGMT_value": labels})
