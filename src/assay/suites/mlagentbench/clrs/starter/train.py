"""A first try: the model with messages over triples, trained briefly on graphs of up to 16 nodes."""

import copy
import os
import sys

import numpy as np
import torch
from torch import Tensor, nn

sys.path.insert(0, "data")  # which contains the model's code
from model import Guess, Network, Settings, predict, save

SEED = int(os.environ.get("SEED", "0"))
SETTINGS = Settings(width=32, triplets=8, pointers=16, steps=4)
BATCHES = 300
GRAPHS = 32
LEARNING_RATE = 1e-3
LOOK_EVERY = 50


def batch(data: dict[str, np.ndarray], nodes: int, random: np.random.Generator) -> dict[str, Tensor]:
    """Return a batch of graphs of one size with their labels, and random positions of their nodes."""
    names = ("graphs", "pointers", "distances_before", "pointers_before", "reached_before")
    rows = random.integers(0, len(data[f"graphs_{nodes}"]), GRAPHS)
    found = {name: torch.from_numpy(data[f"{name}_{nodes}"][rows]) for name in names}
    found["places"] = torch.from_numpy(np.sort(random.random((GRAPHS, nodes)), axis=1).astype(np.float32))
    return found


def loss(scores: Tensor, guesses: list[Guess], known: dict[str, Tensor]) -> Tensor:
    """Return the loss of the predecessors and of the intermediate predictions.

    The algorithm makes one step per node, the model fewer: each step of the model should cover several.
    """
    total = pointing(scores, known["pointers"])
    nodes = scores.shape[1]
    for number, guess in enumerate(guesses[:-1], 1):
        step = number * nodes // len(guesses)
        off = nn.functional.mse_loss(guess.distances, known["distances_before"][:, step])
        off = off + nn.functional.binary_cross_entropy_with_logits(
            guess.reached, known["reached_before"][:, step].float()
        )
        off = off + nn.functional.cross_entropy(guess.turn, torch.full((len(scores),), step))
        if guess.pointers is not None:
            off = off + pointing(guess.pointers, known["pointers_before"][:, step])
        total = total + off / (len(guesses) - 1)
    return total


def pointing(scores: Tensor, pointers: Tensor) -> Tensor:
    return nn.functional.cross_entropy(scores.flatten(0, 2), pointers.flatten().long())


torch.manual_seed(SEED)
torch.set_num_threads(1)  # With matrices this small, threads would mostly wait for each other.
random = np.random.default_rng(SEED)
with np.load("data/train.npz") as file:
    train = {name: file[name] for name in file.files}
with np.load("data/validation.npz") as file:
    validation = {name: file[name] for name in file.files}
sizes = sorted(int(name.removeprefix("graphs_")) for name in train if name.startswith("graphs_"))

network = Network(SETTINGS)
optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
best, kept = -1.0, copy.deepcopy(network.state_dict())
for number in range(1, BATCHES + 1):
    known = batch(train, sizes[number % len(sizes)], random)
    optimizer.zero_grad()
    scores, guesses = network(known["graphs"], known["places"])
    off = loss(scores, guesses, known)
    off.backward()
    nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    optimizer.step()
    if number % LOOK_EVERY == 0:
        right = float((predict(network, validation["graphs"]) == validation["pointers"]).mean())
        print(f"batch {number}: loss {off.item():.3f}, right on validation graphs {right:.4f}", flush=True)
        if right > best:
            best, kept = right, copy.deepcopy(network.state_dict())

network.load_state_dict(kept)
save(network, "checkpoint.npz")
