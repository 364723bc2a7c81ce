"""A miniature of the molecules: how strongly two atoms couple depends on their elements and on their distance."""

from itertools import combinations
from typing import Any

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

MOLECULES, OTHERS = 80, 5
STRENGTHS = {"1JHC": 90.0, "2JHH": -10.0, "3JHN": 5.0}
PARTNERS = {"C": "1JHC", "H": "2JHH", "N": "3JHN"}
Rows = list[dict[str, Any]]


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Molecules in no order, whose pairs of atoms are interleaved; a few more molecules have no pairs."""
    names = [f"dsgdb9nsd_{number:06d}" for number in make.rng.permutation(np.arange(1, 10 * MOLECULES))]
    tables: dict[str, Rows] = {}
    pairs: Rows = []
    for molecule, name in enumerate(names[: MOLECULES + OTHERS]):
        atoms = ["C", "N", "H", "H", "H", *make.rng.choice(["C", "H", "O"], make.rng.integers(0, 4))]
        positions = make.rng.normal(0, 1.2, (len(atoms), 3)).round(10)
        _describe(tables, name, atoms, positions, make)
        (job.raw / "structures").mkdir(exist_ok=True)
        lines = [f"{atom} {x:.10f} {y:.10f} {z:.10f}" for atom, (x, y, z) in zip(atoms, positions, strict=True)]
        (job.raw / f"structures/{name}.xyz").write_text("\n".join([str(len(atoms)), "", *lines, ""]))
        if molecule < MOLECULES:
            pairs += _couple(name, atoms, positions, make)
    pairs = [pairs[index] for index in make.rng.permutation(len(pairs))]
    contributions = [_contribute(pair) for pair in pairs]
    columns = _columns(pairs)
    make.csv(job.raw / "train.csv", {"id": np.arange(len(pairs)), **columns}, float_format="%.4f")
    make.csv(job.raw / "scalar_coupling_contributions.csv", _columns(contributions))
    for table, rows in tables.items():
        make.csv(job.raw / f"{table}.csv", _columns(rows), float_format="%.10f")


def _describe(tables: dict[str, Rows], name: str, atoms: list[str], positions: Any, make: Miniature) -> None:
    """Add a molecule to the tables that have a row per molecule or atom."""
    of_molecule = {"molecule_name": name}
    tables.setdefault("potential_energy", []).append(of_molecule | {"potential_energy": -40.0 * len(atoms)})
    moment = positions.mean(axis=0)
    tables.setdefault("dipole_moments", []).append(of_molecule | dict(zip("XYZ", moment, strict=True)))
    for index, (atom, position) in enumerate(zip(atoms, positions, strict=True)):
        of_atom = of_molecule | {"atom_index": index}
        coordinates = dict(zip("xyz", position, strict=True))
        tables.setdefault("structures", []).append(of_atom | {"atom": atom} | coordinates)
        tables.setdefault("mulliken_charges", []).append(of_atom | {"mulliken_charge": make.rng.normal(0, 0.3)})
        tensor = {first + second: make.rng.normal(0, 30) for second in "XYZ" for first in "XYZ"}
        tables.setdefault("magnetic_shielding_tensors", []).append(of_atom | tensor)


def _couple(name: str, atoms: list[str], positions: Any, make: Miniature) -> Rows:
    """Return the pairs of a hydrogen atom with another atom that couples."""
    pairs = []
    for atom, other in combinations(range(len(atoms)), 2):
        first, second = (other, atom) if atoms[other] == "H" else (atom, other)
        kind = PARTNERS.get(atoms[second])
        if atoms[first] != "H" or kind is None:
            continue
        distance = float(np.linalg.norm(positions[first] - positions[second]))
        constant = STRENGTHS[kind] / (1 + distance) + make.rng.normal(0, 0.3)
        pair = {"molecule_name": name, "atom_index_0": first, "atom_index_1": second, "type": kind}
        pairs.append({**pair, "scalar_coupling_constant": constant})
    return pairs


def _contribute(pair: dict[str, Any]) -> dict[str, Any]:
    """Split a coupling into the four parts that add up to it."""
    keys = {name: value for name, value in pair.items() if name != "scalar_coupling_constant"}
    shares = {"fc": 0.9, "sd": 0.05, "pso": 0.03, "dso": 0.02}
    return keys | {part: pair["scalar_coupling_constant"] * share for part, share in shares.items()}


def _columns(rows: Rows) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}
