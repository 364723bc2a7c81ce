"""Which answer each row of a submission belongs to, where ids must be right: the strict way. They are text here."""

from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.core.errors import InvalidSubmission
from assay.core.text import quote, quote_some
from assay.grading.submission.table import ROW
from assay.tasks.rules import Ids

_ID, _TIME, _ANSWER = "\0id", "\0time", "\0answer"


def in_order(
    table: pl.DataFrame, ids: pl.Series, asked: pl.Series, policy: Ids, name: str
) -> tuple[pl.DataFrame, NDArray[np.int64] | None]:
    """The rows of `table` in the order of the ids `asked` for, and the numbers of those answers; None for all of them.

    Every id must be there as often as it is asked for; the n-th row of an id belongs to its n-th answer. Others may be
    there too in a superset, and some may lack in a subset.
    """
    repeats = policy == "nth_occurrence" or (policy not in ("superset", "subset") and bool(asked.is_duplicated().any()))
    if (blank := ids.is_null() | (ids == "")).any():
        raise InvalidSubmission(f"{name} has no {asked.name} in row {table.filter(blank)[ROW][0]}.")
    if repeats:
        _refuse_other_counts(ids, asked, name)
    elif repeated := ids.filter(ids.is_duplicated()).unique(maintain_order=True).to_list():
        raise InvalidSubmission(f"{name} has {asked.name} {quote_some(repeated)} more than once.")
    if policy != "superset" and (unknown := ids.filter(~ids.is_in(asked.implode())).to_list()):
        raise InvalidSubmission(f"{name} has unknown {asked.name} {quote_some(unknown)}{_hint(unknown[0], asked)}.")
    if policy != "subset" and (missing := asked.filter(~asked.is_in(ids.implode())).to_list()):
        rows = f"it has {len(table):,} of {len(asked):,} rows"
        raise InvalidSubmission(f"{name} lacks {asked.name} {quote_some(missing)}: {rows}.")
    kept: Literal["inner", "left"] = "inner" if policy == "subset" else "left"
    wanted = _named(asked, repeats).with_row_index(_ANSWER)
    given = table.hstack(_named(ids, repeats))
    joined = wanted.join(given, on=[_ID, *([_TIME] if repeats else [])], how=kept, maintain_order="left")
    return joined, joined[_ANSWER].cast(pl.Int64).to_numpy() if policy == "subset" else None


def _named(ids: pl.Series, repeats: bool) -> pl.DataFrame:
    """The ids, and where they repeat, which time each comes up."""
    names = ids.to_frame(_ID)
    return names.with_columns(pl.col(_ID).cum_count().over(_ID).alias(_TIME)) if repeats else names


def _refuse_other_counts(ids: pl.Series, asked: pl.Series, name: str) -> None:
    counts = [values.value_counts(name=_TIME).rename({values.name: _ID}) for values in (ids, asked)]
    wrong = counts[0].join(counts[1], on=_ID, suffix=" asked").filter(pl.col(_TIME) != pl.col(f"{_TIME} asked"))
    if len(wrong):
        first, times, needed = wrong.sort(_ID).row(0)
        raise InvalidSubmission(
            f"{name} has {asked.name} {quote(first)} {_times(times)}; it is asked for {_times(needed)}."
        )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _hint(unknown: str, asked: pl.Series) -> str:
    """What was probably meant, where an id lost its zeros or became a fraction on its way through another program."""

    def plain(text: str) -> str:
        return text.strip().removesuffix(".0").lstrip("0").lower()

    meant = next((known for known in asked if plain(known) == plain(unknown)), None)
    return f"; {quote(meant)} is asked for, and ids are compared as text" if meant is not None else ""
