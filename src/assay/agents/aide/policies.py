"""Search policies by name: what to try next, as a pure function of the journal, a random state and the rules.

Nodes that are being tried at the moment are in the journal too, unsettled, so that several can be chosen one after the
other and then tried side by side. A policy of one's own goes into this table.
"""

from collections.abc import Callable, Mapping
from random import Random

from assay.agents.aide.evolution import evolution
from assay.agents.aide.greedy import greedy, uniform
from assay.agents.aide.journal import Choice, Journal
from assay.agents.aide.mcts import mcts
from assay.agents.aide.settings import PolicyName, Rules

Policy = Callable[[Journal, Random, Rules], Choice]

POLICIES: Mapping[PolicyName, Policy] = {"greedy": greedy, "mcts": mcts, "evolution": evolution, "random": uniform}
