"""Logs of Inspect, `*.eval`: a trial for each sample and epoch, from the log's header and summaries."""

import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from assay.core.errors import MissingDependency, RecordError
from assay.core.untrusted import MAX_JSON, parse_json
from assay.interop.importers.read import Importer
from assay.interop.importers.trial import (
    ReportedTrial,
    read_amount,
    read_count,
    read_flag,
    read_moment,
    read_name,
    read_number,
    read_reason,
    read_table,
    read_text,
)
from assay.records.state import Failure

_NO_MODEL = ("none/none", "none")
_LIMITS: Mapping[str, Failure] = {
    "time": "out of time", "working": "out of time", "message": "out of steps", "token": "out of tokens",
    "cost": "out of money",
}  # fmt: skip
_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""What Inspect's accuracy counts its letter grades as."""


def find_files(files: Sequence[Path]) -> list[Path]:
    """Return the logs, by their names."""
    return [path for path in files if path.suffix == ".eval"]


def read_trials(files: Sequence[Path]) -> Iterator[ReportedTrial]:
    """Yield the samples of the logs."""
    for path in files:
        header, summaries = read_log(path)
        spec = read_table(header.get("eval"))
        for summary in summaries:
            yield _read_sample(read_table(summary), spec, path)


def read_log(path: Path) -> tuple[Mapping[str, Any], Sequence[Any]]:
    """Return the header of a log, also of one that is not finished, and the summaries of its samples."""
    members = read_members(path, ("header.json", "_journal/start.json", "summaries.json"))
    header = read_table(members.get("header.json") or members.get("_journal/start.json"))
    summaries = members.get("summaries.json")
    if "eval" not in header or not isinstance(summaries or [], list):
        raise RecordError(f"{path} is not a log of Inspect, or one that has no samples yet")
    return header, summaries or []


def read_members(path: Path, names: Sequence[str]) -> dict[str, Any]:
    """Return the JSON of some members of a log, as far as it has them."""
    try:
        from backports.zstd import zipfile
    except ImportError:
        raise MissingDependency("Reading logs of Inspect", "agents") from None
    contents = {}
    try:
        with zipfile.ZipFile(path) as archive:
            known = {info.filename: info for info in archive.infolist()}
            for name in names:
                if name not in known:
                    continue
                with archive.open(known[name]) as member:
                    content = member.read(MAX_JSON + 1)
                if len(content) > MAX_JSON:
                    raise RecordError(f"{path}: {name} has more than {MAX_JSON:,} bytes")
                contents[name] = parse_json(content, f"{path}: {name}", strict=False)
    except (zipfile.BadZipFile, OSError, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise RecordError(f"{path} is not a log of Inspect: {error}") from None
    return contents


def _read_sample(summary: Mapping[str, Any], spec: Mapping[str, Any], path: Path) -> ReportedTrial:
    args, metadata = read_table(spec.get("task_args")), read_table(summary.get("metadata"))
    own = str(spec.get("task", "")).startswith("assay/")
    model = read_text(spec.get("model"))
    model = None if model in _NO_MODEL else model
    suite = read_name(spec.get("task"), f"{path}: eval.task").removeprefix("assay/")
    score, success, metric = _read_score(read_table(summary.get("scores")), own=own)
    error, limit = read_reason(summary.get("error")), read_text(summary.get("limit"))
    usage = [
        read_count(read_table(used).get("total_tokens")) for used in read_table(summary.get("model_usage")).values()
    ]
    failed = score is None and success is None
    failure, _, reason = (error or "").partition(": ") if own else ("infrastructure" if error else "", "", error)
    kind: Failure | None = next((name for name in get_args(Failure) if name == failure), _LIMITS.get(limit or ""))
    return ReportedTrial(
        suite=suite.rpartition("/")[2] if not own else suite,
        task=read_name(summary.get("id"), f"{path}: the id of a sample"),
        agent=(read_text(args.get("agent")) if own else None) or read_text(spec.get("solver")) or model or "unknown",
        model=model,
        seed=read_count(metadata.get("seed")) if own else read_count(summary.get("epoch")),
        trial=read_text(summary.get("uuid")),
        success=success,
        score=score,
        metric=metric,
        task_metric=own and metric == "grade",
        lower_is_better=None,
        pending=summary.get("completed") is False,
        cause=None if not failed else "infrastructure" if failure == "infrastructure" else "agent",
        failure=kind if failed else None,
        error_type=read_text(metadata.get("error_type")) if own else None,
        reason=reason or None,
        seconds=read_amount(summary.get("total_time")),
        steps=read_count(metadata.get("steps")) if own else None,
        tokens=sum(count or 0 for count in usage) if usage or own else None,
        cost=read_amount(metadata.get("cost")) if own else None,
        sealed=read_flag(metadata.get("sealed")) if own else None,
        started_at=read_moment(summary.get("started_at")),
        ended_at=read_moment(summary.get("completed_at")),
        edition=read_text(args.get("edition")) if own else None,
        variant=read_text(args.get("variant")) if own else None,
        trajectory=path,
    )


def _read_score(scores: Mapping[str, Any], *, own: bool) -> tuple[float | None, bool | None, str | None]:
    """Return the value of the first scorer, or the success that is all it has, and its name."""
    name = next(iter(scores), None)
    value = read_table(scores.get(name or "")).get("value")
    if own and isinstance(value, dict):
        score, success = read_number(value.get("score")), read_flag(value.get("success"))
        return (score if value.get("valid") else None), (success if value.get("valid") else None), name
    if isinstance(value, dict):
        value = next(iter(value.values()), None)
    if isinstance(value, str) and value in _LETTERS:
        value = _LETTERS[value]
    number = read_number(value)
    return (None if number is None or math.isnan(number) else number), None, read_text(name)


IMPORTER = Importer("inspect", find_files, read_trials)
