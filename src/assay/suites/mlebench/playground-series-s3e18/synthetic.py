"""A miniature of the enzyme substrate data: heavy molecules belong to the first class, polar ones to the second."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

MOLECULES = 600

# Mean and spread of each feature, and what it correlates with.
FIGURES = {
    "BertzCT": (515, 250, "weight"),
    "Chi1": (9.1, 3.3, "weight"),
    "Chi1n": (5.9, 2.1, "weight"),
    "Chi1v": (6.7, 2.5, "weight"),
    "Chi2n": (4.4, 1.8, "weight"),
    "Chi2v": (5.3, 2.2, "weight"),
    "Chi3v": (3.4, 1.5, "weight"),
    "Chi4n": (1.8, 0.9, "weight"),
    "EState_VSA1": (29, 30, "polarity"),
    "EState_VSA2": (12, 9, "polarity"),
    "ExactMolWt": (292, 95, "weight"),
    "FpDensityMorgan1": (1.26, 0.2, "chance"),
    "FpDensityMorgan2": (1.8, 0.22, "chance"),
    "FpDensityMorgan3": (2.2, 0.25, "chance"),
    "HallKierAlpha": (-1.1, 0.6, "chance"),
    "HeavyAtomMolWt": (276, 92, "weight"),
    "Kappa3": (5.2, 3, "weight"),
    "MaxAbsEStateIndex": (10.5, 1.6, "polarity"),
    "MinEStateIndex": (-3.2, 1.7, "polarity"),
    "NumHeteroatoms": (7.7, 3, "polarity"),
    "PEOE_VSA10": (11, 9, "polarity"),
    "PEOE_VSA14": (12, 13, "polarity"),
    "PEOE_VSA6": (6, 10, "chance"),
    "PEOE_VSA7": (14, 15, "chance"),
    "PEOE_VSA8": (15, 12, "chance"),
    "SMR_VSA10": (20, 10, "polarity"),
    "SMR_VSA5": (27, 18, "weight"),
    "SlogP_VSA3": (13, 11, "chance"),
    "VSA_EState9": (50, 20, "polarity"),
    "fr_COO": (0.5, 0.6, "polarity"),
    "fr_COO2": (0.5, 0.6, "polarity"),
}
COUNTS = ("NumHeteroatoms", "fr_COO", "fr_COO2")


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write one table with 31 features and six labels per molecule."""
    causes = {name: make.rng.normal(0, 1, MOLECULES) for name in ("weight", "polarity", "chance")}
    columns: dict[str, NDArray[Any]] = {"id": np.arange(MOLECULES)}
    for name, (mean, spread, cause) in FIGURES.items():
        figure = mean + spread * (0.8 * causes[cause] + make.rng.normal(0, 0.6, MOLECULES))
        columns[name] = figure.clip(0).round().astype(int) if name in COUNTS else figure
    for number, cause in enumerate(["weight", "polarity"] * 3, 1):
        columns[f"EC{number}"] = (causes[cause] + make.rng.normal(0, 0.7, MOLECULES) > 0).astype(int)
    make.csv(job.raw / "train.csv", columns)
