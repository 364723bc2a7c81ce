"""Metrics by name. Each is a pure function of arrays: `metric(truth, prediction, **params) -> float`.

A metric takes arrays of equal shape, truth first: one row per graded row, and a second axis where a task has several
target columns. It returns NaN where its formula has no value. Modules are imported when one of their metrics is used.
"""

import importlib
from collections.abc import Mapping
from typing import Any, Protocol, cast

from numpy.typing import NDArray

from assay.core.errors import UsageError
from assay.core.text import did_you_mean

_FAMILIES = {
    "classification": (
        "accuracy", "argmax_accuracy", "log_loss", "macro_f1", "matthews_corrcoef", "micro_f1_single_label",
        "quadratic_weighted_kappa", "roc_auc", "top1_error",
    ),
    "detection": ("coco_map_iou40", "map_3d_iou", "map_iou50_siim", "point_in_box_f1"),
    "multilabel": ("fathomnet_score", "map_at_k", "multilabel_mean_f1", "multilabel_micro_f1"),
    "probability": ("kl_divergence", "probabilistic_f1", "weighted_multilabel_log_loss"),
    "ranking": ("jigsaw_bias_auc", "label_weighted_lrap", "mean_column_roc_auc", "weighted_roc_auc"),
    "regression": (
        "grouped_log_mae", "haversine_p50_p95", "laplace_log_likelihood", "mae", "mcrmse", "mean_angular_error",
        "mean_column_rmsle", "mean_column_spearman", "pearson", "rmse", "rmsle", "smape",
    ),
    "segmentation": ("dice_hausdorff", "fbeta_pixel", "global_dice", "mean_dice", "mean_iou_precision"),
    "sequence": ("kendall_tau_pooled", "normalized_edit_distance"),
    "text": ("bits_per_byte", "mean_levenshtein", "mean_word_jaccard", "nq_micro_f1", "perplexity"),
}  # fmt: skip
_FAMILY_OF = {name: family for family, names in _FAMILIES.items() for name in names}


class MetricFunction(Protocol):
    """The signature that all metrics share."""

    def __call__(self, truth: NDArray[Any], prediction: NDArray[Any], **params: Any) -> float: ...


def evaluate(name: str, truth: NDArray[Any], prediction: NDArray[Any], params: Mapping[str, Any]) -> float:
    """Return the score of `prediction` by the metric called `name`."""
    if truth.shape != prediction.shape:
        # Broadcasting would turn this bug into a plausible number.
        raise ValueError(f"truth has shape {truth.shape}, prediction {prediction.shape}")
    return float(metric(name)(truth, prediction, **params))


def metric(name: str) -> MetricFunction:
    """Return the metric called `name`."""
    if name not in _FAMILY_OF:
        raise UsageError(f"no metric is called {name!r}; {did_you_mean(name, names())}")
    family = importlib.import_module(f"{__name__}.{_FAMILY_OF[name]}")
    return cast(MetricFunction, getattr(family, name))


def names() -> list[str]:
    """Return the names of all metrics."""
    return sorted(_FAMILY_OF)
