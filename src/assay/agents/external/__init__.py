"""Any command-line agent inside the lab, with a metered model endpoint over a unix socket.

Start with `agent.py`. `runner.py` runs the agent's command in the lab through `relay.py`, and `endpoint.py` answers its
model requests in the formats of `protocols/`. `profiles/` describes how known agents are run.
"""

from assay.agents.external.agent import External

__all__ = ["External"]
