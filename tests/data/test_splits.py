"""Splits equal those of the published benchmark exactly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import train_test_split

from assay.data import splits
from assay.data.splits import fill_groups, first_rows, random_groups, random_rows, widen_tests


@given(count=st.integers(2, 500), share=st.floats(0.01, 0.99), seed=st.integers(0, 100))
def test_shares_split_as_scikit_learn_does(count: int, share: float, seed: int) -> None:
    try:
        train, test = train_test_split(np.arange(count), test_size=share, random_state=seed)
    except ValueError:
        with pytest.raises(ValueError, match="cannot be split"):
            random_rows(count, test=share, seed=seed)
        return
    ours = random_rows(count, test=share, seed=seed)
    assert ours.train.tolist() == train.tolist()
    assert ours.test.tolist() == test.tolist()


@pytest.mark.parametrize("sizes", [{"test": 7}, {"train": 7}, {"train": 0.75}, {"train": 12, "test": 3}])
def test_every_kind_of_size_means_the_same_as_in_scikit_learn(sizes: dict[str, float]) -> None:
    train, test = train_test_split(
        np.arange(20), **{f"{side}_size": size for side, size in sizes.items()}, random_state=8
    )
    ours = random_rows(20, **sizes, seed=8)
    assert (ours.train.tolist(), ours.test.tolist()) == (train.tolist(), test.tolist())


@pytest.mark.parametrize("sizes", [{}, {"test": 0}, {"test": 20}, {"test": 15, "train": 6}])
def test_impossible_sizes_are_refused(sizes: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="split"):
        random_rows(20, **sizes, seed=0)


def test_groups_stay_whole_and_rows_keep_their_order() -> None:
    keys = list("badcabddcbeee")
    train, test = random_groups(keys, test=2, seed=0)
    assert sorted([*train, *test]) == list(range(len(keys)))
    assert train.tolist() == sorted(train) and test.tolist() == sorted(test)
    assert {keys[row] for row in train}.isdisjoint(keys[row] for row in test)
    # Groups in order of appearance are b a d c e; RandomState(0).permutation(5) starts with 2 and 0.
    assert {keys[row] for row in test} == {"d", "b"}


def test_groups_fill_the_test_side_as_far_as_they_fit() -> None:
    """Of the groups a (2 rows), b (3), c (1) and d (1), b is too large for the place that a leaves, and d for c's."""
    split = fill_groups(list("abbacbd"), test=3)
    assert (split.train.tolist(), split.test.tolist()) == ([1, 2, 5, 6], [0, 3, 4])


@pytest.mark.parametrize("large", [10, 10_000])
def test_permutations_are_those_of_numpy_in_whichever_type(large):
    order = splits.permute(1000, 3, large=large)
    assert order.tolist() == np.random.RandomState(3).permutation(1000).tolist()
    assert order.dtype == (np.int32 if large == 10 else np.intp)


def test_widened_splits_add_whole_groups_of_scorable_training_rows_to_the_end_of_the_test_rows() -> None:
    keys = [row // 5 for row in range(50)]
    before = random_groups(keys, test=0.2, seed=0)
    plain = random_rows(40, test=10, seed=0)
    with widen_tests(0.25, seed=7):
        after = random_groups(keys, test=0.2, seed=0)
        last = first_rows(40, train=0.75)
        scorable = random_rows(40, test=10, seed=0, scorable=[row % 2 == 0 for row in range(40)])
    assert list(after.test[: len(before.test)]) == list(before.test)
    assert sorted([*after.train, *after.test]) == list(range(50))
    hidden = {keys[row] for row in after.test[len(before.test) :]}
    assert len(hidden) == 2 and not hidden & {keys[row] for row in after.train}
    assert list(last.train) == list(range(22)) and list(last.test) == [*range(30, 40), *range(22, 30)]
    assert list(scorable.test[:10]) == list(plain.test) and not any(row % 2 for row in scorable.test[10:])
    assert list(random_rows(40, test=10, seed=0).train) == list(plain.train), "only inside the block"
