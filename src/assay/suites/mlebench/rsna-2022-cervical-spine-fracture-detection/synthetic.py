"""Miniature raw data for rsna-2022-cervical-spine-fracture-detection: a bright spot is a fracture."""

import struct

import numpy as np
from numpy.typing import NDArray

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

STUDIES = 100
BOTH, ONLY_SEGMENTED, ONLY_BOXES = 14, 16, 30
VERTEBRAE = 7
SIZE = 24


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Some studies have boxes, some segmentations, some both; a box column has decimals in one row only."""
    numbers = make.rng.choice(np.arange(1, 32_000), STUDIES, replace=False)
    studies = [f"1.2.826.0.1.3680043.{number}" for number in numbers]
    fractured = (make.rng.random((STUDIES, VERTEBRAE)) < 0.15).astype(int)
    spots = make.rng.integers(0, SIZE - 8, (STUDIES, VERTEBRAE, 2))
    for study, broken, corners in zip(studies, fractured, spots, strict=True):
        for vertebra in range(VERTEBRAE):
            pixels = make.texture((SIZE, SIZE), make.rng.uniform(0.2, 0.4))
            if broken[vertebra]:
                top, left = corners[vertebra]
                pixels[top : top + 8, left : left + 8] = make.texture((8, 8), 0.9)
            make.dicom(job.raw / "train_images" / study / f"{vertebra + 1}.dcm", pixels)
    targets = {f"C{vertebra + 1}": fractured[:, vertebra] for vertebra in range(VERTEBRAE)}
    make.csv(job.raw / "train.csv", {"StudyInstanceUID": studies, "patient_overall": fractured.max(axis=1), **targets})
    order = make.rng.permutation(STUDIES)
    segmented = order[: BOTH + ONLY_SEGMENTED]
    boxed = np.concatenate([order[:BOTH], order[BOTH + ONLY_SEGMENTED :][:ONLY_BOXES]])
    for row in segmented:
        path = job.raw / "segmentations" / f"{studies[row]}.nii"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(_nifti(np.tile(np.arange(1, VERTEBRAE + 1, dtype=np.uint8), (4, 4, 1))))
    rows = [(studies[row], *spots[row, vertebra, ::-1].tolist(), 8, 8, vertebra + 1)
            for row in make.rng.permutation(boxed) for vertebra in range(VERTEBRAE)
            if fractured[row, vertebra] or vertebra == 0]  # fmt: skip
    columns = ("StudyInstanceUID", "x", "y", "width", "height", "slice_number")
    table = {name: [row[column] for row in rows] for column, name in enumerate(columns)}
    table["x"][0] += 0.5646
    make.csv(job.raw / "train_bounding_boxes.csv", table)


def _nifti(voxels: NDArray[np.uint8]) -> bytes:
    """Encode a NIfTI-1 file of bytes."""
    header = bytearray(352)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 3, *voxels.shape, 1, 1, 1, 1)
    struct.pack_into("<2h", header, 70, 2, 8)
    struct.pack_into("<f", header, 108, 352.0)
    header[344:348] = b"n+1\0"
    return bytes(header) + voxels.tobytes(order="F")
