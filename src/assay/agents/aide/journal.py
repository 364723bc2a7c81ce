"""The journal of a search: one list of nodes, from which everything else is derived."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import count, takewhile
from typing import Literal

from pydantic import ValidationError

from assay.core.errors import RecordError
from assay.core.quantities import Model
from assay.core.text import describe_validation_error, one_line
from assay.lab.interface import Ended
from assay.records import Event
from assay.records.events import CallStarted, NoteRequest, Restarted

Operator = Literal["draft", "debug", "improve", "crossover"]
Direction = Literal["higher", "lower"]
NODE_NOTE = "node"
"""The name of the notes in a trial's log that contain a node."""


@dataclass(frozen=True)
class Choice:
    """What to try next, and from which parent nodes."""

    operator: Operator
    parents: tuple[int, ...] = ()


class Execution(Model):
    """The execution of a script: how it ended, how long it took, and the beginning and end of its output."""

    ended: Ended
    code: int
    seconds: float
    output: str

    @property
    def succeeded(self) -> bool:
        """Whether the script ran to its end.

        When one of several scripts that run in parallel exceeds the memory limit, all of them are reported as ended by
        memory, even those that finished.
        """
        return self.code == 0 and self.ended in ("exit", "memory")


class Node(Model):
    """One solution: a script, where it comes from, and the result of executing it.

    A node that is not `evaluated` was chosen and is pending. `metric` is the validation metric that the script printed,
    `rerun_metric` the one it printed when it was run again with another seed. `review` is the summary of a review. Only
    a node whose submission has a `valid` format can be submitted; `sha256` is the digest of that submission.
    """

    id: int
    operator: Operator
    parents: tuple[int, ...] = ()
    plan: str = ""
    code: str = ""
    evaluated: bool = False
    execution: Execution | None = None
    metric: float | None = None
    rerun_metric: float | None = None
    buggy: bool = False
    failure: str = ""
    review: str = ""
    valid: bool = False
    sha256: str | None = None

    @property
    def good(self) -> bool:
        """Whether it can be improved and submitted."""
        return self.evaluated and not self.buggy


@dataclass(frozen=True)
class Journal:
    """All nodes of a search in the order in which they were chosen; a node's id is its position."""

    direction: Direction
    nodes: tuple[Node, ...] = ()

    def put(self, node: Node) -> "Journal":
        """Return the journal with a node added, or replaced if there is one with the same id."""
        if node.id > len(self.nodes):
            raise ValueError(f"node {node.id} would leave a gap after {len(self.nodes)} nodes")
        return Journal(self.direction, (*self.nodes[: node.id], node, *self.nodes[node.id + 1 :]))

    @cached_property
    def good(self) -> tuple[Node, ...]:
        """All good nodes."""
        return tuple(node for node in self.nodes if node.good)

    @cached_property
    def best(self) -> Node | None:
        """The good node with the best metric; in a tie the oldest."""
        return max(self.good, key=lambda node: (self.value(node), -node.id), default=None)

    @cached_property
    def drafts(self) -> tuple[Node, ...]:
        """All nodes that were written from scratch."""
        return tuple(node for node in self.nodes if node.operator == "draft")

    def value(self, node: Node) -> float:
        """Return the value of a good node, higher being better: its metric, or the mean of both if it was rerun."""
        assert node.metric is not None
        metric = node.metric if node.rerun_metric is None else (node.metric + node.rerun_metric) / 2
        return metric if self.direction == "higher" else -metric

    def children(self, node: Node) -> tuple[Node, ...]:
        """Return the nodes that were made from a node."""
        return self._children.get(node.id, ())

    def fix_chain(self, node: Node) -> tuple[Node, ...]:
        """Return the consecutive fixes that led to a node, starting with the node that was first fixed."""
        chain = [node]
        while chain[-1].operator == "debug":
            chain.append(self.nodes[chain[-1].parents[0]])
        return tuple(reversed(chain))

    def open_bugs(self, max_debug_depth: int) -> tuple[Node, ...]:
        """Return the buggy nodes without a fix that result from fewer than `max_debug_depth` consecutive fixes."""
        return tuple(
            node
            for node in self.nodes
            if node.evaluated and node.buggy and node.code and not self.children(node)
            if len(self.fix_chain(node)) - 1 < max_debug_depth
        )

    @cached_property
    def _children(self) -> dict[int, tuple[Node, ...]]:
        children: dict[int, tuple[Node, ...]] = {}
        for node in self.nodes:
            for parent in node.parents:
                children[parent] = (*children.get(parent, ()), node)
        return children


def read_journal(events: Iterable[Event], direction: Direction) -> Journal:
    """Return the journal of a trial from its log; what was repeated after an interruption counts once.

    The log may be untrusted: `RecordError` if what it says of nodes is not a search. Nodes after one that is not in
    the log yet are left out.
    """
    nodes: dict[int, Node] = {}
    for event in events:
        match event:
            case Restarted():
                nodes = {}
            case CallStarted(request=NoteRequest(topic=topic, data=data)) if topic == NODE_NOTE:
                try:
                    node = Node.model_validate(data.get("node"))
                except ValidationError as error:
                    reason = one_line(describe_validation_error(error))
                    raise RecordError(f"event {event.number} does not contain a node: {reason}") from None
                if not all(0 <= parent < node.id for parent in node.parents):
                    raise RecordError(f"event {event.number}: node {node.id} cannot have the parents {node.parents}")
                nodes[node.id] = node
    known = takewhile(lambda id: id in nodes, count())
    return Journal(direction, tuple(nodes[id] for id in known))


def find_submissions(events: Iterable[Event]) -> list[tuple[int, str]]:
    """Return the valid submissions of all nodes of a trial: the number of the event that has it, and its SHA-256."""
    found = []
    for event in events:
        match event:
            case CallStarted(request=NoteRequest(topic=topic, data=data)) if topic == NODE_NOTE:
                node = data.get("node")
                if isinstance(node, dict) and node.get("valid") is True and isinstance(node.get("sha256"), str):
                    found.append((event.number, node["sha256"]))
    return found
