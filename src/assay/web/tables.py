"""The tables of pages that the terminal does not have: trials with links to their pages."""

from collections.abc import Callable, Mapping, Sequence

from assay.core.table import Column, Formatted, Style, Table, Value
from assay.results.frame import TrialRow
from assay.results.report import format_trial_rank, format_trial_result

_COLUMNS = (
    Column("task", "Task", heading=True),
    Column("title", "Task"),
    Column("agent", "Agent"),
    Column("seed", "Seed", kind="integer"),
    Column("result", "Result"),
    Column("score", "Score", kind="number"),
    Column("rank", "Rank", kind="number"),
    Column("improvement", "Improvement", kind="change"),
    Column("steps", "Steps", kind="integer"),
    Column("time", "Time", kind="duration"),
    Column("tokens", "Tokens", kind="integer"),
    Column("cost", "Cost", kind="cost"),
    Column("reason", "Reason", kind="prose"),
)


def make_trial_table(
    rows: Sequence[TrialRow],
    colors: Mapping[str, int],
    link: Callable[[TrialRow], str],
    exclude: Sequence[str] = (),
) -> Table:
    """Return a row per trial; `link` is the address of a trial, and `exclude` names columns to leave out."""
    columns = [column for column in _COLUMNS if column.name not in exclude]
    records = [_make_record(row, colors, link) for row in rows]
    styles: tuple[Style, ...] = tuple("failed" if row.failure else "" for row in rows)
    return Table.from_records("trials", columns, records, styles=styles)


def _make_record(row: TrialRow, colors: Mapping[str, int], link: Callable[[TrialRow], str]) -> dict[str, Value]:
    notes = [
        "unsealed" if row.unsealed else "",
        f"fork from step {row.parent_step}, not in means" if row.parent else "",
        "was rerun, not in means" if row.replaced else "",
        "rerun of an attempt that counts, not in means" if row.repeated else "",
    ]
    title, agent = (", ".join([name, *filter(None, notes)]) for name in (row.title, row.agent))
    return {
        "title": Formatted(row.title, title, link(row)),
        "task": f"{row.title} ({row.task})",
        "agent": Formatted(row.agent, agent, link(row), colors.get(row.agent, 0)),
        "seed": row.seed,
        "result": format_trial_result(row),
        "score": row.score,
        "rank": Formatted(row.rank, format_trial_rank(row)),
        "improvement": row.improvement,
        "steps": row.steps if row.ran else None,
        "time": row.elapsed if row.ran else None,
        "tokens": row.tokens or None,
        "cost": row.cost or None if row.cost is not None else Formatted(None, "unknown"),
        "reason": row.reason or "",
    }
