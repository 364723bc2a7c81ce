"""Tasks as environments for training and search: `LabEnv` and `LabVectorEnv` for Gymnasium, on sealed labs.

Actions are a tool with a text: `bash("ls data")`, `python("print(1)")`, `edit("train.py", code)`, `submit()`. What is
paid for them says `Rewards`; the score on the test rows is told and paid at the end of an episode only.
"""

from assay.gym.environment import LabEnv, LabVectorEnv
from assay.gym.episode import Action, bash, edit, python, submit
from assay.gym.rewards import Rewards
from assay.gym.worlds import World, make_worlds

__all__ = ["Action", "LabEnv", "LabVectorEnv", "Rewards", "World", "bash", "edit", "make_worlds", "python", "submit"]
