"""Reference solutions, from the weakest to the strongest."""

import sys

import numpy as np
import torch
from torch import nn

sys.path.insert(0, "data")  # which contains the model's code
BATCH = 32
LEARNING_RATE = 2e-3
SOLUTIONS: dict[str, tuple[dict[str, int], int]] = {
    "untrained": ({"width": 32, "steps": 4, "pointers": 16}, 0),
    "result-only": ({"width": 32, "hints": 0, "steps": 4, "pointers": 16}, 300),
    "edge-pointers": ({"width": 32, "hints": 0, "steps": 4, "pointers": 16, "edge_pointers": 1}, 300),
    "edge-pointers-longer": ({"width": 32, "hints": 0, "steps": 4, "pointers": 16, "edge_pointers": 1}, 1000),
}
"""The settings of each solution and its number of training batches; all learn from the predecessors, without hints."""


def write_submission(solution: tuple[dict[str, int], int]) -> None:
    from model import Network, Settings, predict, save

    settings, batches = solution
    torch.manual_seed(0)
    torch.set_num_threads(1)
    random = np.random.default_rng(0)
    with np.load("data/train.npz") as file:
        sizes = sorted(int(name.removeprefix("graphs_")) for name in file.files if name.startswith("graphs_"))
        train = {size: (file[f"graphs_{size}"], file[f"pointers_{size}"]) for size in sizes}
    network = Network(Settings(**settings))
    optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    for batch in range(batches):
        size = sizes[batch % len(sizes)]
        graphs, pointers = train[size]
        rows = random.integers(0, len(graphs), BATCH)
        positions = np.sort(random.random((BATCH, size)), axis=1).astype(np.float32)
        scores, _ = network(torch.from_numpy(graphs[rows]), torch.from_numpy(positions))
        optimizer.zero_grad()
        right = torch.from_numpy(pointers[rows]).long().flatten()
        nn.functional.cross_entropy(scores.flatten(0, 2), right).backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
    with np.load("data/validation.npz") as file:
        print(f"right on validation graphs: {(predict(network, file['graphs']) == file['pointers']).mean():.4f}")
    save(network, "checkpoint.npz")
