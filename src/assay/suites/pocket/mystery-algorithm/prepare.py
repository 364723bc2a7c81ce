"""Mystery algorithm: which neighbor is the last one on the path from the source whose narrowest edge is widest."""

import heapq

import numpy as np
import polars as pl

from assay.data.job import PrepareJob
from assay.data.polars_tables import write, write_split

TRAIN_GRAPHS, TRAIN_NODES = 200, 14
TEST_GRAPHS, TEST_NODES = 80, 32
SEED = 20275


def prepare(job: PrepareJob) -> None:
    """Draw connected graphs, larger ones for test, and write the algorithm's pointer of each node."""
    random = np.random.RandomState(SEED)
    nodes: list[tuple[int, ...]] = []
    edges: list[tuple[int, int, int, str]] = []
    for graph in range(TRAIN_GRAPHS + TEST_GRAPHS):
        size = TRAIN_NODES if graph < TRAIN_GRAPHS else TEST_NODES
        weights = draw_graph(random, size)
        source = int(random.randint(size))
        pointers = find_pointers(weights, source)
        nodes += [(len(nodes) + node, graph, node, int(node == source), pointers[node]) for node in range(size)]
        rows, columns = np.nonzero(np.triu(weights))
        edges += [
            (graph, int(row), int(column), f"{weights[row, column]:.4f}")
            for row, column in zip(rows, columns, strict=True)
        ]
    schema = ["node_id", "graph", "node", "source", "pointer"]
    table = pl.DataFrame(nodes, schema=schema, orient="row")
    write(pl.DataFrame(edges, schema=["graph", "node", "other", "weight"], orient="row"), job.public / "edges.csv")
    train, test = (table.filter((pl.col("graph") < TRAIN_GRAPHS) == side) for side in (True, False))
    write_split(train, test, id="node_id", sample={"pointer": 0}, public=job.public, private=job.private)


def draw_graph(random: np.random.RandomState, size: int) -> np.ndarray:
    """Return symmetric weights of a connected random graph, 0 where there is no edge; no two weights are equal."""
    order = random.permutation(size)
    linked = {(int(order[row]), int(order[random.randint(row)])) for row in range(1, size)}
    extra = random.randint(0, size, size=(size, 2))
    pairs = sorted({(min(pair), max(pair)) for pair in [*linked, *map(tuple, extra.tolist())] if pair[0] != pair[1]})
    values = (random.permutation(9999)[: len(pairs)] + 1) / 10000
    weights = np.zeros((size, size))
    for (first, second), value in zip(pairs, values, strict=True):
        weights[first, second] = weights[second, first] = value
    return weights


def find_pointers(weights: np.ndarray, source: int) -> list[int]:
    """Return each node's predecessor on its widest path from the source; the source points to itself.

    Of equally wide paths, the one whose last node was reached first in order of width counts.
    """
    size = len(weights)
    pointers = [source] * size
    width = np.zeros(size)
    width[source] = np.inf
    done: set[int] = set()
    queue = [(-np.inf, source)]
    while queue:
        _, node = heapq.heappop(queue)
        if node in done:
            continue
        done.add(node)
        for other in np.flatnonzero(weights[node]).tolist():
            reached = min(width[node], weights[node, other])
            if other not in done and reached > width[other]:
                width[other], pointers[other] = reached, node
                heapq.heappush(queue, (-reached, other))
    return pointers
