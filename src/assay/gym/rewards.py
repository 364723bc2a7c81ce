"""Rewards: what is paid for a step, in parts that can be switched on and off."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rewards:
    """Weights of what an episode pays; a weight of 0 switches a part off. Only `score` is on by default.

    Attributes:
        score: Paid once, at the end: where the score on the test rows lies between that of the sample submission or the
            starter (0) and that of the gold medal, the answers or the best reference solution (1), within these.
        valid: Paid once, after the first step with a submission that passes the public format check.
        validation: Paid after each step: how much the best position so far, on the same scale, has grown on rows that
            are split off the training data and whose labels no lab has. It never depends on the test rows.
        step: Paid after each step; below 0, it is a price.
        failure: Paid after each command that fails; below 0, it is a price.
    """

    score: float = 1.0
    valid: float = 0.0
    validation: float = 0.0
    step: float = 0.0
    failure: float = 0.0


DEFAULT = Rewards()
