"""Reference solutions, from the weakest to the strongest: guesses, learned rules, and known algorithms."""

import heapq
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from numpy.typing import NDArray

SEED = int(os.environ.get("SEED", "0"))
Values = NDArray[np.float64]
Rule = Callable[[Values, int], list[int]]
"""Returns the pointers of a graph with these weights and this source."""


def write_submission(solution: Callable[[], Rule]) -> None:
    rule = solution()
    test = pd.read_csv("data/test.csv")
    test["pointer"] = np.concatenate([rule(weights, source) for weights, source, _ in graphs("test")])
    test[["node_id", "pointer"]].to_csv("submission.csv", index=False)


def graphs(side: str) -> Iterator[tuple[Values, int, Any]]:
    edges = dict(iter(pd.read_csv("data/edges.csv").groupby("graph")))
    for number, nodes in pd.read_csv(f"data/{side}.csv").groupby("graph"):
        weights = np.zeros((len(nodes), len(nodes)))
        for first, second, weight in edges[number][["node", "other", "weight"]].to_numpy():
            weights[int(first), int(second)] = weights[int(second), int(first)] = weight
        yield weights, int(nodes["source"].argmax()), nodes.get("pointer")


def zero() -> Rule:
    return lambda weights, source: [0] * len(weights)


def itself() -> Rule:
    return lambda weights, source: list(range(len(weights)))


def the_source() -> Rule:
    return lambda weights, source: [source] * len(weights)


def random_neighbor() -> Rule:
    random = np.random.default_rng(SEED)
    return lambda weights, source: [int(random.choice(np.flatnonzero(row))) for row in weights]


def weakest_neighbor() -> Rule:
    return lambda weights, source: np.where(weights > 0, weights, 2).argmin(axis=1).tolist()


def busiest_neighbor() -> Rule:
    return lambda weights, source: np.where(weights > 0, (weights > 0).sum(axis=0), -1).argmax(axis=1).tolist()


def strongest_neighbor() -> Rule:
    return lambda weights, source: weights.argmax(axis=1).tolist()


def strongest_neighbor_or_source() -> Rule:
    def rule(weights: Values, source: int) -> list[int]:
        pointers = weights.argmax(axis=1)
        pointers[source] = source
        return pointers.tolist()

    return rule


def fewest_edges() -> Rule:
    return lambda weights, source: search(weights, source, lambda path, weight: path + 1)


def shortest_path() -> Rule:
    return lambda weights, source: search(weights, source, lambda path, weight: path + weight)


def smallest_spanning_tree() -> Rule:
    return lambda weights, source: search(weights, source, lambda path, weight: weight)


def learned_from_edges() -> Rule:
    return learn(lambda weights, source: (weights,))


def learned_from_neighborhoods() -> Rule:
    return learn(lambda weights, source: (weights, *local(weights), distance(weights, source)))


def shortest_inverse_path() -> Rule:
    return lambda weights, source: search(weights, source, lambda path, weight: path + 1 / weight)


def learned_from_paths() -> Rule:
    def features(weights: Values, source: int) -> tuple[Values, ...]:
        return (weights, *local(weights), distance(weights, source), reach(weights, source, 3))

    return learn(features)


def learned_from_long_paths() -> Rule:
    def features(weights: Values, source: int) -> tuple[Values, ...]:
        return (
            weights,
            *local(weights),
            distance(weights, source),
            reach(weights, source, 3),
            reach(weights, source, 40),
        )

    return learn(features)


def largest_spanning_tree() -> Rule:
    return lambda weights, source: search(weights, source, lambda path, weight: -weight)


def widest_path() -> Rule:
    return lambda weights, source: search(weights, source, lambda path, weight: max(path, -weight), start=-np.inf)


def search(weights: Values, source: int, extend: Callable[[float, float], float], start: float = 0.0) -> list[int]:
    """Return the predecessor of each node in a search that always goes on from the smallest value."""
    value = np.full(len(weights), np.inf)
    value[source] = start
    pointers, done, queue = [source] * len(weights), set(), [(start, source)]
    while queue:
        _, node = heapq.heappop(queue)
        if node in done:
            continue
        done.add(node)
        for other in np.flatnonzero(weights[node]).tolist():
            longer = extend(value[node], weights[node, other])
            if other not in done and longer < value[other]:
                value[other], pointers[other] = longer, node
                heapq.heappush(queue, (longer, other))
    return pointers


Features = Callable[[Values, int], tuple[Values, ...]]


def learn(features: Features) -> Rule:
    """Train a classifier of directed edges: does the node point to this neighbor?"""
    inputs, labels = [], []
    for weights, source, pointers in graphs("train"):
        rows, columns = np.nonzero(weights)
        inputs.append(describe(features(weights, source), rows, columns))
        labels.append(pointers.to_numpy()[rows] == columns)
    model = LGBMClassifier(n_estimators=150, num_leaves=15, n_jobs=1, random_state=SEED, verbose=-1)
    model.fit(np.vstack(inputs), np.concatenate(labels))

    def rule(weights: Values, source: int) -> list[int]:
        rows, columns = np.nonzero(weights)
        shares = np.full(weights.shape, -1.0)
        shares[rows, columns] = model.predict_proba(describe(features(weights, source), rows, columns))[:, 1]
        pointers = shares.argmax(axis=1)
        pointers[source] = source
        return pointers.tolist()

    return rule


def describe(tables: tuple[Values, ...], rows: Any, columns: Any) -> Values:
    return np.column_stack(
        [table[rows, columns] for table in tables] + [table.T[rows, columns] for table in tables[1:]]
    )


def local(weights: Values) -> tuple[Values, ...]:
    """Return the rank of each edge among those of its node, and the degree of the node."""
    ranks = (-weights).argsort(axis=1).argsort(axis=1).astype(float)
    return ranks, np.broadcast_to((weights > 0).sum(axis=1)[:, None], weights.shape).astype(float)


def distance(weights: Values, source: int) -> Values:
    steps = np.full(len(weights), 99.0)
    steps[source] = 0
    for _ in range(len(weights)):
        steps = np.minimum(steps, np.where(weights > 0, steps[None, :] + 1, 99).min(axis=1))
    return np.broadcast_to(steps[None, :], weights.shape)


def reach(weights: Values, source: int, rounds: int) -> Values:
    """Return how wide the widest path from the source to each neighbor is, with at most so many edges."""
    width = np.zeros(len(weights))
    width[source] = 1
    for _ in range(rounds):
        width = np.maximum(width, np.minimum(weights, width[None, :]).max(axis=1))
    return np.minimum(weights, width[None, :])


SOLUTIONS: list[Callable[[], Rule]] = [
    zero,
    itself,
    the_source,
    weakest_neighbor,
    smallest_spanning_tree,
    shortest_path,
    random_neighbor,
    busiest_neighbor,
    fewest_edges,
    strongest_neighbor,
    strongest_neighbor_or_source,
    learned_from_edges,
    learned_from_neighborhoods,
    shortest_inverse_path,
    learned_from_paths,
    learned_from_long_paths,
    largest_spanning_tree,
    widest_path,
]
