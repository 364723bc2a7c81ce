"""Trials as rows of a table for papers: what was run, its score, what it used by role, and how it failed."""

import csv
import io
from collections.abc import Sequence

from assay.records import RunFolder
from assay.results.collect import collect_summaries
from assay.results.trajectory import read_trajectory

_COLUMNS = (
    "run", "trial", "suite", "task", "edition", "variant", "agent", "model", "seed", "status", "cause", "failure",
    "reason", "score", "valid", "success", "success_published", "medal", "improvement", "steps", "seconds", "tokens",
    "cost", "counts", "forked_from", "load",
)  # fmt: skip


def trials_to_csv(runs: Sequence[RunFolder]) -> str:
    """Return CSV with a row per trial; tokens are also by the role of the model, in columns `tokens_ROLE`.

    As in other reports of several runs, agents that differ have different names, and a copy of a trial is left out.
    """
    rows = _rows(runs)
    roles = sorted({name for row in rows for name in row if name.startswith("tokens_")})
    text = io.StringIO()
    writer = csv.DictWriter(text, [*_COLUMNS, *roles], lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _rows(runs: Sequence[RunFolder]) -> list[dict[str, object]]:
    names = {run.path: run.name for run in runs}
    rows = []
    for trial, outcome in collect_summaries(*runs):
        folder = trial.folder
        row: dict[str, object] = {
            "run": names[folder.path.parent.parent],
            "trial": outcome.trial,
            "suite": outcome.rules.suite,
            "task": outcome.task,
            "edition": outcome.edition,
            "variant": outcome.variant,
            "agent": outcome.agent,
            "model": outcome.model,
            "seed": outcome.seed,
            "status": outcome.status,
            "cause": outcome.failure,
            "failure": outcome.failure_name,
            "reason": outcome.reason,
            "score": outcome.score,
            "valid": outcome.valid,
            "success": outcome.success,
            "success_published": outcome.success_published,
            "medal": outcome.grade.medal if outcome.grade else None,
            "improvement": outcome.improvement,
            "steps": outcome.steps,
            "seconds": outcome.elapsed,
            "tokens": outcome.tokens,
            "cost": outcome.cost,
            "counts": outcome.counts,
            "forked_from": outcome.parent,
            "load": outcome.load,
        }
        usage = read_trajectory(folder).usage if folder.events.exists() else {}
        row |= {f"tokens_{role}": used.total_tokens for role, used in usage.items()}
        rows.append({name: "" if value is None else _plain(value) for name, value in row.items()})
    return rows


def _plain(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value
