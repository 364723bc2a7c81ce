"""Results as tables for the terminal, and the same numbers as CSV and JSON."""

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING

from assay.results import wording
from assay.results.outcome import Outcome
from assay.results.statistics import Cell, Estimate, Rate, Standing, group_by, summarize_cells, summarize_standings

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

Value = str | int | float | bool | None


def results_table(outcomes: Sequence[Outcome]) -> "Group":
    """Return scores by task and agent, then each agent overall, separately for each set of rules."""
    from rich.console import Group
    from rich.text import Text

    if not outcomes:
        return Group(Text("No trials yet."))
    parts: list[Table | Text] = []
    for same in group_by(outcomes, lambda o: o.rules):
        made = summarize_cells(same)
        parts += [_scores(made), Text(), _overall(summarize_standings(same)), Text(), *_legend(same, made), Text()]
    return Group(*parts[:-1])


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
        "interval": "Wilson score, 95 %",
        "cells": [cell_row(cell) for cell in summarize_cells(outcomes)],
        "overall": [standing_row(standing) for standing in summarize_standings(outcomes)],
        "trials": [_without_nan(_trial_row(outcome)) for outcome in outcomes],
    }
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


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
        "sealed": standing.sealed,
    }


_CELL_COLUMNS = (
    *("suite", "edition", "variant", "task", "title", "metric", "direction", "agent"),
    *("trials", "valid", "pending", "inapplicable", "failed_agent", "failed_infrastructure", "failed_user"),
    *("score_mean", "score_error", "score_min", "score_max", "improvement_mean", "improvement_error"),
    *("success_count", "success_trials", "success_rate", "success_low", "success_high"),
    *("success_published_count", "success_published_trials", "success_published_rate"),
    *("success_published_low", "success_published_high"),
    *("rank_mean", "panel_size", "percentile_mean", "gold", "silver", "bronze", "sealed", "best"),
)


def _scores(made: Sequence[Cell]) -> "Table":
    table = make_grid(str(made[0].rules))
    table.add_column("Task, agent", overflow="fold", min_width=20)
    for name in ("Score", "Rank", "Improvement", "Valid"):
        table.add_column(name, justify="right", max_width=22 if name == "Score" else 16)
    for task in group_by(made, lambda c: c.task):
        metric = f"{task[0].metric} {wording.ARROWS[task[0].direction]}"
        table.add_row(plain_text(wording.short_task_name(task[0].task), "bold"), plain_text(metric, "italic"))
        for cell in task:
            style = "bold" if cell.best else ""
            table.add_row(
                plain_text(f"{'★' if cell.best else ' '} {cell.agent}", style),
                plain_text(wording.format_cell_score(cell), style),
                wording.format_cell_rank(cell),
                wording.format_change(cell.improvement.mean if cell.improvement else None),
                wording.format_cell_valid(cell) + ("" if cell.sealed else "\nunsealed"),
            )
        table.add_section()
    return table


def _overall(lines: Sequence[Standing]) -> "Table":
    table = make_grid(f"{lines[0].rules}, all tasks")
    table.add_column("Agent", overflow="fold", min_width=20)
    for name in ("Success", "Rate (95 %)", "Over tasks", "Valid", "Tasks"):
        table.add_column(name, justify="right", max_width=16)
    for line in lines:
        rate, mean = line.success, line.mean_over_tasks
        table.add_row(
            plain_text(f"  {line.agent}"),
            wording.format_count(rate),
            f"{wording.format_percent(rate.value)} ({wording.format_interval(rate)})" if rate else wording.NOTHING,
            wording.format_percent(mean.mean) if mean else wording.NOTHING,
            wording.format_count(line.valid) + ("" if line.sealed else "\nunsealed"),
            wording.format_standing_tasks(line),
        )
    return table


def _legend(outcomes: Sequence[Outcome], made: Sequence[Cell]) -> "list[Text]":
    """Return the notes that apply to the tables."""
    star = "★: best mean score on the task. " if any(cell.best for cell in made) else ""
    lines = [
        f"{star}Score: mean ± standard error over valid trials.",
        "Success: share of finished trials, failures included, with a Wilson interval.",
        "Over tasks: mean of the success rates by task. Tasks: those the agent can work on.",
        *wording.describe_reasons(made),
    ]
    for line in summarize_standings(outcomes):
        if rate := line.success_without_infrastructure:
            share = f"{wording.format_count(rate)}, {wording.format_percent(rate.value)}"
            lines.append(f"{line.agent}: success without infrastructure failures {share}.")
    if pending := sum(outcome.pending for outcome in outcomes):
        lines.append(f"Not final: {wording.plural(pending, 'trial')} of {len(outcomes)} pending.")
    if unsealed := sum(outcome.unsealed for outcome in outcomes):
        lines.append(f"Unsealed: {wording.plural(unsealed, 'trial')} ran without a sandbox between agent and answers.")
    return [plain_text(line) for line in lines]


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
        **vars(outcome),
        "valid": outcome.valid,
        "failure": outcome.failure,
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
