"""Search policies: what to try next, as a pure function of the journal, a random state and the settings.

Nodes that are still being evaluated are in the journal too, so several can be chosen one after another and evaluated in
parallel. A policy of your own is such a function in a file, named as `path.py:function`, or registered under the
entry-point group `assay.policies`.
"""

import math
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from assay.agents.agent import Settings
from assay.agents.aide.journal import Choice, find_drafts, fix_chain, open_bugs
from assay.core.disk import hash_file
from assay.core.plugins import Plugins, split_path
from assay.core.quantities import Seconds
from assay.records import Journal
from assay.records.events import SearchNode


class PolicySettings(Settings):
    """Settings of the search policies; each policy reads those that concern it."""

    rules: Literal["default", "published"] = Field(
        "default", description="published: AIDE as MLE-bench ran it: its prompts, decisions and working folder"
    )
    policy: str = Field(
        "greedy",
        description="greedy, mcts, evolution, restarts, ablation or random, or your own: path.py:function",
    )
    policy_hash: str = Field("", description="hash of the file of a policy of your own when the trial was planned")
    drafts: int = Field(5, ge=1, description="greedy, random: solutions drafted from scratch before any is improved")
    debug_prob: float = Field(
        0.5, ge=0, le=1, description="greedy, random: probability of debugging a buggy node, if there is one"
    )
    max_debug_depth: int = Field(
        3,
        ge=0,
        description="consecutive fixes that are tried before a node is abandoned; greedy under the published rules "
        "tries one more",
    )
    max_debug_seconds: Seconds | None = Field(
        None, description="mcts, evolution: running time of a node and its fixes after which no other fix is tried"
    )
    width: int = Field(5, ge=1, description="mcts: children to expand before descending")
    exploration: float = Field(0.25, ge=0, description="mcts: exploration weight in UCT")
    population: int = Field(5, ge=1, description="evolution: nodes per generation")
    crossover_prob: float = Field(
        0.5, ge=0, le=1, description="evolution: probability of crossing over two parents instead of improving one"
    )
    crossover_from: int = Field(
        2, ge=1, description="evolution: first generation with crossover; the drafts are generation 0"
    )
    max_pool: int = Field(20, ge=1, description="evolution: max nodes that can become parents")
    temperature: float = Field(1.0, ge=0.01, description="evolution: softmax temperature of parent selection")
    patience: int = Field(
        5,
        ge=1,
        description="restarts: improvements without a gain after which it drafts again; ablation: refinements after "
        "which it measures again what matters",
    )
    final_share: float = Field(
        0.3,
        ge=0,
        le=1,
        description="share of the steps at the end in which restarts improves the best solution, and ablation combines "
        "the best two",
    )

    @model_validator(mode="before")
    @classmethod
    def _pin_policy(cls, settings: Any) -> Any:
        """Record the hash of a policy's file: a trial that is resumed must be the one that was planned."""
        file = split_path(str(settings.get("policy", ""))) if isinstance(settings, dict) else None
        if file is None:
            return settings
        digest = hash_file(Path(file[0]))[:16] if Path(file[0]).is_file() else ""
        if settings.get("policy_hash", digest) not in ("", digest):
            raise ValueError(f"the policy {settings['policy']} has changed since the trial was planned")
        return {**settings, "policy_hash": digest}

    @field_validator("policy")
    @classmethod
    def _check_policy(cls, name: str) -> str:
        if split_path(name) is None and name not in POLICIES.names():
            raise ValueError(f"unknown policy {name!r}; choose from: {', '.join(POLICIES.names())}, path.py:function")
        return name


Policy = Callable[[Journal, Random, PolicySettings], Choice]
POLICIES = Plugins[Policy]("policies", "search policy")


def greedy(journal: Journal, random: Random, settings: PolicySettings) -> Choice:
    """AIDE's policy: draft a few solutions, sometimes debug a buggy one, and otherwise improve the best."""
    if choice := _draft_or_debug(journal, random, settings):
        return choice
    assert journal.best is not None
    return Choice("improve", (journal.best.id,))


def uniform(journal: Journal, random: Random, settings: PolicySettings) -> Choice:
    """The control: like `greedy`, but improve any good node instead of the best."""
    if choice := _draft_or_debug(journal, random, settings):
        return choice
    return Choice("improve", (random.choice(journal.good).id,))


def restarts(journal: Journal, random: Random, settings: PolicySettings) -> Choice:
    """Greedy search in lines: a line that stops gaining is left for a new draft; at the end, the best one is improved.

    A line is a draft beyond the first few and what follows from it. How much of the budget is used decides when there
    is no time for another one.
    """
    if choice := _draft_or_debug(journal, random, settings):
        return choice
    assert journal.best is not None
    if journal.spent >= 1 - settings.final_share:
        return Choice("improve", (journal.best.id,))
    start = find_drafts(journal)[-1].id if len(find_drafts(journal)) > settings.drafts else 0
    line = [node for node in journal.good if node.id >= start]
    if not line:
        return Choice("improve", (journal.best.id,))
    best = max(line, key=lambda node: (journal.value(node), -node.id))
    tries = sum(node.operator == "improve" and node.id > best.id for node in journal.nodes)
    return Choice("draft") if tries >= settings.patience else Choice("improve", (best.id,))


def ablation(journal: Journal, random: Random, settings: PolicySettings) -> Choice:
    """MLE-STAR's refinement: measure what the parts of the best solution contribute, and change what matters most.

    A measurement serves for several refinements, all of the best solution so far, and then there is another one. At the
    end, the best two solutions are combined.
    """
    if choice := _draft_or_debug(journal, random, settings):
        return choice
    assert journal.best is not None
    if journal.spent >= 1 - settings.final_share and len(journal.good) > 1:
        best, second = sorted(journal.good, key=lambda node: (-journal.value(node), node.id))[:2]
        return Choice("crossover", (best.id, second.id))
    ablations = [node for node in journal.nodes if node.operator == "ablate" and not node.buggy]
    if not ablations or len(journal.children(ablations[-1])) >= settings.patience:
        return Choice("ablate", (journal.best.id,))
    if ablations[-1].status == "pending":
        return Choice("improve", (journal.best.id,))
    return Choice("refine", (journal.best.id, ablations[-1].id))


def _draft_or_debug(journal: Journal, random: Random, settings: PolicySettings) -> Choice | None:
    if len(find_drafts(journal)) < settings.drafts:
        return Choice("draft")
    buggy = open_bugs(journal, settings.max_debug_depth + (settings.rules == "published"))
    debugs = random.random() < settings.debug_prob
    if debugs and buggy:
        return Choice("debug", (random.choice(buggy).id,))
    return None if journal.good else Choice("draft")


def mcts(journal: Journal, random: Random, settings: PolicySettings) -> Choice:
    """Monte Carlo tree search as described by AIRA: no roll-outs, the value of a node is its own metric.

    Buggy nodes are debugged at once, and a node that has some children gets all of them; otherwise descend by UCT. The
    root's children are drafts, those of a good node are its improvements. A buggy child stands for what its fixes lead
    to; an abandoned one is dead, and one that is still being evaluated cannot be descended into.
    """
    if buggy := open_bugs(journal, settings.max_debug_depth, settings.max_debug_seconds):
        return Choice("debug", (buggy[0].id,))
    for parent in (None, *journal.good):
        if 0 < len(_attempts(journal, parent)) < settings.width:
            return _expand(parent)
    bounds = _value_bounds(journal)
    parent = None
    while len(attempts := _attempts(journal, parent)) >= settings.width:
        alive = {attempt.id: result for attempt in attempts if (result := _good_result(journal, attempt))}
        if not alive:
            break
        visits = sum(_count_visits(journal, attempt) for attempt in attempts) + (parent is not None)
        scores = {id: _uct(journal, id, visits, bounds, settings.exploration) for id in alive}
        parent = alive[max(alive, key=lambda id: (scores[id], -id))]
    return _expand(parent)


def _attempts(journal: Journal, parent: SearchNode | None) -> tuple[SearchNode, ...]:
    """Return what was started from the root (None) or from a good node."""
    return find_drafts(journal) if parent is None else journal.children(parent)


def _expand(parent: SearchNode | None) -> Choice:
    return Choice("draft") if parent is None else Choice("improve", (parent.id,))


def _good_result(journal: Journal, attempt: SearchNode) -> SearchNode | None:
    """Return the good node that an attempt led to, directly or through fixes; None if pending or dead."""
    node = attempt
    while node.buggy and (fixes := journal.children(node)):
        node = fixes[0]
    return node if node.good else None


def _uct(journal: Journal, id: int, parent_visits: int, bounds: tuple[float, float], exploration: float) -> float:
    worst, best = bounds
    subtree = [node for node in _subtree(journal, journal.nodes[id]) if node.good or node.status == "pending"]
    values = [journal.value(node) if node.good else worst for node in subtree]
    mean = (sum(values) / len(values) - worst) / (best - worst) if best > worst else 0.0
    return mean + exploration * math.sqrt(math.log(parent_visits) / len(values))


def _count_visits(journal: Journal, attempt: SearchNode) -> int:
    """Count the good and pending nodes in the subtree of an attempt.

    A pending node counts as a visit with the worst value (a virtual loss), so that nodes chosen in parallel do not all
    take the same path.
    """
    return sum(node.good or node.status == "pending" for node in _subtree(journal, attempt))


def _subtree(journal: Journal, node: SearchNode) -> list[SearchNode]:
    subtree, stack = [], [node]
    while stack:
        node = stack.pop()
        subtree.append(node)
        stack += journal.children(node)
    return subtree


def _value_bounds(journal: Journal) -> tuple[float, float]:
    values = [journal.value(node) for node in journal.good]
    return (min(values), max(values)) if values else (0.0, 0.0)


def evolution(journal: Journal, random: Random, settings: PolicySettings) -> Choice:
    """Evolutionary search as described by AIRA, on one island: parents are drawn by their metric.

    The first generation consists of drafts, later ones of improvements and, from some point on, crossovers. Buggy nodes
    are debugged at once; fixes do not count towards the size of a generation.
    """
    if buggy := open_bugs(journal, settings.max_debug_depth, settings.max_debug_seconds):
        return Choice("debug", (buggy[0].id,))
    generation = sum(node.operator != "debug" for node in journal.nodes) // settings.population
    pool = _parent_pool(journal, settings.max_pool)
    if generation == 0 or not pool:
        return Choice("draft")
    can_cross = generation >= settings.crossover_from and len(pool) > 1
    crosses = can_cross and random.random() < settings.crossover_prob
    first = _draw_parent(journal, pool, random, settings.temperature)
    if not crosses:
        return Choice("improve", (first.id,))
    others = [node for node in pool if node is not first]
    second = _draw_parent(journal, others, random, settings.temperature)
    return Choice("crossover", (first.id, second.id))


def _parent_pool(journal: Journal, max_size: int) -> list[SearchNode]:
    """Return the candidate parents: good drafts, and nodes at least as good as the pool average when they joined."""
    pool: list[SearchNode] = []
    for node in journal.good:
        average = sum(map(journal.value, pool)) / len(pool) if pool else -math.inf
        if fix_chain(journal, node)[0].operator == "draft" or journal.value(node) >= average:
            pool.append(node)
        if len(pool) > max_size:
            pool.remove(min(pool, key=journal.value))
    return pool


def _draw_parent(journal: Journal, pool: list[SearchNode], random: Random, temperature: float) -> SearchNode:
    """Draw a node by a softmax over metrics scaled to the interval from 0 to 1."""
    values = list(map(journal.value, pool))
    worst, spread = min(values), max(values) - min(values)
    weights = [math.exp((value - worst) / spread / temperature) if spread else 1.0 for value in values]
    return random.choices(pool, weights)[0]
