"""The search of a trial: the journal of nodes that its agent recorded.

Any agent can record nodes with `Workbench.record_node`. Trees, scores of nodes and oracle curves follow from them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count, takewhile
from pathlib import Path
from typing import Literal

from assay.records.events import CallFinished, CallStarted, Event, NodeRequest, Restarted, SearchNode
from assay.records.log import read_log_lines

Direction = Literal["higher", "lower"]


@dataclass(frozen=True)
class Journal:
    """All nodes of a search in the order in which they were chosen; a node's id is its position.

    `spent` is the share of the steps that are used, for policies that mind the budget.
    """

    direction: Direction
    nodes: tuple[SearchNode, ...] = ()
    spent: float = 0.0

    def put(self, node: SearchNode) -> "Journal":
        """Return the journal with a node added, or replaced if there is one with the same id."""
        if node.id > len(self.nodes):
            raise ValueError(f"node {node.id} would leave a gap after {len(self.nodes)} nodes")
        return replace(self, nodes=(*self.nodes[: node.id], node, *self.nodes[node.id + 1 :]))

    @cached_property
    def good(self) -> tuple[SearchNode, ...]:
        """All good nodes."""
        return tuple(node for node in self.nodes if node.good)

    @cached_property
    def best(self) -> SearchNode | None:
        """The good node with the best metric; in a tie the oldest."""
        return max(self.good, key=lambda node: (self.value(node), -node.id), default=None)

    def value(self, node: SearchNode) -> float:
        """Return the value of a good node, higher being better: its metric, or the mean of both if it was rerun."""
        assert node.metric is not None
        metric = node.metric if node.rerun_metric is None else (node.metric + node.rerun_metric) / 2
        lower = self.direction == "lower" if node.lower_is_better is None else node.lower_is_better
        return -metric if lower else metric

    def children(self, node: SearchNode) -> tuple[SearchNode, ...]:
        """Return the nodes that were made from a node."""
        return self._children.get(node.id, ())

    @cached_property
    def _children(self) -> dict[int, tuple[SearchNode, ...]]:
        children: dict[int, tuple[SearchNode, ...]] = {}
        for node in self.nodes:
            for parent in node.parents:
                children[parent] = (*children.get(parent, ()), node)
        return children


def read_journal(events: Iterable[Event], direction: Direction) -> Journal:
    """Return the journal of a trial from its log; what was repeated after an interruption counts once.

    Nodes after one that is not in the log yet are excluded.
    """
    nodes: dict[int, SearchNode] = {}
    for event in events:
        if isinstance(event, Restarted):
            nodes = {}
        elif node := _node_of(event):
            nodes[node.id] = node
    ids = takewhile(lambda id: id in nodes, count())
    return Journal(direction, tuple(nodes[id] for id in ids))


def find_submissions(events: Iterable[Event]) -> list[tuple[float, str]]:
    """Return the valid submissions of all nodes in the order of the log: seconds since the start, and SHA-256."""
    elapsed, submissions = 0.0, []
    for event in events:
        if isinstance(event, CallFinished):
            elapsed = event.used.elapsed
        elif (node := _node_of(event)) and node.submission:
            submissions.append((elapsed, node.submission))
    return submissions


def has_nodes(log: Path) -> bool:
    """Return whether a log that Assay wrote contains nodes, without parsing it."""
    return any(b'"type":"node"' in line for line in read_log_lines(log))


def _node_of(event: Event) -> SearchNode | None:
    if isinstance(event, CallStarted) and isinstance(event.request, NodeRequest):
        return event.request.node
    return None
