"""CLRS: small graphs to learn shortest paths from, and larger hidden ones for grading."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from assay.data.job import PrepareJob
from assay.data.polars_tables import write

from .sampling import Sampler

FOLDER = Path(__file__).parent
TRAIN = {4: 1000, 7: 1000, 11: 1000, 13: 1000, 16: 1000}
VALIDATION = (64, 16)
TEST = (32, 64)
CHANCES = tuple(tenths / 10 for tenths in range(1, 10))
SEED = 20268

Arrays = dict[str, Any]


def prepare(job: PrepareJob) -> None:
    """Write the model's code next to the data: agents train this model, and it is run for grading."""
    train, validation, test = _drawn(job) if (job.raw / "clrs").is_dir() else _read_miniature(job.raw)
    shutil.copyfile(FOLDER / "model.py", job.public / "model.py")
    arrays = {f"{name}_{nodes}": array for nodes, part in train.items() for name, array in part.items()}
    np.savez_compressed(job.public / "train.npz", **arrays)
    np.savez_compressed(job.public / "validation.npz", **{name: validation[name] for name in ("graphs", "pointers")})
    (job.private / "inputs").mkdir()
    np.savez(job.private / "inputs" / "graphs.npz", graphs=test["graphs"])
    nodes = test["pointers"].reshape(-1)
    write(pl.DataFrame({"id": np.arange(len(nodes)), "node": nodes}), job.private / "answers.csv")


def _drawn(job: PrepareJob) -> tuple[dict[int, Arrays], Arrays, Arrays]:
    """Sample as the published starter does: graphs of many densities for training, of one for the test.

    The seed of the test is secret: anyone who knows it can draw the hidden graphs again and compute their answers.
    """
    sampler = Sampler(job.raw)
    train = {nodes: sampler.draw(count, nodes, seed=SEED + nodes, chances=CHANCES) for nodes, count in TRAIN.items()}
    validation = sampler.draw(*VALIDATION, seed=SEED + 100, chances=CHANCES)
    return train, validation, sampler.draw(*TEST, seed=job.secret_seed())


def _read_miniature(raw: Path) -> tuple[dict[int, Arrays], Arrays, Arrays]:
    """Read the miniature's graphs, one file per part."""
    parts = {path.stem: dict(np.load(path, allow_pickle=False)) for path in sorted(raw.glob("*.npz"))}
    train = {int(name.removeprefix("train_")): part for name, part in parts.items() if name.startswith("train_")}
    return train, parts["validation"], parts["test"]
