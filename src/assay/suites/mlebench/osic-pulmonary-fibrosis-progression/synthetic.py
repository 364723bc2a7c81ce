"""Miniature raw data for osic-pulmonary-fibrosis-progression: dark scans belong to patients who decline fast."""

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

PATIENTS = 60
SEXES, HABITS = ("Male", "Female"), ("Ex-smoker", "Never smoked", "Currently smokes")


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Each patient was measured in four to nine weeks; some lack the first `Percent`."""
    rows: list[tuple[object, ...]] = []
    for number in range(PATIENTS):
        patient = f"ID{make.rng.integers(10**13, 10**14)}{number:08d}"
        weeks = np.sort(make.rng.choice(np.arange(-5, 60), make.rng.integers(4, 10), replace=False))
        age, usual = int(make.rng.integers(50, 85)), float(make.rng.uniform(3200, 4200))
        sex, habit = make.rng.choice(SEXES), make.rng.choice(HABITS)
        decline = float(make.rng.uniform(0, 12))
        volumes = make.rng.uniform(2000, 3500) - decline * weeks + make.rng.normal(0, 30, len(weeks))
        for visit, (week, volume) in enumerate(zip(weeks.tolist(), volumes.astype(int).tolist(), strict=True)):
            percent = None if visit == 0 and number % 7 == 0 else volume / usual * 100
            rows.append((patient, week, volume, percent, age, sex, habit))
        for slice in range(2):
            make.dicom(job.raw / "train" / patient / f"{slice + 1}.dcm", make.texture((16, 16), 0.8 - decline / 20))
    names = ("Patient", "Weeks", "FVC", "Percent", "Age", "Sex", "SmokingStatus")
    make.csv(job.raw / "train.csv", {name: [row[column] for row in rows] for column, name in enumerate(names)})
