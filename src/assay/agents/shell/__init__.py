"""The minimal agent: a model issues one bash command after another and sees the whole conversation.

Start with `agent.py`; `bash_protocol.py` reads commands from replies, as tool calls or as text.
"""

from assay.agents.shell.agent import Shell

__all__ = ["Shell"]
