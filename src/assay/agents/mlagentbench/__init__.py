"""MLAgentBench's agents: `research`, and its ablations `react` and `act`, with the paper's actions.

Start with `base.py`, the loop that all three share. `actions/` contains the published actions; `text_protocol.py` and
`tool_protocol.py` read them from replies.
"""

from assay.agents.mlagentbench.act import Act
from assay.agents.mlagentbench.react import React
from assay.agents.mlagentbench.research import Research

__all__ = ["Act", "React", "Research"]
