"""The settings of search policies."""

from typing import Literal

from pydantic import Field as Setting

from assay.agents.agent import Settings

PolicyName = Literal["greedy", "mcts", "evolution", "random"]


class Rules(Settings):
    """How a search chooses what to try next. Each policy reads those settings that concern it."""

    policy: PolicyName = Setting("greedy", description="how the next node is chosen: greedy, mcts, evolution or random")
    drafts: int = Setting(5, ge=1, description="greedy, random: solutions begun from nothing before any is improved")
    debug_prob: float = Setting(
        0.5, ge=0, le=1, description="greedy, random: how often a broken node is fixed first, if there is one"
    )
    max_debug_depth: int = Setting(
        3, ge=0, description="a node to which more fixes in a row than this have led is given up"
    )
    width: int = Setting(5, ge=1, description="mcts: children of a node before one of them is gone into")
    exploration: float = Setting(0.25, ge=0, description="mcts: weight of what was visited little against what is good")
    population: int = Setting(5, ge=1, description="evolution: nodes in a generation")
    crossover_prob: float = Setting(
        0.5, ge=0, le=1, description="evolution: how often two parents are merged instead of one improved"
    )
    crossover_from: int = Setting(
        2, ge=1, description="evolution: the first generation with two parents, the drafts being 0"
    )
    pool: int = Setting(20, ge=1, description="evolution: nodes that may become parents, at the most")
    temperature: float = Setting(1.0, ge=0.01, description="evolution: the higher, the less a parent's metric matters")
