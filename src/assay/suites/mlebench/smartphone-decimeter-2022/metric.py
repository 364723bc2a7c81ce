"""Distances on the ground."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.grading.metrics import metric
from assay.grading.metrics.combine import mean_over_groups


@metric(
    "mean of the 50th and 95th percentile distance errors, in meters", "lower", depends_on="values", range=(0, math.inf)
)
def haversine_p50_p95(
    truth: NDArray[Any],
    prediction: NDArray[Any],
    *,
    groups: NDArray[Any],
    submission_rows: NDArray[Any] | None = None,
    earth_radius: float = 6_371_000.0,
) -> float:
    """The mean of the median and the 95th percentile of distances in meters in each group, averaged over groups.

    NaN for no rows, and where a coordinate is not finite.

    Columns are latitude and longitude in degrees. The distance is the great-circle one, by the haversine formula;
    percentiles between two rows are interpolated linearly. A group is one trip of one phone.

    The published grader of smartphone-decimeter-2022 ignores time: inside a trip it pairs the first true row with the
    first submitted one, and so on. Pass `submission_rows`, the place in the submission of each row, to get that number.
    """
    if submission_rows is not None:
        _, group = np.unique(groups, return_inverse=True)
        prediction, paired = np.empty_like(prediction), prediction
        prediction[np.argsort(group, kind="stable")] = paired[np.lexsort((submission_rows, group))]

    def mean_of_percentiles(true: NDArray[Any], predicted: NDArray[Any]) -> float:
        return float(np.quantile(_distance_on_sphere(true, predicted), [0.5, 0.95]).mean()) * earth_radius

    return mean_over_groups(mean_of_percentiles, groups, truth, prediction)


def _distance_on_sphere(start: NDArray[Any], end: NDArray[Any]) -> NDArray[Any]:
    """The angles in radians between points given as columns latitude and longitude in degrees.

    NaN where latitudes are so far beyond the poles that the formula has no value, as in the published grader.
    """
    (latitude, longitude), (end_latitude, end_longitude) = np.radians(start).T, np.radians(end).T
    with np.errstate(invalid="ignore"):
        north, east = np.sin((end_latitude - latitude) / 2) ** 2, np.sin((end_longitude - longitude) / 2) ** 2
        chord = north + np.cos(latitude) * np.cos(end_latitude) * east
        angle: NDArray[Any] = 2 * np.arcsin(np.sqrt(chord))
    return angle
