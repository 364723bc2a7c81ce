"""The noise of a test set: how much a score would differ on other test rows like these.

The rows, or the units that they were sampled in (images, patients, queries), are divided at random into blocks, and the
metric is computed once more without each of them: a delete-a-group jackknife, which works for every metric that is a
function of rows. Submissions of a task have the same blocks, so that the noise of a difference is that of the
differences by block. The cost is bounded: of a large test set, a sample of the rows is divided, and the error is scaled
by the root of their share.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InvalidSubmission
from assay.grading.metrics import DependsOn, MetricFunction, evaluate
from assay.grading.result import TestNoise
from assay.tasks import Task

_MIN_BLOCKS = 8
_MIN_UNITS = 128
_MAX_BLOCKS = 40  # the error has itself an error of 1 / √78, 11%
_MAX_ROWS = 4096
_MAX_SLOW_BLOCKS = 16
_MAX_SLOW_ROWS = 256
_ROUNDING = 1e-9
_FAST: tuple[DependsOn, ...] = ("values", "probabilities", "order", "labels")
"""What metrics depend on whose rows are elements of arrays; those of others are parsed one by one."""

Indexes = NDArray[np.int64]


@dataclass(frozen=True)
class ScoredRows:
    """What a metric compares: true and predicted rows, its parameters, and the unit that each row was sampled in."""

    truth: NDArray[Any]
    prediction: NDArray[Any]
    params: Mapping[str, Any]
    units: NDArray[Any] | None = None
    positions: str | None = None

    def take(self, rows: Indexes) -> "ScoredRows":
        """Return some of the rows; parameters with a value per row are reduced with them."""
        params = {key: self._take(key, value, rows) for key, value in self.params.items()}
        units = None if self.units is None else self.units[rows]
        return ScoredRows(self.truth[rows], self.prediction[rows], params, units, self.positions)

    def _take(self, key: str, value: Any, rows: Indexes) -> Any:
        if not isinstance(value, np.ndarray) or len(value) != len(self.truth):
            return value
        # Positions in the file stay a permutation.
        return np.argsort(np.argsort(value[rows])) if key == self.positions else value[rows]


def measure_noise(task: Task, function: MetricFunction, rows: ScoredRows) -> TestNoise:
    """Return the sampling error of a score, by leaving out one block of test rows after the other."""
    fast = function.depends_on in _FAST
    sample, scale = _sample_rows(rows.units, len(rows.truth), _MAX_ROWS if fast else _MAX_SLOW_ROWS, _seed(task))
    sampled = rows if len(sample) == len(rows.truth) else rows.take(sample)
    blocks = _divide(sampled.units, len(sample), _MAX_BLOCKS if fast else _MAX_SLOW_BLOCKS, _seed(task))
    if len(blocks) < _MIN_BLOCKS:
        return TestNoise(rows=len(sample), why=f"the test set has only {len(blocks)} independent parts")
    try:
        whole = evaluate(function, sampled.truth, sampled.prediction, sampled.params)
        without = np.array([_score_without(function, sampled, block) for block in blocks])
    except InvalidSubmission:
        return TestNoise(rows=len(sample), why="the metric has no value on a part of the test rows")
    if not (math.isfinite(whole) and np.isfinite(without).all()):
        return TestNoise(rows=len(sample), why="the metric has no finite value on a part of the test rows")
    return _estimate(whole, without, [len(block) for block in blocks], scale, _name_rows(sample, blocks))


def _seed(task: Task) -> int:
    return int.from_bytes(hashlib.sha256(task.id.encode()).digest()[:8])


def _sample_rows(units: NDArray[Any] | None, count: int, limit: int, seed: int) -> tuple[Indexes, float]:
    """Return the rows that are divided, and what the error is multiplied by because they are not all.

    Of a few large units, a part of the rows of each is taken. That adds noise, so the error is rather too large.
    """
    random = np.random.default_rng(seed)
    everything = np.arange(count)
    if count <= limit:
        return everything, 1.0
    if units is None:
        return np.sort(random.choice(count, limit, replace=False, shuffle=False)), math.sqrt(limit / count)
    names = np.unique(units)
    size = min(len(names), max(_MIN_UNITS, len(names) * limit // count))
    chosen = random.choice(names, size, replace=False)
    kept = everything if size == len(names) else everything[np.isin(units, chosen)]
    return kept[:: max(1, len(kept) // limit)], math.sqrt(size / len(names))


def _divide(units: NDArray[Any] | None, count: int, limit: int, seed: int) -> list[Indexes]:
    """Return the rows of each block; rows of a unit are in the same block."""
    numbers = np.arange(count) if units is None else np.unique(units, return_inverse=True)[1]
    distinct = int(numbers.max()) + 1
    order = np.random.default_rng(seed + 1).permutation(distinct)
    block = order[numbers] % min(limit, distinct)
    return [np.flatnonzero(block == number) for number in range(min(limit, distinct))]


def _score_without(function: MetricFunction, rows: ScoredRows, block: Indexes) -> float:
    rest = rows.take(np.delete(np.arange(len(rows.truth)), block))
    return evaluate(function, rest.truth, rest.prediction, rest.params)


def _estimate(whole: float, without: NDArray[np.float64], sizes: Sequence[int], scale: float, key: str) -> TestNoise:
    """Return the error by the jackknife for blocks of unequal size (Busing, Meijer and Van der Leeden, 1999).

    With h = n / size of a block, its pseudo-value is h · score − (h − 1) · score without it. Their deviations from the
    mean are weighted so that the error is √(Σ d² / (G (G − 1))), as for G blocks of equal size.
    """
    count, share = len(without), sum(sizes) / np.array(sizes)
    pseudo = share * whole - (share - 1) * without
    deviations = (pseudo - pseudo.mean()) * np.sqrt((count - 1) / (share - 1)) * scale
    if np.abs(deviations).max() <= _ROUNDING * max(1.0, abs(whole)):
        return TestNoise(rows=sum(sizes), why="the score is the same whichever test rows are left out")
    rounded = tuple(float(f"{value:.5g}") for value in deviations)
    return TestNoise(rows=sum(sizes), key=key, deviations=rounded, error=combine_deviations(rounded))


def combine_deviations(deviations: Sequence[float]) -> float:
    """Return the standard error that deviations of blocks amount to."""
    return float(f"{math.hypot(*deviations) / math.sqrt(len(deviations) * (len(deviations) - 1)):.5g}")


def average_noise(noises: Sequence[TestNoise | None]) -> TestNoise | None:
    """Return the noise of the mean of scores on the same test rows; None unless it is known for all of them."""
    known = [noise for noise in noises if noise is not None and noise.error is not None]
    if not known or len(known) < len(noises):
        return None
    blocks = {(noise.key, len(noise.deviations)) for noise in known}
    if len(blocks) > 1 or len(known[0].deviations) < 2:  # at most, because the parts that they share may cancel out
        return TestNoise(error=sum(noise.error or 0.0 for noise in known) / len(known), rows=known[0].rows)
    mean = tuple(float(value) for value in np.mean([noise.deviations for noise in known], axis=0))
    return TestNoise(error=combine_deviations(mean), rows=known[0].rows, key=known[0].key, deviations=mean)


def difference_error(first: TestNoise | None, second: TestNoise | None) -> float | None:
    """Return the standard error that test rows give to the difference of two scores; None if it is not known.

    Where both were scored on the same rows, noise that they have in common cancels out.
    """
    if first is None or second is None or first.error is None or second.error is None:
        return None
    if not first.key or first.key != second.key or len(first.deviations) != len(second.deviations):
        return math.hypot(first.error, second.error)
    return combine_deviations([a - b for a, b in zip(first.deviations, second.deviations, strict=True)])


def score_halves(score: float, noise: TestNoise | None) -> tuple[float, float]:
    """Return the score on each half of the test rows, as far as its blocks tell; the score twice if they do not.

    Both halves have the noise of as many rows, and it is independent: what was chosen by one half is scored fairly by
    the other.
    """
    deviations = noise.deviations if noise else ()
    if not deviations:
        return score, score
    first, second = (float(np.mean(deviations[half::2])) for half in (0, 1))
    return score + (first - second) / 2, score + (second - first) / 2


def _name_rows(sample: Indexes, blocks: Sequence[Indexes]) -> str:
    """Return what identifies rows and blocks, so that only deviations of the same ones are subtracted."""
    digest = hashlib.sha256(sample.astype("<i8").tobytes())
    for block in blocks:
        digest.update(block.astype("<i8").tobytes() + b"|")
    return digest.hexdigest()[:16]
