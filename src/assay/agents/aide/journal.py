"""What the search of `aide` reads from its journal of nodes besides what every journal has."""

from dataclasses import dataclass
from typing import Literal

from assay.records import Journal
from assay.records.events import SearchNode

Operator = Literal["draft", "debug", "improve", "crossover", "ablate", "refine"]
"""`ablate` measures what each part of a good solution contributes, and `refine` changes the part that matters most:
its parents are the solution and the measurement."""


@dataclass(frozen=True)
class Choice:
    """What to try next, and from which parent nodes."""

    operator: Operator
    parents: tuple[int, ...] = ()


def find_drafts(journal: Journal) -> tuple[SearchNode, ...]:
    """Return all nodes that were written from scratch."""
    return tuple(node for node in journal.nodes if node.operator == "draft")


def fix_chain(journal: Journal, node: SearchNode) -> tuple[SearchNode, ...]:
    """Return the consecutive fixes that led to a node, starting with the node that was first fixed."""
    chain = [node]
    while chain[-1].operator == "debug":
        chain.append(journal.nodes[chain[-1].parents[0]])
    return tuple(reversed(chain))


def open_bugs(journal: Journal, max_debug_depth: int, max_debug_seconds: float | None = None) -> tuple[SearchNode, ...]:
    """Return the buggy nodes without a fix that result from fewer than `max_debug_depth` consecutive fixes.

    Nodes are excluded if they and the fixes that led to them ran for more than `max_debug_seconds`.
    """
    fixable = (node for node in journal.nodes if node.buggy and node.code and node.operator != "ablate")
    candidates = (node for node in fixable if not journal.children(node))
    chains = {node.id: fix_chain(journal, node) for node in candidates}
    return tuple(
        chain[-1]
        for chain in chains.values()
        if len(chain) - 1 < max_debug_depth
        if max_debug_seconds is None
        or sum(node.execution.seconds for node in chain if node.execution) <= max_debug_seconds
    )
