"""The baseline that needs no model: a time-limited search over standard pipelines with FLAML.

`agent.py` starts the search in the lab; `search.py` is the script that runs there.
"""

from assay.agents.automl.agent import AutoML

__all__ = ["AutoML"]
