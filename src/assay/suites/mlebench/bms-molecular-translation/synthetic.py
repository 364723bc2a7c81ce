"""Miniature raw data for bms-molecular-translation: chains of carbon atoms, drawn as one bar for each atom."""

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

DRAWINGS = 150
MAX_ATOMS = 12


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """150 drawings with specks, and texts without drawings."""
    ids = make.hex_ids(DRAWINGS, 12)
    atoms = make.rng.integers(3, MAX_ATOMS + 1, DRAWINGS)
    make.csv(job.raw / "train_labels.csv", {"image_id": ids, "InChI": [_inchi(int(count)) for count in atoms]})
    for id, count in zip(ids, atoms, strict=True):
        pixels = np.full((12, 4 * MAX_ATOMS), 255, np.uint8)
        pixels[3:9, 1 : 4 * count : 4] = 0
        pixels[make.rng.random(pixels.shape) < 0.03] = 0
        make.image(job.raw / "train" / id[0] / id[1] / id[2] / f"{id}.png", pixels)
    make.csv(job.raw / "extra_approved_InChIs.csv", {"InChI": [_inchi(count) for count in (3, 13, 14)]})


def _inchi(atoms: int) -> str:
    """The InChI of an unbranched alkane, whose atoms are numbered from both ends to the middle."""
    odd, even = range(1, atoms + 1, 2), range(2, atoms + 1, 2)
    chain = "-".join(map(str, [*odd, *reversed(even)]))
    inner = "3H2" if atoms == 3 else f"3-{atoms}H2"
    return f"InChI=1S/C{atoms}H{2 * atoms + 2}/c{chain}/h{inner},1-2H3"
