"""A miniature of the patients: the disease progresses at a rate of its own in each, which some proteins reveal."""

from typing import Any

import pandas as pd

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

PATIENTS, WITHOUT_PROTEINS = 60, 20
MONTHS = [0, 6, 12, 24, 36, 48, 60, 72, 84]
PROTEINS = [f"P{number:05d}" for number in (101, 230, 412, 533, 678, 790, 811, 945)]


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write the four tables of the competition with ratings or measurements of training patients."""
    numbers = make.rng.choice(65_000, PATIENTS + WITHOUT_PROTEINS, replace=False) + 1
    paces = make.rng.gamma(3, 1, len(numbers))
    visits = [visit for patient, pace in zip(numbers, paces, strict=True) for visit in course(make, patient, pace)]
    clinical = pd.DataFrame(visits)
    with_proteins = clinical["patient_id"].isin(numbers[:PATIENTS])
    clinical[with_proteins].to_csv(job.raw / "train_clinical_data.csv", index=False)
    clinical[~with_proteins].to_csv(job.raw / "supplemental_clinical_data.csv", index=False)

    proteins, peptides = [], []
    for visit in visits:
        if visit["patient_id"] not in numbers[:PATIENTS] or make.rng.random() < 0.4:
            continue  # samples are not taken at every visit
        pace = paces[list(numbers).index(visit["patient_id"])]
        key = {name: visit[name] for name in ("visit_id", "visit_month", "patient_id")}
        for number, protein in enumerate(PROTEINS):
            amount = 1000 * (number + 1) * (1 + (0.2 * pace if number < 3 else 0)) * make.rng.lognormal(0, 0.1)
            proteins.append({**key, "UniProt": protein, "NPX": round(amount, 3)})
            for letter, share in (("AK", 0.7), ("GR", 0.3)):
                abundance = round(share * amount * make.rng.lognormal(0, 0.1), 2)
                peptides.append({**key, "UniProt": protein, "Peptide": protein + letter, "PeptideAbundance": abundance})
    pd.DataFrame(proteins).to_csv(job.raw / "train_proteins.csv", index=False)
    pd.DataFrame(peptides).to_csv(job.raw / "train_peptides.csv", index=False)


def course(make: Miniature, patient: int, pace: float) -> list[dict[str, Any]]:
    """Return a patient's visits; the fourth rating and the medication state are often missing."""
    visits = []
    for month in MONTHS[: make.rng.integers(5, len(MONTHS) + 1)]:
        level = pace * (1 + month / 48)
        ratings = [round(max(0, factor * level + make.rng.normal(0, 1))) for factor in (2.0, 2.2, 6.0, 0.3)]
        visits.append(
            {
                "visit_id": f"{patient}_{month}", "patient_id": patient, "visit_month": month,
                **{f"updrs_{part}": float(rating) for part, rating in enumerate(ratings, 1)},
                "upd23b_clinical_state_on_medication": [None, "On", "Off"][make.rng.integers(0, 3)],
            }
        )  # fmt: skip
        if make.rng.random() < 0.4:
            visits[-1]["updrs_4"] = None
    return visits
