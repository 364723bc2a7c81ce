"""Who goes to training and who to test: the published benchmark's exact rule, written out so that it never drifts."""

import math
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.intp]
Size = int | float


class Split(NamedTuple):
    """Row numbers of the two sides, in the order in which they are to be written."""

    train: Rows
    test: Rows


def random_rows(count: int, *, seed: int, test: Size | None = None, train: Size | None = None) -> Split:
    """Split `count` rows at random; sizes are a number of rows (`int`) or a share of them (`float`).

    With one size given the other side takes the rest. A share rounds up for test and down for train, and the test rows
    are the first of the permutation: this is what scikit-learn's `train_test_split` does.
    """
    n_test = math.ceil(test * count) if isinstance(test, float) else test
    n_train = math.floor(train * count) if isinstance(train, float) else train
    if n_test is None and n_train is None:
        raise ValueError("a split needs the size of test, of train, or of both")
    if n_test is None:
        n_test = count - (n_train or 0)
    if n_train is None:
        n_train = count - n_test
    if n_test < 1 or n_train < 1 or n_test + n_train > count:
        raise ValueError(f"{count} rows cannot be split into {n_train} for training and {n_test} for test")
    order = np.random.RandomState(seed).permutation(count)
    return Split(train=order[n_test : n_test + n_train], test=order[:n_test])


def random_groups(keys: Sequence[Hashable], *, seed: int, test: Size | None = None, train: Size | None = None) -> Split:
    """Split rows so that those with the same key stay together; sizes count groups, and rows keep their order.

    Groups are numbered in the order in which they first appear.
    """
    numbers = appearance_numbers(keys)
    groups = random_rows(int(numbers.max()) + 1, seed=seed, test=test, train=train)
    return Split(*(np.flatnonzero(np.isin(numbers, side)) for side in groups))


def appearance_numbers(keys: Sequence[Hashable]) -> Rows:
    """Number each distinct key 0, 1, 2, … as it first appears, and give every row its key's number."""
    import pandas as pd

    column: Any = keys  # pandas takes any, its stubs do not say so
    numbers: Rows = pd.factorize(pd.Series(column))[0].astype(np.intp)
    return numbers
