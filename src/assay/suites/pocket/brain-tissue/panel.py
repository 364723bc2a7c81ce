"""Reference solutions, from the weakest to the strongest."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import gaussian_filter, median_filter, sobel
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

SEED = int(os.environ.get("SEED", "0"))
Images = NDArray[np.float64]
Solution = Callable[[Images, Any, Images], Any]
"""Returns the masks of unseen slices."""


def write_submission(solution: Solution) -> None:
    names = sorted(path.name for path in Path("data/train").iterdir())
    test = pd.read_csv("data/test.csv")
    known = np.stack([read(Path("data/train") / name) for name in names])
    masks = np.stack([read(Path("data/masks") / name) > 0.5 for name in names])
    unseen = np.stack([read(Path("data") / name) for name in test["slice"]])
    test["mask"] = [encode(mask) for mask in solution(known, masks, unseen)]
    test.to_csv("submission.csv", index=False)


def top_corner(x: Images, masks: Any, unseen: Images) -> Any:
    mask = np.zeros(unseen.shape, dtype=bool)
    mask[:, 0, 0] = True
    return mask


def everything(x: Images, masks: Any, unseen: Images) -> Any:
    return np.ones(unseen.shape, dtype=bool)


def bright_pixels(x: Images, masks: Any, unseen: Images) -> Any:
    return unseen > 0.3


def usual_places(x: Images, masks: Any, unseen: Images) -> Any:
    return np.broadcast_to(masks.mean(axis=0) > 0.35, unseen.shape)


def best_range(x: Images, masks: Any, unseen: Images) -> Any:
    low, high = fit_range(x, masks)
    return (unseen > low) & (unseen < high)


def best_range_of_smooth_slices(x: Images, masks: Any, unseen: Images) -> Any:
    smooth, others = (np.stack([gaussian_filter(part, 0.8) for part in side]) for side in (x, unseen))
    low, high = fit_range(smooth, masks)
    return (others > low) & (others < high)


def range_after_flattening(x: Images, masks: Any, unseen: Images) -> Any:
    flat, others = (np.stack([flatten(part) for part in side]) for side in (x, unseen))
    low, high = fit_range(flat, masks)
    return (others > low) & (others < high)


def mixture_of_tissues(x: Images, masks: Any, unseen: Images) -> Any:
    """Three classes of brightness in each slice; the middle one is gray matter."""
    results = []
    for part in unseen:
        flat = flatten(part)
        inside = flat > 0.35
        model = GaussianMixture(3, random_state=SEED, means_init=[[0.5], [0.85], [1.15]]).fit(flat[inside][:, None])
        order = np.argsort(model.means_.ravel())
        labels = np.full(flat.shape, -1)
        labels[inside] = np.argsort(order)[model.predict(flat[inside][:, None])]
        results.append(labels == 1)
    return np.stack(results)


def pixels_alone(x: Images, masks: Any, unseen: Images) -> Any:
    return classify(boosting(40), x, masks, unseen, lambda part: part[..., None])


def smooth_pixels(x: Images, masks: Any, unseen: Images) -> Any:
    return classify(boosting(60), x, masks, unseen, blurs)


def line_on_blurs(x: Images, masks: Any, unseen: Images) -> Any:
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    return classify(model, x, masks, unseen, lambda part: np.concatenate([blurs(part), blurs(part) ** 2], axis=-1))


def positions(x: Images, masks: Any, unseen: Images) -> Any:
    return classify(boosting(80), x, masks, unseen, lambda part: np.concatenate([blurs(part), locate(part)], axis=-1))


def flat_blurs(x: Images, masks: Any, unseen: Images) -> Any:
    return classify(boosting(100), x, masks, unseen, lambda part: blurs(flatten(part)))


def trees_on_everything(x: Images, masks: Any, unseen: Images) -> Any:
    model = ExtraTreesClassifier(60, min_samples_leaf=5, max_features=0.4, random_state=SEED)
    return classify(model, x, masks, unseen, everything_about)


def boosting_on_everything(x: Images, masks: Any, unseen: Images) -> Any:
    return classify(boosting(200), x, masks, unseen, everything_about)


def two_rounds(x: Images, masks: Any, unseen: Images) -> Any:
    """Look again with the first result around each pixel as input."""
    first = predict(boosting(120), x, masks, np.concatenate([x, unseen]), everything_about, folds=True)
    context = [[gaussian_filter(shares, size) for size in (0, 1, 2, 4)] for shares in first]
    slices = [np.stack([part, *around], axis=-1) for part, around in zip([*x, *unseen], context, strict=True)]

    def features(part: Images) -> Images:
        return np.concatenate([everything_about(part[..., 0]), part[..., 1:]], axis=-1)

    shares = predict(boosting(200), slices[: len(x)], masks, slices[len(x) :], features)
    return np.stack([gaussian_filter(share, 0.5) > 0.48 for share in shares])


def boosting(trees: int) -> Any:
    return LGBMClassifier(
        n_estimators=trees,
        num_leaves=31,
        learning_rate=0.08,
        subsample=0.5,
        subsample_freq=1,
        n_jobs=1,
        random_state=SEED,
        verbose=-1,
    )


def classify(model: Any, x: Images, masks: Any, unseen: Images, features: Any) -> Any:
    return np.stack([shares > 0.45 for shares in predict(model, x, masks, unseen, features)])


def predict(model: Any, x: Any, masks: Any, unseen: Any, features: Any, folds: bool = False) -> list[Images]:
    """Return the probability of gray matter of each pixel; with `folds`, training slices are predicted out of fold."""
    tables = [features(part) for part in x]

    def fit(rows: list[int]) -> Any:
        inputs = np.concatenate([tables[row].reshape(-1, tables[row].shape[-1]) for row in rows])
        return model.fit(inputs, np.concatenate([masks[row].ravel() for row in rows]))

    def share(fitted: Any, table: Images) -> Images:
        return fitted.predict_proba(table.reshape(-1, table.shape[-1]))[:, 1].reshape(table.shape[:2])

    results: list[Images] = []
    everyone = list(range(len(tables)))
    if folds:
        shares: dict[int, Images] = {}
        for fold in range(3):
            fitted = fit([row for row in everyone if row % 3 != fold])
            shares |= {row: share(fitted, tables[row]) for row in everyone if row % 3 == fold}
        results = [shares[row] for row in everyone]
        unseen = unseen[len(everyone) :]
    fitted = fit(everyone)
    return results + [share(fitted, features(part)) for part in unseen]


def blurs(part: Images) -> Images:
    return np.stack([part, *(gaussian_filter(part, size) for size in (0.7, 1.5, 3, 6))], axis=-1)


def locate(part: Images) -> Images:
    rows, columns = np.indices(part.shape)
    return np.stack([rows / part.shape[0], np.abs(columns / part.shape[1] - 0.5)], axis=-1)


def flatten(part: Images) -> Images:
    """Divide by the local mean of what is bright, so that shading and contrast matter less."""
    smooth = gaussian_filter(part, 0.7)
    inside = (smooth > 0.5 * np.quantile(smooth, 0.8)).astype(float)
    light = gaussian_filter(smooth * inside, 14) / (gaussian_filter(inside, 14) + 1e-3)
    return smooth / (light + 0.05)


def everything_about(part: Images) -> Images:
    flat = flatten(part)
    edges = np.hypot(sobel(flat, axis=0), sobel(flat, axis=1))
    extra = [edges, gaussian_filter(edges, 2), median_filter(flat, 5), flat - gaussian_filter(flat, 4)]
    return np.concatenate([blurs(flat), blurs(part), locate(part), np.stack(extra, axis=-1)], axis=-1)


def fit_range(x: Images, masks: Any) -> tuple[float, float]:
    best, ends = -1.0, (0.0, 1.0)
    for low in np.linspace(x.min(), x.max(), 40):
        for high in np.linspace(low, x.max(), 40):
            chosen = (x > low) & (x < high)
            score = 2 * (chosen & masks).sum() / (chosen.sum() + masks.sum())
            if score > best:
                best, ends = score, (low, high)
    return ends


def read(path: Path) -> Images:
    return np.asarray(Image.open(path), dtype=float) / 255


def encode(mask: Any) -> str:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], np.asarray(mask).T.ravel(), [0]]).astype(int))) + 1
    return " ".join(map(str, np.column_stack([edges[::2], edges[1::2] - edges[::2]]).ravel()))


SOLUTIONS: list[Solution] = [
    top_corner,
    everything,
    bright_pixels,
    best_range,
    usual_places,
    pixels_alone,
    best_range_of_smooth_slices,
    range_after_flattening,
    mixture_of_tissues,
    line_on_blurs,
    smooth_pixels,
    positions,
    flat_blurs,
    trees_on_everything,
    boosting_on_everything,
    two_rounds,
]
