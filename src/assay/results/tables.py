"""Results as tables for the terminal, and the same numbers as CSV and JSON."""

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import datetime
from typing import TYPE_CHECKING

from assay.core.layout import FittedTable, TableColumn, fit_table
from assay.results import wording
from assay.results.inference import ERROR_KINDS, INTERVAL_METHOD, ErrorKind
from assay.results.outcome import Outcome
from assay.results.statistics import (
    Cell,
    Estimate,
    Rate,
    Standing,
    detectable_difference_in_success,
    group_by,
    summarize_cells,
    summarize_standings,
)

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.table import Table
    from rich.text import Text

Value = str | int | float | bool | None


class ResultsTable:
    """Scores by task and agent, then each agent overall, separately for each set of rules, in the console's width."""

    def __init__(
        self, outcomes: Sequence[Outcome], removed: Mapping[str, int] | None = None, error: ErrorKind = "tasks"
    ) -> None:
        self._outcomes, self._removed, self._error = outcomes, removed or {}, error

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "Iterator[Text]":
        if not self._outcomes:
            yield plain_text("No trials yet.")
        for number, same in enumerate(group_by(self._outcomes, lambda o: o.rules)):
            if number:
                yield plain_text("")
            made = summarize_cells(same)
            standings = summarize_standings(same, made)
            if made:
                yield from _scores(made, options.max_width)
                yield plain_text("")
                yield from _overall(standings, options.max_width, self._error)
                yield plain_text("")
            yield from _branches(same, options.max_width)
            yield from _legend(same, made, standings, self._error)
        if self._removed:
            counts = ", ".join(f"{count} {status}" for status, count in self._removed.items())
            yield plain_text(f"Removed from the run by its user: {counts}.", "yellow")


def results_table(
    outcomes: Sequence[Outcome], removed: Mapping[str, int] | None = None, error: ErrorKind = "tasks"
) -> ResultsTable:
    """Return the results as a table; `removed` counts trials that are gone from the run by their status."""
    return ResultsTable(outcomes, removed, error)


def to_csv(made: Sequence[Cell]) -> str:
    """Return CSV with one row per agent and task."""
    rows = [cell_row(cell) for cell in made]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_CELL_COLUMNS)
    writer.writerows([_csv_value(value) for value in row.values()] for row in rows)
    return text.getvalue()


def to_json(outcomes: Sequence[Outcome], title: str, created_at: datetime) -> str:
    """Return the rows of the CSV, each agent overall, and every trial with its grade, as strict JSON."""
    content = {
        "format": "report/1",
        "title": title,
        "made_at": created_at.isoformat(timespec="seconds"),
        "interval": f"95 %: Wilson's for one task; {INTERVAL_METHOD}",
        "cells": [cell_row(cell) for cell in summarize_cells(outcomes)],
        "overall": [standing_row(standing) for standing in summarize_standings(outcomes)],
        "detectable_differences": _detectable_differences(outcomes),
        "trials": [_without_nan(_trial_row(outcome)) for outcome in outcomes],
    }
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def _detectable_differences(outcomes: Sequence[Outcome]) -> list[dict[str, Value]]:
    """Return, for each set of rules, the difference in success that these tasks show with 80 % power."""
    by_rules = group_by((outcome for outcome in outcomes if outcome.counts), lambda o: o.rules)
    return [asdict(same[0].rules) | {"success": detectable_difference_in_success(same)} for same in by_rules]


def cell_row(cell: Cell) -> dict[str, Value]:
    """Return a cell by the column names of the CSV."""
    medals = cell.medals
    return {
        **asdict(cell.rules),
        "task": cell.task,
        "title": cell.title,
        "metric": cell.metric,
        "direction": cell.direction,
        "agent": cell.agent,
        "trials": cell.trials,
        "valid": cell.valid,
        "pending": cell.pending,
        "inapplicable": cell.inapplicable,
        **_failure_columns(cell),
        **estimate_columns("score", cell.score),
        "score_min": cell.score.low if cell.score else None,
        "score_max": cell.score.high if cell.score else None,
        **estimate_columns("improvement", cell.improvement),
        **rate_columns("success", cell.success),
        **rate_columns("success_published", cell.success_published),
        "rank_mean": cell.rank.mean if cell.rank else None,
        "panel_size": cell.panel_size,
        "percentile_mean": cell.percentile.mean if cell.percentile else None,
        "gold": medals.gold if medals else None,
        "silver": medals.silver if medals else None,
        "bronze": medals.bronze if medals else None,
        "sealed": cell.sealed,
        "best": cell.best,
        "tied": cell.tied,
    }


def standing_row(standing: Standing) -> dict[str, Value]:
    """Return the results of an agent over all tasks."""
    return {
        **asdict(standing.rules),
        "agent": standing.agent,
        "tasks": standing.tasks,
        "inapplicable_tasks": standing.inapplicable_tasks,
        "trials": standing.trials,
        "pending": standing.pending,
        **_failure_columns(standing),
        **rate_columns("valid", standing.valid),
        **rate_columns("success", standing.success),
        **rate_columns("success_published", standing.success_published),
        **rate_columns("success_without_infrastructure", standing.success_without_infrastructure),
        **estimate_columns("success_over_tasks", standing.mean_over_tasks),
        "success_error_over_seeds": standing.errors.get("seeds"),
        "success_error_over_attempts": standing.errors.get("attempts"),
        **{f"success_at_{k}": share for k, share in standing.pass_at.items()},
        **{f"success_all_{k}": share for k, share in standing.pass_all.items()},
        "sealed": standing.sealed,
    }


_CELL_COLUMNS = (
    *("suite", "edition", "variant", "task", "title", "metric", "direction", "agent"),
    *("trials", "valid", "pending", "inapplicable", "failed_agent", "failed_infrastructure", "failed_user"),
    *("score_mean", "score_error", "score_min", "score_max", "improvement_mean", "improvement_error"),
    *("success_count", "success_trials", "success_rate", "success_low", "success_high"),
    *("success_published_count", "success_published_trials", "success_published_rate"),
    *("success_published_low", "success_published_high"),
    *("rank_mean", "panel_size", "percentile_mean", "gold", "silver", "bronze", "sealed", "best", "tied"),
)


_SCORE_TABLE = (
    TableColumn("Agent", shrinks=True, min_width=20),
    TableColumn("Score", right=True, shrinks=True, min_width=20),
    TableColumn("Rank", right=True, leave_out=2),
    TableColumn("Improvement", right=True, leave_out=1),
    TableColumn("Success", right=True),
    TableColumn("Valid", right=True),
)
_OVERALL_TABLE = (
    TableColumn("Agent", shrinks=True, min_width=20),
    TableColumn("Success", right=True),
    TableColumn("Rate (95 %)", right=True),
    TableColumn("As published", right=True, leave_out=1),
    TableColumn("Over tasks", right=True, leave_out=2),
    TableColumn("Valid", right=True),
    TableColumn("Tasks", right=True),
)


def _scores(made: Sequence[Cell], width: int) -> "Iterator[Text]":
    """Yield a line per agent and task: green for the best, yellow for an agent that has no score."""
    rows = [
        [
            f"{_mark(cell)} {wording.one_line(cell.agent)}{_unsealed(cell.sealed)}",
            wording.format_cell_score(cell),
            wording.format_cell_rank(cell),
            wording.format_change(cell.improvement.mean if cell.improvement else None),
            wording.format_count(cell.success),
            wording.format_cell_valid(cell),
        ]
        for cell in made
    ]
    table = fit_table(_SCORE_TABLE, rows, width)
    yield from _heading(str(made[0].rules), table)
    lines = iter(zip(made, table.rows, strict=True))
    for task in group_by(made, lambda c: c.task):
        title = plain_text(wording.short_task_name(task[0].task), "bold")
        yield title.append(f"  {task[0].metric} {wording.ARROWS[task[0].direction]}", "not bold dim")
        for cell, row in (next(lines) for _ in task):
            yield _line(row, "bold green" if cell.best else "red" if cell.failures and not cell.valid else "")
    yield from _left_out(table)


def _overall(lines: Sequence[Standing], width: int, error: ErrorKind) -> "Iterator[Text]":
    rows = []
    for line in lines:
        rate = line.success
        rows.append(
            [
                f"  {wording.one_line(line.agent)}{_unsealed(line.sealed)}",
                wording.format_count(rate),
                f"{wording.format_percent(rate.value)} ({wording.format_interval(rate)})" if rate else wording.NOTHING,
                wording.format_count(line.success_published),
                wording.format_mean_success(line, error),
                wording.format_count(line.valid),
                wording.format_standing_tasks(line),
            ]
        )
    table = fit_table(_OVERALL_TABLE, rows, width)
    yield from _heading(f"{lines[0].rules}, all tasks", table)
    for row in table.rows:
        yield _line(row)
    yield from _left_out(table)


def _branches(outcomes: Sequence[Outcome], width: int) -> "Iterator[Text]":
    """Yield a line per forked trial: it shares the past of another one, so no mean has it."""
    forks = [outcome for outcome in outcomes if outcome.parent is not None]
    if not forks:
        return
    yield plain_text("Forked trials, which are not in any mean", "bold")
    for fork in forks:
        score = wording.format_number(fork.score) if fork.score is not None else wording.format_trial_result(fork)
        origin = f"seed {fork.seed}, from step {fork.parent_step}"
        yield plain_text(f"  {wording.short_task_name(fork.task)}, {fork.agent}, {origin}: {score}")
    yield plain_text("")


def _heading(title: str, table: FittedTable) -> "Iterator[Text]":
    yield plain_text(title, "bold")
    header = "  ".join(table.header)
    yield _line(table.header, "dim")
    yield plain_text("─" * len(header), "dim")


def _left_out(table: FittedTable) -> "Iterator[Text]":
    if table.left_out:
        yield plain_text(f"(hidden to fit the width: {', '.join(table.left_out)})", "dim")


def _line(cells: Sequence[str], style: str = "") -> "Text":
    from rich.text import Text

    return Text("  ".join(cells).rstrip(), style=style, no_wrap=True, overflow="ignore")


def _mark(cell: Cell) -> str:
    return "★" if cell.best else "=" if cell.tied else " "


def _unsealed(sealed: bool) -> str:
    return "" if sealed else " (unsealed)"


def _legend(
    outcomes: Sequence[Outcome], made: Sequence[Cell], standings: Sequence[Standing], error: ErrorKind
) -> "Iterator[Text]":
    """Yield the notes that apply to the tables."""
    counted = [outcome for outcome in outcomes if outcome.counts]
    if any(cell.best for cell in made):
        yield plain_text("★: best: its 95 % interval overlaps no other agent's.")
    if any(cell.tied for cell in made):
        yield plain_text("=: tied: these trials do not show which of them is better.")
    yield plain_text("Score: mean ± standard error over valid trials.")
    yield plain_text(f"Success: {describe_success(outcomes)}; failures count.")
    yield plain_text(f"Rate: interval by {INTERVAL_METHOD}. As published: by the rule that ignores noise.")
    yield plain_text(f"Over tasks: mean of the success rates by task, ± standard error {ERROR_KINDS[error]}.")
    yield plain_text("Tasks: those the agent can work on.")
    for line in describe_attempts(standings):
        yield plain_text(line)
    if power := detectable_difference_in_success(counted):
        yield plain_text(f"Power: these tasks show differences in success of {100 * power:.0f} points (80 % power).")
    for line in wording.describe_reasons(made):
        yield plain_text(line, "red")
    for standing in standings:
        if rate := standing.success_without_infrastructure:
            share = f"{wording.format_count(rate)}, {wording.format_percent(rate.value)}"
            yield plain_text(f"{standing.agent}: success without infrastructure failures {share}.")
    for warning in (*warn_of_no_error(standings, error), *describe_caveats(outcomes)):
        yield plain_text(warning, "yellow")
    if pending := sum(outcome.pending for outcome in counted):
        yield plain_text(f"Not final: {wording.plural(pending, 'trial')} of {len(counted)} pending.", "yellow")


def describe_success(outcomes: Sequence[Outcome]) -> str:
    """Return what success means in the editions of some trials."""
    rules = {outcome.rules: outcome.ignores_noise for outcome in outcomes}
    published = ", ".join(str(rule) for rule in sorted(rules) if rules[rule])
    if rules and all(rules.values()):
        return "more than 10 % over the starter, by the published rule"
    text = "a medal, or more than 10 % over the starter and beyond noise"
    return f"{text} ({published}: by the published rule)" if published else text


def describe_attempts(standings: Sequence[Standing]) -> list[str]:
    """Return the probability that one, and that all, of k attempts succeed, for each agent with several attempts."""
    found = []
    for standing in standings:
        if max(standing.pass_at, default=1) > 1:
            curves = (("pass@", standing.pass_at), ("pass^", standing.pass_all))
            parts = [
                f"{name}{k} {wording.format_percent(share)}" for name, curve in curves for k, share in curve.items()
            ]
            found.append(f"{standing.agent}: {', '.join(parts)}.")
    if found:
        half = min(reliable_attempts(standing) for standing in standings if max(standing.pass_at, default=1) > 1)
        found.append(f"pass@k: one of k attempts succeeds; pass^k: all do. Beyond k = {half} they are noisy.")
    return found


def reliable_attempts(standing: Standing) -> int:
    """Return the largest k for which pass@k is not noisy: half of the attempts."""
    return max(1, max(standing.pass_at, default=1) // 2)


def warn_of_no_error(standings: Sequence[Standing], error: ErrorKind) -> list[str]:
    """Return a warning if the error of an agent's rate is 0, which does not make the rate certain."""
    agree = [standing.agent for standing in standings if standing.errors.get(error) == 0]
    if not agree:
        return []
    what = "trials" if error == "attempts" else error
    return [f"± 0.0 says that all {what} agree, not that the rate is certain; see the interval: {', '.join(agree)}."]


def describe_caveats(outcomes: Sequence[Outcome]) -> list[str]:
    """Return what a reader must know before drawing conclusions from these trials."""
    counted = [outcome for outcome in outcomes if outcome.counts]
    found = []
    if replaced := [outcome for outcome in outcomes if outcome.replaced]:
        had_failed = sum(outcome.failure is not None for outcome in replaced)
        found.append(
            f"Rerun: {wording.plural(len(replaced), 'trial')}, {had_failed} of them failed; only the reruns count."
        )
    if unsealed := sum(outcome.unsealed for outcome in counted):
        found.append(f"Unsealed: {wording.plural(unsealed, 'trial')} ran without a sandbox between agent and answers.")
    if busy := sum(outcome.busy for outcome in counted):
        found.append(
            f"Busy machine: {wording.plural(busy, 'trial')} of {len(counted)} ran under a load that makes time limits "
            "and measured times unreliable."
        )
    variants = sorted({outcome.variant for outcome in counted if outcome.variant != "real"})
    if variants:
        found.append(f"Data: {', '.join(variants)}, not the real data; scores say nothing about it, and win no medals.")
    return found


def make_grid(title: str) -> "Table":
    """Return an empty table in the common style."""
    from rich import box
    from rich.table import Table

    return Table(
        title=plain_text(title, "bold"),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )


def plain_text(content: str, style: str = "") -> "Text":
    """Return text that is never parsed as markup and cannot control the terminal; leading spaces are kept."""
    from rich.text import Text

    indent = len(content) - len(content.lstrip(" "))
    return Text(" " * indent + wording.one_line(content), style=style)


def _failure_columns(one: Cell | Standing) -> dict[str, Value]:
    return {
        "failed_agent": one.failures.get("agent", 0),
        "failed_infrastructure": one.failures.get("infrastructure", 0),
        "failed_user": one.failures.get("user", 0),
    }


def estimate_columns(name: str, one: Estimate | None) -> dict[str, Value]:
    """Return a mean and its error by column name."""
    return {f"{name}_mean": one.mean if one else None, f"{name}_error": one.error if one else None}


def rate_columns(name: str, one: Rate | None) -> dict[str, Value]:
    """Return a rate and its interval by column name."""
    parts = ("count", "trials", "rate", "low", "high")
    values = (one.count, one.trials, one.value, one.low, one.high) if one else (None,) * 5
    return {f"{name}_{part}": value for part, value in zip(parts, values, strict=True)}


def _csv_value(value: Value) -> Value:
    return str(value).lower() if isinstance(value, bool) else value


def _trial_row(outcome: Outcome) -> dict[str, object]:
    row: dict[str, object] = {
        **{field.name: getattr(outcome, field.name) for field in fields(outcome)},
        "valid": outcome.valid,
        "failure": outcome.failure,
        "failure_name": outcome.failure_name,
        "counts": outcome.counts,
        "success": outcome.success,
        "success_published": outcome.success_published,
    }
    return row | {"grade": outcome.grade.model_dump(mode="python") if outcome.grade else None}


def _without_nan(row: Mapping[str, object]) -> dict[str, object]:
    """Replace NaN and infinity, which JSON does not have, by null."""
    clean: dict[str, object] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            clean[name] = _without_nan(value)
        else:
            clean[name] = None if isinstance(value, float) and not math.isfinite(value) else value
    return clean
