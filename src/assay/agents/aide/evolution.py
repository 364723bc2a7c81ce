"""Evolution of solutions, as AIRA describes it, on one island: generations whose parents are drawn by their metric."""

import math
from random import Random

from assay.agents.aide.journal import Choice, Journal, Node
from assay.agents.aide.settings import Rules


def evolution(journal: Journal, random: Random, rules: Rules) -> Choice:
    """A generation of drafts, then generations of improvements and, later on, of merged pairs of parents.

    What is broken is fixed at once; fixes do not count in the size of a generation.
    """
    if broken := journal.open_bugs(rules.max_debug_depth):
        return Choice("debug", (broken[0].id,))
    generation = sum(node.operator != "debug" for node in journal.nodes) // rules.population
    pool = _pool(journal, rules.pool)
    if generation == 0 or not pool:
        return Choice("draft")
    merged = generation >= rules.crossover_from and len(pool) > 1 and random.random() < rules.crossover_prob
    first = _drawn(journal, pool, random, rules.temperature)
    if not merged:
        return Choice("improve", (first.id,))
    second = _drawn(journal, [node for node in pool if node is not first], random, rules.temperature)
    return Choice("crossover", (first.id, second.id))


def _pool(journal: Journal, most: int) -> list[Node]:
    """Those that may become parents: all good drafts, and what was no worse than the average of the pool it joined."""
    pool: list[Node] = []
    for node in journal.good:
        average = sum(map(journal.value, pool)) / len(pool) if pool else -math.inf
        if journal.chain(node)[0].operator == "draft" or journal.value(node) >= average:
            pool.append(node)
        if len(pool) > most:
            pool.remove(min(pool, key=journal.value))
    return pool


def _drawn(journal: Journal, pool: list[Node], random: Random, temperature: float) -> Node:
    """One of them, with a chance that grows with its metric: a softmax over metrics between 0 and 1."""
    values = list(map(journal.value, pool))
    worst, spread = min(values), max(values) - min(values)
    weights = [math.exp((value - worst) / spread / temperature) if spread else 1.0 for value in values]
    return random.choices(pool, weights)[0]
