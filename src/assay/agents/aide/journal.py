"""The journal of a search: one list of nodes, from which everything else is computed."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from assay.core.quantities import Model
from assay.lab.interface import Ended
from assay.records import Event

Operator = Literal["draft", "debug", "improve", "crossover"]
Direction = Literal["higher", "lower"]
NOTE = "node"
"""What the record calls a note that holds a node."""


@dataclass(frozen=True)
class Choice:
    """What to try next, and from which nodes."""

    operator: Operator
    parents: tuple[int, ...] = ()


class Ran(Model):
    """What came of running a script: how it ended, how long it took, and the beginning and end of what it printed."""

    ended: Ended
    code: int
    seconds: float
    output: str

    @property
    def timed_out(self) -> bool:
        """Whether it was ended because it took too long."""
        return self.ended == "time"

    @property
    def succeeded(self) -> bool:
        """Whether it came to its own end. That a neighbour ran out of memory is told to all that run beside it."""
        return self.code == 0 and self.ended in ("exit", "memory")


class Node(Model):
    """One solution: a script, how it came about, and what came of it.

    A node that is not `settled` was chosen and is being tried. `metric` is what the script says of itself on data it
    held back; `again` is what it said when it was run once more with another seed. `finding` is what a review made of
    it. A submission is known by its SHA-256, and only one whose form is `valid` can be handed in.
    """

    id: int
    operator: Operator
    parents: tuple[int, ...] = ()
    plan: str = ""
    code: str = ""
    settled: bool = False
    ran: Ran | None = None
    metric: float | None = None
    again: float | None = None
    buggy: bool = False
    why: str = ""
    finding: str = ""
    valid: bool = False
    sha256: str | None = None

    @property
    def good(self) -> bool:
        """Whether it can be built upon and handed in."""
        return self.settled and not self.buggy


@dataclass(frozen=True)
class Journal:
    """All nodes of a search in the order in which they were chosen; a node's id is its place."""

    direction: Direction
    nodes: tuple[Node, ...] = ()

    def put(self, node: Node) -> "Journal":
        """The journal with one more node, or with a node in the place of the one with its id."""
        if node.id > len(self.nodes):
            raise ValueError(f"node {node.id} would leave a gap after {len(self.nodes)} nodes")
        return Journal(self.direction, (*self.nodes[: node.id], node, *self.nodes[node.id + 1 :]))

    @cached_property
    def good(self) -> tuple[Node, ...]:
        """Those that can be built upon."""
        return tuple(node for node in self.nodes if node.good)

    @cached_property
    def best(self) -> Node | None:
        """The good node with the best metric; of equals the oldest."""
        return max(self.good, key=lambda node: (self.value(node), -node.id), default=None)

    @cached_property
    def drafts(self) -> tuple[Node, ...]:
        """Those that were begun from nothing."""
        return tuple(node for node in self.nodes if node.operator == "draft")

    def value(self, node: Node) -> float:
        """What a good node is worth, larger being better: its metric, or the mean of both if it was run again."""
        assert node.metric is not None
        claimed = node.metric if node.again is None else (node.metric + node.again) / 2
        return claimed if self.direction == "higher" else -claimed

    def children(self, node: Node) -> tuple[Node, ...]:
        """Those that were made from a node."""
        return self._children.get(node.id, ())

    def chain(self, node: Node) -> tuple[Node, ...]:
        """The fixes that led to a node, from what was to be fixed at first to the node itself."""
        found = [node]
        while found[0].operator == "debug":
            found.insert(0, self.nodes[found[0].parents[0]])
        return tuple(found)

    def open_bugs(self, max_debug_depth: int) -> tuple[Node, ...]:
        """Broken nodes that nobody has tried to fix, and to which no more than so many fixes in a row have led."""
        return tuple(
            node
            for node in self.nodes
            if node.settled and node.buggy and node.code and not self.children(node)
            if len(self.chain(node)) - 1 <= max_debug_depth
        )

    @cached_property
    def _children(self) -> dict[int, tuple[Node, ...]]:
        found: dict[int, tuple[Node, ...]] = {}
        for node in self.nodes:
            for parent in node.parents:
                found[parent] = (*found.get(parent, ()), node)
        return found


def journal_of(events: Iterable[Event], direction: Direction) -> Journal:
    """The journal of a trial as its record tells it; what was done again after an interruption counts once."""
    nodes: dict[int, Node] = {}
    for event in events:
        if event.kind == "anew":
            nodes = {}
        elif event.kind == "action" and event.about["what"] == "note" and event.about["request"]["what"] == NOTE:
            node = Node.model_validate(event.about["node"])
            nodes[node.id] = node
    return Journal(direction, tuple(nodes[id] for id in sorted(nodes)))
