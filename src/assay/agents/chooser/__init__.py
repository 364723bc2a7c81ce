"""An agent whose every decision is a choice from a list: pipeline, parameter, value, keep or revert.

`agent.py` is its control flow, `choices.py` asks a model or draws at random, `pipelines.py` lists what can be chosen,
and `evaluate.py` is the script that runs in the lab, with the features and the estimators of `automl`.
"""

from assay.agents.chooser.agent import Chooser

__all__ = ["Chooser"]
