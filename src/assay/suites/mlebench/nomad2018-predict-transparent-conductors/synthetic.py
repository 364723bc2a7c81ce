"""A miniature of the transparent conductors: oxides of aluminum, gallium and indium, with atom positions."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

ELEMENTS = ["Al", "Ga", "In"]
TARGETS = ["formation_energy_ev_natom", "bandgap_energy_ev"]


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write compounds whose bandgap falls from aluminum to indium and whose formation energy grows with the mixture."""
    for name, count in (("train", 200), ("test", 20)):
        materials = _materials(make, count)
        table = materials if name == "train" else materials.drop(columns=TARGETS)
        make.zip(job.raw / f"{name}.csv.zip", {f"{name}.csv": table.to_csv(index=False).encode()})
        shares = materials[[f"percent_atom_{element.lower()}" for element in ELEMENTS]].to_numpy()
        atoms = materials["number_of_total_atoms"].astype(int)
        geometries = [_geometry(make, *each) for each in zip(atoms, shares, strict=True)]
        members = {
            f"{name}/{id}/geometry.xyz": geometry for id, geometry in zip(materials["id"], geometries, strict=True)
        }
        make.zip(job.raw / f"{name}.zip", members)


def _materials(make: Miniature, count: int) -> pd.DataFrame:
    share = make.rng.dirichlet((1, 1, 1), count)
    size = make.rng.normal((9.5, 8.5, 9.5), 1, (count, 3))
    angle = make.rng.normal((90, 90, 100), 0.01, (count, 3))
    mixture = 1 - (share**2).sum(axis=1)
    columns = {
        "id": range(1, count + 1),
        "spacegroup": make.rng.choice([12, 33, 167, 194, 206, 227], count),
        "number_of_total_atoms": make.rng.choice([10.0, 20.0, 40.0], count),
        **{f"percent_atom_{element.lower()}": share[:, column] for column, element in enumerate(ELEMENTS)},
        **{f"lattice_vector_{axis + 1}_ang": size[:, axis] for axis in range(3)},
        **{f"lattice_angle_{name}_degree": angle[:, axis] for axis, name in enumerate(("alpha", "beta", "gamma"))},
        "formation_energy_ev_natom": 0.6 * mixture + np.abs(make.rng.normal(0, 0.005, count)),
        "bandgap_energy_ev": share @ (5.2, 2.6, 0.9) + np.abs(make.rng.normal(0, 0.05, count)),
    }
    return pd.DataFrame(columns).round(4)


def _geometry(make: Miniature, atoms: int, shares: NDArray[np.float64]) -> bytes:
    """Return three lattice vectors and a line per atom: two metals to three oxygens."""
    metals = make.rng.choice(ELEMENTS, 2 * atoms // 5, p=shares / shares.sum()).tolist()
    vectors, positions = make.rng.uniform(3, 9, (3, 3)), make.rng.uniform(0, 9, (atoms, 3))
    lines = ["lattice_vector {:.7f} {:.7f} {:.7f}".format(*vector) for vector in vectors]
    for position, element in zip(positions, metals + ["O"] * (atoms - len(metals)), strict=True):
        lines.append("atom {:.7f} {:.7f} {:.7f} {}".format(*position, element))
    return "\n".join([*lines, ""]).encode()
