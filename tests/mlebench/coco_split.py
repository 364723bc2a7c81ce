"""The published split of competitions whose labels are a COCO file, restated with scikit-learn."""

import json
import random
from collections.abc import Sequence
from typing import Any

from sklearn.model_selection import train_test_split

Pair = tuple[dict[str, Any], dict[str, Any]]
"""An annotation and its image."""


def split_by_category(metadata: dict[str, Any], test_size: float, min_random: int = 5) -> tuple[list[Pair], list[Pair]]:
    """Return the training and the test pairs in their published order."""
    categories: dict[int, list[Pair]] = {}
    for annotation, image in zip(metadata["annotations"], metadata["images"], strict=True):
        categories.setdefault(annotation["category_id"], []).append((annotation, image))
    train: list[Pair] = []
    test: list[Pair] = []
    for pairs in categories.values():
        if len(pairs) == 1:
            train += pairs
        elif len(pairs) < min_random:
            count = max(1, int(len(pairs) * test_size))
            train += pairs[:-count]
            test += pairs[-count:]
        else:
            chosen, others = train_test_split(pairs, test_size=test_size, random_state=0)
            train += chosen
            test += others
    random.Random(0).shuffle(test)
    return train, test


def to_json(content: Any) -> bytes:
    """Return JSON as the published preparations write it."""
    return json.dumps(content, indent=4, sort_keys=True).encode()


def with_pairs(metadata: dict[str, Any], pairs: Sequence[Pair]) -> bytes:
    """Return a COCO file with other annotations and images."""
    annotations, images = ([pair[side] for pair in pairs] for side in (0, 1))
    return to_json({**metadata, "annotations": annotations, "images": images})
