"""Log loss with weights."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.grading.metrics import metric


@metric("weighted multi-label log loss", "lower", depends_on="probabilities", range=(0, math.inf))
def weighted_multilabel_log_loss(
    truth: NDArray[Any],
    prediction: NDArray[Any],
    *,
    negative_weight: ArrayLike,
    positive_weight: ArrayLike,
    groups: NDArray[Any] | None = None,
    kinds: NDArray[Any] | None = None,
    heavy_kind: str = "",
    heavy_factor: float = 1.0,
    epsilon: float = 1e-15,
) -> float:
    """The mean over groups of the group's weighted log loss: `sum(w loss) / sum(w)`.

    Each number is one yes-or-no question: truth 0/1, prediction the probability of 1, kept within
    `[epsilon, 1 - epsilon]`. Its weight is `positive_weight` where the answer is 1 and `negative_weight` where it is 0;
    both are single numbers or arrays that fit truth, as one number per column. Where `kinds` names the kind of each
    row, those of `heavy_kind` weigh `heavy_factor` times as much. A group is a row, or, where `groups` names the group
    of each row, all rows of that name. NaN for no rows.

    In rsna-2022-cervical-spine-fracture-detection a group is a study, with weights 14 (positive) and 7 (negative) for
    patient_overall and 2 and 1 for each vertebra.
    """
    if len(truth) == 0:
        return float("nan")
    positive = truth.astype(bool)
    kept = np.clip(prediction, epsilon, 1 - epsilon)  # 1 minus it is not quite epsilon where the prediction is 1
    loss = -np.log(np.where(positive, kept, 1 - kept))
    weight = np.where(positive, positive_weight, negative_weight)
    if kinds is not None:
        weight = weight * np.where(kinds == heavy_kind, heavy_factor, 1.0)
    row_group = np.arange(len(truth)) if groups is None else np.unique(groups, return_inverse=True)[1]
    group = np.repeat(row_group, loss[0].size)
    by_group = np.bincount(group, (weight * loss).ravel()) / np.bincount(group, weight.ravel())
    return float(np.mean(by_group))
