"""Tree search over complete scripts, as in AIDE and AIRA.

Start with `agent.py`, the search loop. `assay.records.search` has the journal that holds the search,
`policies.py` decides what to try next, `operators.py` and `draft.py` prompt the model for a script, `execute.py` runs
it in the lab, and `review.py` optionally has a model review its output.
"""

from assay.agents.aide.agent import Aide
from assay.agents.aide.journal import Choice
from assay.agents.aide.policies import POLICIES, Policy, PolicySettings

__all__ = [
    "POLICIES",
    "Aide",
    "Choice",
    "Policy",
    "PolicySettings",
]
