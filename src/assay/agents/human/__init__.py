"""The human baseline: a person at a terminal inside the lab, under the same budget and in the same record as any agent.

Start with `agent.py`. `session.py` connects the person's terminal (`terminal.py`) to a shell in the lab, which is run
there by `human_shell.py`.
"""

from assay.agents.human.agent import Human

__all__ = ["Human"]
