"""A miniature of the RNA data: unpaired bases degrade faster, and each kind of base at its own rate."""

import json
from typing import Any

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

MOLECULES, OTHERS = 80, 3
LENGTH, SCORED = 24, 15
TARGETS = ["reactivity", "deg_Mg_pH10", "deg_pH10", "deg_Mg_50C", "deg_50C"]
ERRORS = ["reactivity_error", "deg_error_Mg_pH10", "deg_error_pH10", "deg_error_Mg_50C", "deg_error_50C"]
RATES = {"A": 0.6, "G": 0.5, "C": 0.2, "U": 0.3}


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """JSON lines of molecules with measurements of their first bases, and of a few without."""
    ids = [f"id_{id}" for id in make.hex_ids(MOLECULES + OTHERS, 9)]
    train = [_molecule(index, id, make) for index, id in enumerate(ids[:MOLECULES])]
    for molecule in train:
        _measure(molecule, make)
    _write(job, "train.json", train)
    _write(job, "test.json", [_molecule(index, id, make) for index, id in enumerate(ids[MOLECULES:])])
    make.csv(job.raw / "sample_submission.csv", {"id_seqpos": ["id_0"], **{name: [0.0] for name in TARGETS}})


def _molecule(index: int, id: str, make: Miniature) -> dict[str, Any]:
    """A random sequence, a third of which is paired with another third."""
    third = LENGTH // 3
    return {
        "index": index,
        "id": id,
        "sequence": "".join(make.rng.choice(list("AGCU"), LENGTH)),
        "structure": "(" * third + "." * (LENGTH - 2 * third) + ")" * third,
        "predicted_loop_type": "S" * third + "H" * (LENGTH - 2 * third) + "S" * third,
        "seq_length": LENGTH,
        "seq_scored": SCORED,
    }


def _measure(molecule: dict[str, Any], make: Miniature) -> None:
    molecule["signal_to_noise"] = round(float(make.rng.uniform(0.5, 9)), 3)
    molecule["SN_filter"] = float(make.rng.random() < 0.7)
    for name in ERRORS:
        molecule[name] = make.rng.uniform(0.05, 0.3, SCORED).round(4).tolist()
    for name in TARGETS:
        rates = [RATES[base] * (1 + (sign == ".")) for base, sign in zip(*_scored(molecule), strict=True)]
        molecule[name] = (rates + make.rng.normal(0, 0.1, SCORED)).round(4).tolist()


def _scored(molecule: dict[str, Any]) -> tuple[str, str]:
    return molecule["sequence"][:SCORED], molecule["structure"][:SCORED]


def _write(job: SynthesisJob, name: str, molecules: list[dict[str, Any]]) -> None:
    (job.raw / name).write_text("".join(json.dumps(molecule) + "\n" for molecule in molecules))
