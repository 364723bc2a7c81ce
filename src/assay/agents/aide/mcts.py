"""Monte Carlo tree search over solutions, as AIRA describes it: no roll-outs, the value of a node is its own metric."""

import math
from random import Random

from assay.agents.aide.journal import Choice, Journal, Node
from assay.agents.aide.settings import Rules


def mcts(journal: Journal, random: Random, rules: Rules) -> Choice:
    """What is broken is fixed at once; a node whose children are begun gets all of them; else down the tree by UCT.

    The root's children are drafts, those of a good node its improvements. A child that is broken stands for what its
    fixes lead to; one that was given up is dead, and one that is still being tried cannot be gone into.
    """
    if broken := journal.open_bugs(rules.max_debug_depth):
        return Choice("debug", (broken[0].id,))
    for place in (None, *journal.good):
        if 0 < len(_attempts(journal, place)) < rules.width:
            return _expand(place)
    bounds = _bounds(journal)
    place = None
    while len(attempts := _attempts(journal, place)) >= rules.width:
        alive = {attempt.id: reached for attempt in attempts if (reached := _reached(journal, attempt))}
        if not alive:
            break
        visits = sum(_visits(journal, attempt) for attempt in attempts) + (place is not None)
        place = alive[max(alive, key=lambda id: (_uct(journal, id, visits, bounds, rules.exploration), -id))]
    return _expand(place)


def _attempts(journal: Journal, place: Node | None) -> tuple[Node, ...]:
    """What was begun from a place in the tree: the root, or a good node."""
    return journal.drafts if place is None else journal.children(place)


def _expand(place: Node | None) -> Choice:
    return Choice("draft") if place is None else Choice("improve", (place.id,))


def _reached(journal: Journal, attempt: Node) -> Node | None:
    """The good node that an attempt led to, by itself or through fixes; None while it is tried, or when it is dead."""
    node = attempt
    while node.buggy and (fixes := journal.children(node)):
        node = fixes[0]
    return node if node.good else None


def _uct(journal: Journal, id: int, parent_visits: int, bounds: tuple[float, float], exploration: float) -> float:
    below = _below(journal, journal.nodes[id])
    worst, best = bounds
    values = [journal.value(node) if node.good else worst for node in below if node.good or not node.settled]
    mean = (sum(values) / len(values) - worst) / (best - worst) if best > worst else 0.0
    return mean + exploration * math.sqrt(math.log(parent_visits) / len(values))


def _visits(journal: Journal, attempt: Node) -> int:
    """How often something below was tried with success, or is being tried now.

    What is being tried counts as a visit that came to the worst: a virtual loss, so that nodes chosen side by side
    do not all go the same way.
    """
    return sum(node.good or not node.settled for node in _below(journal, attempt))


def _below(journal: Journal, node: Node) -> list[Node]:
    found, waiting = [], [node]
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting += journal.children(node)
    return found


def _bounds(journal: Journal) -> tuple[float, float]:
    values = [journal.value(node) for node in journal.good]
    return (min(values), max(values)) if values else (0.0, 0.0)
