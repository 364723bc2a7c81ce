"""A miniature of the graphs: few, with four to eight nodes for training and twelve for grading."""

from typing import Any

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

TRAIN = {4: 64, 6: 64, 8: 64}
VALIDATION = (16, 8)
TEST = (4, 12)

Arrays = dict[str, Any]


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write each part as the published sampler draws it."""
    for nodes, count in TRAIN.items():
        np.savez(job.raw / f"train_{nodes}.npz", **_drawn(make.rng, count, nodes))
    np.savez(job.raw / "validation.npz", **_drawn(make.rng, *VALIDATION))
    np.savez(job.raw / "test.npz", **_drawn(make.rng, *TEST))


def _drawn(random: np.random.Generator, count: int, nodes: int) -> Arrays:
    tossed, lengths = random.random((count, nodes, nodes)) < 0.5, random.random((count, nodes, nodes))
    there = tossed & tossed.transpose(0, 2, 1)
    graphs = there * np.sqrt(lengths * lengths.transpose(0, 2, 1) + 1e-3)
    return _paths(graphs)


def _paths(graphs: np.ndarray) -> Arrays:
    """Return shortest paths between all pairs, by the Floyd-Warshall algorithm."""
    nodes = graphs.shape[1]
    distances, reached = graphs.copy(), (graphs != 0) | np.eye(nodes, dtype=bool)
    pointers = np.broadcast_to(np.arange(nodes)[:, None], graphs.shape).copy()
    steps = []
    for by in range(nodes):
        steps.append((distances.copy(), pointers.copy(), reached.copy()))
        around = distances[:, :, by, None] + distances[:, None, by]
        possible = reached[:, :, by, None] & reached[:, None, by]
        shorter = possible & (~reached | (around < distances))
        pointers = np.where(shorter, pointers[:, None, by], pointers)
        distances, reached = np.where(shorter, around, distances), reached | possible
    before = [np.stack(part, axis=1) for part in zip(*steps, strict=True)]
    return {
        "graphs": graphs.astype(np.float32),
        "pointers": pointers.astype(np.int8),
        "distances_before": before[0].astype(np.float32),
        "pointers_before": before[1].astype(np.int8),
        "reached_before": before[2].astype(np.int8),
    }
