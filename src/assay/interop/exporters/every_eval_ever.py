"""Results as Every Eval Ever 0.3: a file of totals for each agent and set of rules, and one with a line a trial.

    data/SUITE/DEVELOPER/MODEL/UUID.json            success over tasks with its interval, and the score on each task
    data/SUITE/DEVELOPER/MODEL/UUID_samples.jsonl   the trials

What the format has no field for is in the `metadata` of a line, as text. A failed trial has the score 0 there, because
the format requires one, and an `error`.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from assay import __version__
from assay.core.disk import atomic_write
from assay.interop.exporters import Exporter
from assay.interop.importers import Results
from assay.results.estimate import summarize_agents, summarize_tasks
from assay.results.frame import Frame, TrialRow

SCHEMA = "0.3.0"
METADATA = (
    *(
        "seed",
        "status",
        "valid",
        "success",
        "cause",
        "failure",
        "error_type",
        "reason",
        "score",
        "score_error",
        "medal",
    ),
    *("edition", "variant", "agent", "model", "metric", "direction", "seconds", "steps", "tokens", "cost", "sealed"),
    *("budget", "hardware", "network", "description", "started_at", "ended_at", "trial", "harness"),
)
"""The columns of the frame that a line has in its metadata."""


def write_results(results: Results, folder: Path) -> list[Path]:
    """Write two files for each agent and set of rules."""
    written: list[Path] = []
    counted = results.frame.where(lambda row: row.counts and not row.inapplicable)
    for group in counted.group_by(lambda row: (row.rules, row.agent)):
        written += _write_group(group, results, folder)
    return written


def _write_group(group: Frame, results: Results, folder: Path) -> list[Path]:
    first = group[0]
    digest = hashlib.sha256(json.dumps([results.title, str(first.rules), first.agent]).encode()).digest()
    token = UUID(bytes=digest[:16], version=4)
    model = first.model or f"assay/{first.agent}"
    developer, _, name = model.partition("/") if "/" in model else ("unknown", "", model)
    location = f"data/{_plain(first.suite)}/{_plain(developer)}/{_plain(name)}/{token}"
    created = str(int(results.created_at.timestamp()))
    evaluation = f"{first.suite}/{model}/{created}"
    samples = "".join(
        json.dumps(_sample(row, cells, evaluation, model), ensure_ascii=False) + "\n"
        for row, cells in zip(group, group.to_table().to_records(), strict=True)
        if not row.pending
    )
    content = {
        "schema_version": SCHEMA,
        "evaluation_id": evaluation,
        "retrieved_timestamp": created,
        "source_metadata": {
            "source_name": results.title or "assay",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": first.harness, "version": __version__ if not first.imported else "unknown"},
        "model_info": {
            "name": first.agent,
            "id": model,
            "additional_details": {
                "deployment_type": "unknown", "model_availability": "unknown", "agent": first.agent,
            },
        },
        "evaluation_results": [*_overall(group), *(_task_result(task) for task in group.group_by(lambda r: r.task))],
        "detailed_evaluation_results": {
            "format": "jsonl",
            "file_path": f"{location}_samples.jsonl",
            "hash_algorithm": "sha256",
            "checksum": hashlib.sha256(samples.encode()).hexdigest(),
            "total_rows": samples.count("\n"),
        },
    }  # fmt: skip
    paths = [folder / f"{location}.json", folder / f"{location}_samples.jsonl"]
    paths[0].parent.mkdir(parents=True, exist_ok=True)
    atomic_write(paths[0], json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False) + "\n", mode=None)
    atomic_write(paths[1], samples, mode=None)
    return paths


def _overall(group: Frame) -> list[dict[str, Any]]:
    """Return the mean success over tasks with its interval, where the tasks define success."""
    [summary] = summarize_agents(group, summarize_tasks(group))
    if summary.means is None:
        return []
    claim = summary.means.like
    uncertainty = {
        "confidence_interval": {
            "lower": claim.interval.low,
            "upper": claim.interval.high,
            "confidence_level": claim.confidence,
            "method": claim.evidence.method,
        },
        "num_samples": sum(claim.evidence.trials),
    }
    details = {"worst_case": str(claim.worst), "best_case": str(claim.best), "tasks": str(claim.evidence.tasks)}
    return [
        {
            "evaluation_result_id": "success",
            "evaluation_name": group[0].suite,
            "source_data": _source(group),
            "metric_config": {
                "metric_id": "success", "metric_name": "success rate over tasks", "metric_kind": "pass_rate",
                "lower_is_better": False, "score_type": "continuous", "min_score": 0.0, "max_score": 1.0,
            },
            "score_details": {"score": claim.value, "details": details, "uncertainty": uncertainty},
        }
    ]  # fmt: skip


def _task_result(task: Frame) -> dict[str, Any]:
    scores = [row.score for row in task if row.score is not None]
    return {
        "evaluation_result_id": task[0].task,
        "evaluation_name": task[0].task,
        "source_data": _source(task),
        "metric_config": {
            "metric_id": task[0].metric, "metric_name": task[0].metric,
            "lower_is_better": task[0].direction == "lower", "score_type": "continuous",
            "min_score": "-Infinity", "max_score": "Infinity",
        },
        "score_details": {
            "score": sum(scores) / len(scores) if scores else 0.0,
            "details": {"valid": str(len(scores)), "trials": str(len(task))},
        },
    }  # fmt: skip


def _source(rows: Frame) -> dict[str, Any]:
    details = {"edition": rows[0].edition, "variant": rows[0].variant}
    return {"dataset_name": rows[0].suite, "source_type": "other", "additional_details": details}


def _sample(row: TrialRow, cells: Mapping[str, Any], evaluation: str, model: str) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA,
        "evaluation_id": evaluation,
        "model_id": model,
        "evaluation_name": row.task,
        "evaluation_result_id": row.task,
        "sample_id": row.task.partition("/")[2],
        "interaction_type": "agentic",
        "input": {"raw": row.title, "reference": []},
        "output": None,
        "messages": [{"turn_idx": 0, "role": "system", "content": f"not exported: the trajectory of {row.trial}"}],
        "answer_attribution": [],
        "evaluation": {"score": row.score if row.score is not None else 0.0, "is_correct": bool(row.success)},
        "error": (row.reason or row.failure_name) if row.failure is not None else None,
        "performance": None if row.elapsed is None else {"latency_ms": 1000 * row.elapsed},
        "metadata": {name: _text(cells[name]) for name in METADATA if cells[name] is not None},
    }  # fmt: skip


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "unknown"


EXPORTER = Exporter("every-eval-ever", write_results)
