"""A miniature of the chest X-rays: each label has its own stripe, bright if the label is positive."""

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

STUDIES, PATIENTS = 400, 130


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write images, several for most patients; about half of the lines are also annotated as lists of points."""
    names = job.columns
    holds = make.rng.random((STUDIES, len(names))) < 0.5
    digits = make.rng.integers(0, 10, (STUDIES, 38))
    studies = ["1.2.826.0.1.3680043.8.498." + "".join(map(str, row)) for row in digits]
    for study, row in zip(studies, holds, strict=True):
        stripes = [make.texture((8, 32), 0.7 if held else 0.3) for held in row]
        make.image(job.raw / "train" / f"{study}.jpg", np.concatenate(stripes))
    patients = make.rng.choice(make.hex_ids(PATIENTS, 9), STUDIES)
    labels = {name: holds[:, column].astype(int) for column, name in enumerate(names)}
    make.csv(job.raw / "train.csv", {"StudyInstanceUID": studies, **labels, "PatientID": patients})
    drawn = [(study, column) for study, column in np.argwhere(holds) if make.rng.random() < 0.5]
    lines = make.rng.integers(0, 2000, (len(drawn), 5, 2)).tolist()
    make.csv(
        job.raw / "train_annotations.csv",
        {
            "StudyInstanceUID": [studies[study] for study, _ in drawn],
            "label": [names[column] for _, column in drawn],
            "data": [str(points) for points in lines],
        },
    )
