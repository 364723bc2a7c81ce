"""Which answer each row of a submission belongs to, as the published graders decide it: the many ways of `Ids`.

Ids are what pandas made of them, so 7 is 7.0. Where ids repeat, the order in which pandas happens to sort them counts.
"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.core.errors import InvalidSubmission
from assay.core.text import quote_some
from assay.tasks.rules import Ids

Numbers = NDArray[np.int64]
Pairs = tuple[Numbers, Numbers]


def paired(
    ids: pd.Series | None,
    asked: pd.Series | None,
    counts: tuple[int, int],
    policy: Ids,
    skipped: NDArray[np.bool_] | None,
    name: str,
) -> Pairs:
    """The numbers of the answers that count, ascending, and the place in the file of the row that belongs to each.

    `ids` are those handed in, `asked` those of the answers, None where ids do not matter; `counts` is how many rows
    each side has; `skipped` tells which answers do not count.
    """
    rows, places = _matched(ids, asked, counts, policy, skipped, name)
    if skipped is not None:
        kept = ~skipped[rows]
        rows, places = rows[kept], places[kept]
        if not len(rows):
            raise InvalidSubmission(f"{name} has no row that counts.")
    order = np.argsort(rows, kind="stable")
    return rows[order], places[order]


def _matched(
    ids: pd.Series | None,
    asked: pd.Series | None,
    counts: tuple[int, int],
    policy: Ids,
    skipped: NDArray[np.bool_] | None,
    name: str,
) -> Pairs:
    if ids is None or asked is None or policy in ("positional", "positional_prefix"):
        if policy != "positional_prefix":
            _refuse_other_count(*counts, name)
        return np.arange(min(counts)), np.arange(min(counts))
    if policy in ("join", "subset"):
        return _joined(ids, asked, name, complete=policy == "join")
    if policy == "superset":
        return _chosen(ids, asked, name)
    _refuse_other_count(*counts, name)
    if policy == "ids_subset_sorted" and skipped is not None:
        return _paired_where_scored(ids, asked, skipped, name)
    if policy in ("ids_subset_sorted", "ids_equal_sorted"):
        _joined(ids, asked, name, complete=policy == "ids_equal_sorted")
    stable = policy == "nth_occurrence"
    places, rows = _order(ids, name, stable=stable), _order(asked, "the answers file", stable=stable)
    if policy in ("one_to_one", "nth_occurrence"):
        same = np.asarray(ids.to_numpy()[places] == asked.to_numpy()[rows])
        if not np.all(same):
            raise InvalidSubmission(_difference(ids, asked, name))
    return rows, places


def _paired_where_scored(ids: pd.Series, asked: pd.Series, skipped: NDArray[np.bool_], name: str) -> Pairs:
    """Both sides sorted, without the rows whose own id does not count, and paired in that order."""
    own = np.empty(len(ids), bool)
    rows, places = _joined(ids, asked, name, complete=False)
    own[places] = skipped[rows]
    place_order, row_order = _order(ids, name), _order(asked, "the answers file")
    place_order, row_order = place_order[~own[place_order]], row_order[~skipped[row_order]]
    if len(place_order) != len(row_order):
        counted = f"{len(place_order):,} of its rows have an id that counts; {len(row_order):,} are needed"
        raise InvalidSubmission(f"{name} repeats ids of column {str(ids.name)!r}: {counted}.")
    return row_order, place_order


def _joined(ids: pd.Series, asked: pd.Series, name: str, *, complete: bool) -> Pairs:
    """Each row with the answer that has its id; all ids must be known and, if it is to be complete, all asked for."""
    known = pd.Index(asked.drop_duplicates())
    found = known.get_indexer(pd.Index(ids))
    lacking = complete and len(np.unique(found[found >= 0])) < len(known)
    if (found < 0).any() or ids.isna().any() or lacking:
        raise InvalidSubmission(_difference(ids, asked, name))
    first = np.flatnonzero(~asked.duplicated().to_numpy())
    return first[found], np.arange(len(ids))


def _chosen(ids: pd.Series, asked: pd.Series, name: str) -> Pairs:
    """Both sides sorted, the rows of unknown ids left out, and paired as far as both go."""
    if not asked.isin(ids).all():
        raise InvalidSubmission(_difference(ids, asked, name, unknown=False))
    kept = np.flatnonzero(ids.isin(asked).to_numpy())
    places, rows = kept[_order(ids.iloc[kept], name)], _order(asked, "the answers file")
    return rows[: len(places)], places[: len(rows)]


def _order(ids: pd.Series, name: str, *, stable: bool = False) -> Numbers:
    """The order in which pandas sorts; by default not a stable one, so that equal ids may change places."""
    frame = ids.reset_index(drop=True).to_frame("id")
    try:
        order: Numbers = frame.sort_values("id", kind="stable" if stable else "quicksort").index.to_numpy()
    except TypeError:
        raise InvalidSubmission(f"{name}: column {str(ids.name)!r} mixes numbers and text.") from None
    return order


def _refuse_other_count(count: int, needed: int, name: str) -> None:
    if count != needed:
        raise InvalidSubmission(f"{name} has {count:,} rows; {needed:,} are needed.")


def _difference(ids: pd.Series, asked: pd.Series, name: str, *, unknown: bool = True) -> str:
    """What sets the ids handed in apart from those asked for, in one sentence."""
    column = str(asked.name)
    if ids.isna().any():
        return f"{name} has no {column} in row {int(ids.isna().to_numpy().argmax()) + 1}."
    strange, lacking = ids[~ids.isin(asked)].unique(), asked[~asked.isin(ids)].unique()
    if unknown and len(strange):
        return f"{name} has unknown {column} {quote_some(strange.tolist())}."
    if len(lacking):
        return f"{name} lacks {column} {quote_some(lacking.tolist())}."
    beyond = ids.value_counts().sub(asked.value_counts(), fill_value=0)
    more = beyond[beyond > 0].index.tolist()
    return f"{name} has {column} {quote_some(more)} more often than asked for." if more else f"{name} has other ids."
