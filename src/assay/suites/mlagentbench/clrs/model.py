"""The model that checkpoints are judged in: a graph network that passes messages along edges and over triples of nodes.

It reads graphs whose edges have lengths and says, for each pair of nodes, which node comes last before the end of the
shortest path. It goes as the algorithm of Floyd and Warshall does: in each step it looks at its own guesses of how
things stand (distances, predecessors, pairs that are reached, and the node whose turn it is) and makes new ones.

Arrays are indexed by graph, then nodes: `[b, i, j]` is the pair of nodes from i to j.
"""

import zipfile
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

BOUNDS = {
    "width": (1, 128),
    "triplets": (0, 16),
    "pointers": (1, 128),
    "steps": (0, 64),
    "layers": (1, 3),
    "hints": (0, 2),
    "gated": (0, 1),
    "normalized": (0, 1),
    "edge_pointers": (0, 1),
}
"""The smallest and the largest value of each setting."""


@dataclass(frozen=True)
class Settings:
    """What can be chosen about the model; everything else is fixed."""

    width: int = 64
    """Features of a node and of an edge."""
    triplets: int = 8
    """Features of a triple of nodes; with 0 there are no messages over triples."""
    pointers: int = 32
    """Features that decide which node a pair points to."""
    steps: int = 0
    """How many steps are made; 0 is as many as the graph has nodes."""
    layers: int = 1
    """How often messages are passed in each step, with the same weights."""
    hints: int = 2
    """Which guesses are made in each step and read in the next: 0 none, 1 all but predecessors, 2 all."""
    gated: int = 1
    """Whether a node may keep its state."""
    normalized: int = 1
    """Whether states are normalized."""
    edge_pointers: int = 0
    """Whether a pair (i, j), before it points to k, looks at the edge from k to j as well as at k."""


class CheckpointError(ValueError):
    """What is wrong with a checkpoint, in a sentence."""


@dataclass(frozen=True)
class Guess:
    """What the model takes for the state of things after a step, as logits but for `distances`."""

    distances: Tensor
    reached: Tensor
    turn: Tensor
    pointers: Tensor | None


class Network(nn.Module):
    """The model with given settings, and weights to be trained."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings
        width, triplets = settings.width, settings.triplets
        self.read_node, self.read_edge = nn.Linear(2, width), nn.Linear(6, width)
        self.sent, self.received = nn.Linear(2 * width, width), nn.Linear(2 * width, width)
        self.along, self.message = nn.Linear(width, width), nn.Linear(width, width)
        self.own, self.gathered = nn.Linear(2 * width, width), nn.Linear(width, width)
        if settings.normalized:
            self.scale = nn.LayerNorm(width)
        if settings.gated:
            self.gate_own, self.gate_gathered = nn.Linear(2 * width, width), nn.Linear(width, width)
            self.gate = nn.Linear(width, width)
            nn.init.constant_(self.gate.bias, -3.0)
        if triplets:
            self.of_nodes, self.of_edges = nn.Linear(2 * width, 3 * triplets), nn.Linear(width, 3 * triplets)
            self.to_edges = nn.Linear(triplets, width)
        node, edge = 3 * width, 2 * width if triplets else width
        self.output = Pointer(node, edge, settings)
        if settings.hints:
            self.turn, self.values = nn.Linear(node, 1), Pairs(node, edge, 2)
        if settings.hints == 2:
            self.so_far = Pointer(node, edge, settings)

    def forward(self, graphs: Tensor, places: Tensor | None = None) -> tuple[Tensor, list[Guess]]:
        """Scores of every node as the predecessor of every pair, `[b, i, j, k]`, and the guesses after each step.

        `places` are numbers between 0 and 1 that rise from node to node; without them they are evenly spaced.
        """
        batch, nodes, _ = graphs.shape
        settings, one = self.settings, torch.eye(nodes).expand(batch, nodes, nodes)
        if places is None:
            places = (torch.arange(nodes) / nodes).expand(batch, nodes)
        adjacent = ((graphs != 0) | (one > 0)).float()
        nothing = torch.zeros_like(graphs)
        # To begin with, distances are lengths, every path is its first edge, and it is the first node's turn.
        distances, reached, turn, by_end, by_start = graphs, adjacent, one[:, 0], nothing + 1 / nodes, one
        hidden = torch.zeros(batch, nodes, settings.width)
        guesses: list[Guess] = []
        for _ in range(settings.steps or nodes):
            hints = [
                *((distances, reached) if settings.hints else (nothing, nothing)),
                *((by_end, by_start) if settings.hints == 2 else (nothing, nothing)),
            ]
            node = self.read_node(torch.stack([places, turn if settings.hints else nothing[:, 0]], dim=-1))
            edge = self.read_edge(torch.stack([graphs, adjacent, *hints], dim=-1))
            before = hidden
            for _ in range(settings.layers):
                hidden, over_triples = self._pass_messages(node, edge, hidden)
            node = torch.cat([node, before, hidden], dim=-1)
            edge = edge if over_triples is None else torch.cat([edge, over_triples], dim=-1)
            if settings.hints:
                values = self.values(node, edge)
                so_far = self.so_far(node, edge) if settings.hints == 2 else None
                guess = Guess(values[..., 0], values[..., 1], self.turn(node)[..., 0], so_far)
                guesses.append(guess)
                distances, reached, turn = guess.distances, guess.reached.sigmoid(), guess.turn.softmax(-1)
                if so_far is not None:
                    shares = so_far.softmax(-1)
                    by_end, by_start = shares.mean(1), shares.mean(2)
        return self.output(node, edge), guesses

    def _pass_messages(self, node: Tensor, edge: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor | None]:
        state = torch.cat([node, hidden], dim=-1)
        messages = self.sent(state)[:, :, None] + self.received(state)[:, None] + self.along(edge)
        gathered = self.message(messages.relu()).amax(1)
        new = (self.own(state) + self.gathered(gathered)).relu()
        if self.settings.normalized:
            new = self.scale(new)
        if self.settings.gated:
            opened = self.gate((self.gate_own(state) + self.gate_gathered(gathered)).relu()).sigmoid()
            new = new * opened + hidden * (1 - opened)
        return new, self._over_triples(state, edge) if self.settings.triplets else None

    def _over_triples(self, state: Tensor, edge: Tensor) -> Tensor:
        """What each pair (j, k) hears by way of every third node i; the loudest counts."""
        first, second, third = self.of_nodes(state).chunk(3, dim=-1)
        coming, going, straight = self.of_edges(edge).chunk(3, dim=-1)
        loudest = _largest_sums(first[:, :, None] + coming, going)
        return self.to_edges(loudest + second[:, :, None] + third[:, None] + straight).relu()


class Pairs(nn.Module):
    """Numbers for each pair of nodes, from both nodes and what is known of the pair."""

    def __init__(self, node: int, edge: int, size: int) -> None:
        super().__init__()
        self.start, self.end, self.between = nn.Linear(node, size), nn.Linear(node, size), nn.Linear(edge, size)

    def forward(self, node: Tensor, edge: Tensor) -> Tensor:
        """`[b, i, j, size]`."""
        return self.start(node)[:, :, None] + self.end(node)[:, None] + self.between(edge)


class Pointer(nn.Module):
    """For each pair of nodes, a score for every node it may point to."""

    def __init__(self, node: int, edge: int, settings: Settings) -> None:
        super().__init__()
        self.pair, self.target = Pairs(node, edge, settings.pointers), nn.Linear(node, settings.pointers)
        self.last = nn.Linear(edge, settings.pointers) if settings.edge_pointers else None
        self.score = nn.Linear(settings.pointers, 1)

    def forward(self, node: Tensor, edge: Tensor) -> Tensor:
        """`[b, i, j, k]`."""
        pair, target = self.pair(node, edge), self.target(node)[:, None]
        if self.last is not None:
            target = target + self.last(edge).transpose(1, 2)  # [b, j, k]: the edge from k to j
        if torch.is_grad_enabled():
            return self.score(torch.maximum(pair[:, :, :, None], target[:, None]))[..., 0]
        # One target at a time fits into the processor's cache, which makes large graphs several times faster.
        each = (self.score(torch.maximum(pair, target[:, None, :, k]))[..., 0] for k in range(target.shape[2]))
        return torch.stack(list(each), dim=-1)


def _largest_sums(one: Tensor, other: Tensor) -> Tensor:
    """`[b, j, k, t]`: the largest `one[b, i, j, t] + other[b, i, k, t]` over i."""
    if torch.is_grad_enabled():
        return (one[:, :, :, None] + other[:, :, None]).amax(1)
    largest = one[:, 0, :, None] + other[:, 0, None]
    for i in range(1, one.shape[1]):
        largest = torch.maximum(largest, one[:, i, :, None] + other[:, i, None])
    return largest


def predict(network: Network, graphs: np.ndarray, batch: int = 4) -> np.ndarray:
    """The predecessor of every pair of nodes of every graph."""
    with torch.no_grad():
        parts = torch.from_numpy(np.asarray(graphs, dtype=np.float32)).split(batch)
        return torch.cat([network(part)[0].argmax(-1) for part in parts]).numpy()


def save(network: Network, path: str | Path) -> None:
    """Write settings and weights as plain arrays."""
    arrays: dict[str, Any] = {f"settings.{name}": value for name, value in asdict(network.settings).items()}
    arrays |= {f"weights.{name}": weight.detach().numpy() for name, weight in network.state_dict().items()}
    np.savez(path, **arrays)


def load(path: str | Path) -> Network:
    """Read what `save` wrote; `CheckpointError` for anything else."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error):
        raise CheckpointError("it is damaged, or holds something other than numbers") from None
    settings = {name: array for name, array in arrays.items() if name.startswith("settings.")}
    network = Network(_settings(settings))
    wanted = {f"weights.{name}": weight for name, weight in network.state_dict().items()}
    given = {name: array for name, array in arrays.items() if name not in settings}
    if given.keys() != wanted.keys():
        name = min(given.keys() ^ wanted.keys())
        raise CheckpointError(f"the array {name} is {'missing' if name in wanted else 'not one of the model'}")
    for name, array in given.items():
        if array.shape != wanted[name].shape:
            raise CheckpointError(f"{name} has the shape {array.shape}; {tuple(wanted[name].shape)} is right")
        if not np.isfinite(array.astype(np.float32)).all():
            raise CheckpointError(f"{name} holds numbers that are not finite")
    network.load_state_dict(
        {name.removeprefix("weights."): torch.from_numpy(array.astype(np.float32)) for name, array in given.items()}
    )
    return network.eval()


def _settings(arrays: dict[str, np.ndarray]) -> Settings:
    values = {name.removeprefix("settings."): array for name, array in arrays.items()}
    if values.keys() != BOUNDS.keys():
        raise CheckpointError(f"settings.{min(values.keys() ^ BOUNDS.keys())} is missing or not a setting")
    for name, array in values.items():
        least, most = BOUNDS[name]
        if array.shape != () or array.dtype.kind not in "iu" or not least <= int(array) <= most:
            raise CheckpointError(f"settings.{name} is not a whole number from {least} to {most}")
    return Settings(**{name: int(array) for name, array in values.items()})
