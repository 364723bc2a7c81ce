"""Files of Every Eval Ever 0.3: the lines of `*_samples.jsonl`, with the metrics of the file of totals beside it.

Totals alone, without lines, are no trials and cannot be compared.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.core.errors import RecordError
from assay.core.untrusted import parse_json, read_json, read_lines
from assay.interop.importers.read import Importer
from assay.interop.importers.table import read_row
from assay.interop.importers.trial import (
    ReportedTrial,
    read_amount,
    read_count,
    read_flag,
    read_list,
    read_name,
    read_number,
    read_table,
    read_text,
)

_SUFFIX = "_samples.jsonl"


def find_files(files: Sequence[Path]) -> list[Path]:
    """Return the files with a line a sample."""
    return [path for path in files if path.name.endswith(_SUFFIX)]


def read_trials(files: Sequence[Path]) -> Iterator[ReportedTrial]:
    """Yield the lines of the files."""
    for path in files:
        totals = _read_totals(path.with_name(f"{path.name.removesuffix(_SUFFIX)}.json"))
        _check_hash(path, totals)
        results = [read_table(result) for result in read_list(totals.get("evaluation_results"))]
        by_id = {read_text(result.get("evaluation_result_id")): result for result in results}
        by_name = {read_text(result.get("evaluation_name")): result for result in results}
        model = read_table(totals.get("model_info"))
        for number, line in enumerate(read_lines(path), 1):
            where = f"{path}:{number}"
            sample = read_table(parse_json(line, where))
            key, named = read_text(sample.get("evaluation_result_id")), read_text(sample.get("evaluation_name"))
            result = by_id.get(key) or by_name.get(named) or {}
            yield _read_sample(sample, read_table(result), model, where)


def _read_totals(path: Path) -> Mapping[str, Any]:
    try:
        return read_table(read_json(path))
    except FileNotFoundError:
        return {}


def _check_hash(path: Path, totals: Mapping[str, Any]) -> None:
    """Refuse lines that are not those that the totals were computed from."""
    details = read_table(totals.get("detailed_evaluation_results"))
    if details.get("hash_algorithm") != "sha256" or not isinstance(details.get("checksum"), str):
        return
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != details["checksum"].lower():
            raise RecordError(f"{path} is not the file that its totals name: its checksum differs")


def _read_sample(
    sample: Mapping[str, Any], result: Mapping[str, Any], model: Mapping[str, Any], where: str
) -> ReportedTrial:
    evaluation, metadata = read_table(sample.get("evaluation")), read_table(sample.get("metadata"))
    source, metric = read_table(result.get("source_data")), read_table(result.get("metric_config"))
    suite = read_text(source.get("dataset_name")) or read_text(sample.get("evaluation_name"))
    name = read_name(sample.get("sample_id"), f"{where}: sample_id")
    if metadata.get("harness") and metadata.get("agent"):  # of Assay, which has all columns in its metadata
        cells = {key: text for key, text in metadata.items() if isinstance(text, str)}
        return read_row({**cells, "task": f"{suite}/{name}"}, where)
    usage, performance = read_table(sample.get("token_usage")), read_table(sample.get("performance"))
    identity = read_text(sample.get("model_id")) or "unknown"
    score, latency = read_number(evaluation.get("score")), read_amount(performance.get("latency_ms"))
    return ReportedTrial(
        suite=suite,
        task=name,
        agent=read_text(read_table(model.get("additional_details")).get("agent")) or identity,
        model=identity,
        success=read_flag(evaluation.get("is_correct")) if metric.get("score_type") == "binary" else None,
        score=score,
        metric=read_text(metric.get("metric_id")) or read_text(metric.get("metric_name")),
        lower_is_better=lower if isinstance(lower := metric.get("lower_is_better"), bool) else None,
        reason=read_text(sample.get("error"), 400),
        seconds=None if latency is None else latency / 1000,
        tokens=read_count(usage.get("total_tokens")),
        conditions={"checksum": digest[:12]} if (digest := read_text(sample.get("sample_hash"))) else {},
    )


IMPORTER = Importer("every-eval-ever", find_files, read_trials)
