"""Dice's coefficient of all images as one."""

from collections.abc import Sequence

from assay.core.errors import InvalidSubmission
from assay.formats import Mask
from assay.grading.metrics import metric, segmentation


@metric("Dice coefficient over all pixels", "higher", depends_on="masks")
def global_dice(truth: Sequence[Mask], prediction: Sequence[Mask], *, one_size: bool = False) -> float:
    """As `segmentation.global_dice`; with `one_size`, the published grader's need of images of one size."""
    if one_size and len({(mask.height, mask.width) for mask in truth}) > 1:
        raise InvalidSubmission("the images have different sizes, so their masks cannot be compared as one array.")
    return segmentation.global_dice(truth, prediction)
