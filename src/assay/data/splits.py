"""Splitting rows into training and test: the published benchmark's exact rules, written out so that they never drift.

Every function returns row numbers in the order in which the rows are to be written. Sizes are a number of rows (`int`)
or a share of them (`float`).
"""

import math
import random
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

Rows = NDArray[np.intp]
Size = int | float
Keys: TypeAlias = "Sequence[Hashable] | pd.Series[Any]"
"""The key of every row."""


class Split(NamedTuple):
    """Row numbers of the two sides, in the order in which they are to be written."""

    train: Rows
    test: Rows

    def in_raw_order(self) -> "Split":
        """Return the same rows on each side in the order of the raw data."""
        return Split(np.sort(self.train), np.sort(self.test))


class Widening(NamedTuple):
    """How many of the training rows or groups become test rows as well, and which random ones."""

    share: float
    seed: int


_WIDENING: ContextVar[Widening | None] = ContextVar("widening", default=None)


@contextmanager
def widen_tests(share: float, seed: int) -> Iterator[None]:
    """Have splits add a share of their training rows to the end of their test rows, by their own groups or order.

    So what `prepare.py` does with test rows, it does with these as well: a hidden validation part has their form.
    """
    token = _WIDENING.set(Widening(share, seed))
    try:
        yield
    finally:
        _WIDENING.reset(token)


def random_rows(
    count: int,
    *,
    seed: int,
    test: Size | None = None,
    train: Size | None = None,
    scorable: "Sequence[bool] | pd.Series[bool] | None" = None,
) -> Split:
    """Split `count` rows at random.

    With one size given the other side takes the rest. A share rounds up for test and down for train, and the test rows
    are the first of the permutation: this is what scikit-learn's `train_test_split` does. Rows that are not `scorable`
    do not become further test rows.
    """
    split = _random_rows(count, seed=seed, test=test, train=train)
    return _widen(split, scorable=None if scorable is None else np.asarray(scorable, dtype=bool))


def _random_rows(count: int, *, seed: int, test: Size | None = None, train: Size | None = None) -> Split:
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
    order = permute(count, seed)
    return Split(train=order[n_test : n_test + n_train], test=order[:n_test])


def permute(count: int, seed: int, *, large: int = 2**24) -> NDArray[Any]:
    """Return what NumPy's `RandomState(seed).permutation(count)` does, in half of the memory if there are many."""
    order = np.arange(count, dtype=np.int32 if large <= count < 2**31 else np.intp)
    np.random.RandomState(seed).shuffle(order)
    return order


def random_groups(keys: Keys, *, seed: int, test: Size | None = None, train: Size | None = None) -> Split:
    """Split rows so that those with the same key stay together; sizes count groups, and rows keep their order.

    Groups are numbered in the order in which they first appear.
    """
    numbers = appearance_numbers(keys)
    groups = _random_rows(int(numbers.max()) + 1, seed=seed, test=test, train=train)
    return _widen(Split(*(np.flatnonzero(np.isin(numbers, side)) for side in groups)), numbers)


def random_sorted_groups(keys: Keys, *, seed: int, test: Size | None = None, train: Size | None = None) -> Split:
    """Split rows by group, with groups sorted by key and then written one after the other in the shuffled order.

    Rows of a group keep their order. This is `train_test_split` of a pandas `groupby`.
    """
    numbers = np.unique(np.asarray(keys), return_inverse=True)[1]
    groups = _random_rows(int(numbers.max()) + 1, seed=seed, test=test, train=train)
    order = np.argsort(numbers, kind="stable")
    ends = np.cumsum(np.bincount(numbers))
    starts = ends - np.bincount(numbers)
    split = Split(*(np.concatenate([order[starts[group] : ends[group]] for group in side]) for side in groups))
    return _widen(split, numbers)


def random_rows_or_groups(
    keys: Keys, *, by_group: bool, seed: int, test: Size | None = None, train: Size | None = None
) -> Split:
    """Split by group if `by_group`, else row by row: for tasks whose `fixed` edition keeps groups whole."""
    if by_group:
        return random_groups(keys, seed=seed, test=test, train=train)
    return random_rows(len(keys), seed=seed, test=test, train=train)


def fill_groups(keys: Keys, *, test: int) -> Split:
    """Split by group, filling the test side to at most `test` rows; rows keep their order.

    Groups come in the order in which they first appear. One that no longer fits is for training, and smaller ones after
    it may still fit.
    """
    numbers = appearance_numbers(keys)
    chosen = np.zeros(int(numbers.max(initial=-1)) + 1, dtype=bool)
    free = test
    for group, size in enumerate(np.bincount(numbers).tolist()):
        if size <= free:
            chosen[group] = True
            free -= size
    return _widen(by_predicate(chosen[numbers]), numbers)


def first_rows(count: int, *, train: float) -> Split:
    """Split in the order of the rows: the first share is for training, the rest for test."""
    cut = int(train * count)
    return _widen(Split(np.arange(cut), np.arange(cut, count)), in_order=True)


def by_predicate(is_test: Sequence[bool] | NDArray[np.bool_]) -> Split:
    """Split by a condition, such as a date or a list of ids; rows keep their order. It is never widened."""
    mask = np.asarray(is_test, dtype=bool)
    return Split(np.flatnonzero(~mask), np.flatnonzero(mask))


def per_class(labels: Sequence[Hashable], *, test: float, seed: int, min_random: int = 5) -> Split:
    """Split the rows of each class at random, so that every class with two rows or more is on both sides.

    Classes come in the order in which they first appear. A single row is for training; of fewer than `min_random` rows
    the last `max(1, int(test * n))` are for test; larger classes are split as by `random_rows`. The test rows of all
    classes together are then shuffled by Python's `random.Random(seed)`.
    """
    numbers = appearance_numbers(labels)
    order = np.argsort(numbers, kind="stable")
    train_rows: list[int] = []
    test_rows: list[int] = []
    for rows in np.split(order, np.cumsum(np.bincount(numbers))[:-1]):
        if len(rows) == 1:
            train_rows += rows.tolist()
        elif len(rows) < min_random:
            cut = len(rows) - max(1, int(test * len(rows)))
            train_rows += rows[:cut].tolist()
            test_rows += rows[cut:].tolist()
        else:
            split = _random_rows(len(rows), test=test, seed=seed)
            train_rows += rows[split.train].tolist()
            test_rows += rows[split.test].tolist()
    random.Random(seed).shuffle(test_rows)
    return _widen(Split(np.array(train_rows, dtype=np.intp), np.array(test_rows, dtype=np.intp)))


def widen(split: Split, keys: "Keys | None" = None, *, in_order: bool = False) -> Split:
    """Return the split as it is, or inside `widen_tests` with some of its training rows as tests.

    Rows with the same key stay together. With `in_order` they are the last rows, or the greatest keys, such as times,
    instead of random ones. `keys` are those of all rows.
    """
    return _widen(split, None if keys is None else np.unique(np.asarray(keys), return_inverse=True)[1], in_order)


def _widen(
    split: Split, groups: Rows | None = None, in_order: bool = False, scorable: NDArray[np.bool_] | None = None
) -> Split:
    widening = _WIDENING.get()
    if widening is None:
        return split
    of_rows = np.arange(len(split.train)) if groups is None else groups[split.train]
    known = np.unique(of_rows if scorable is None else of_rows[scorable[split.train]])
    count = min(max(1, round(widening.share * len(known))), len(known) - 1)
    order = known if in_order else np.random.RandomState(widening.seed).permutation(known)
    hidden = np.isin(of_rows, order[len(order) - count :])
    return Split(split.train[~hidden], np.concatenate([split.test, split.train[hidden]]))


def appearance_numbers(keys: Keys) -> Rows:
    """Number each distinct key 0, 1, 2, … as it first appears, and return the number of every row's key.

    Rows without a key, i.e. with None or NaN, share one.
    """
    import pandas as pd

    column: Any = keys  # pandas accepts any sequence, but its stubs do not say so
    numbers: Rows = pd.factorize(pd.Series(column), use_na_sentinel=False)[0].astype(np.intp)
    return numbers
