"""A search without a model that picks badly: random or greedy pipelines, validated on a few rows.

`agent.py` is the agent; `sample.py` is the script that trains the pipelines, inside the lab.
"""

from assay.agents.sampler.agent import Sampler

__all__ = ["Sampler"]
