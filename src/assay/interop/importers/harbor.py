"""Job folders of Harbor: `JOB/TRIAL/result.json`, and the trajectory and grade beside it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from assay.core.errors import RecordError
from assay.core.untrusted import read_json, refuse_links
from assay.grading.result import Grade
from assay.interop.importers.read import Importer
from assay.interop.importers.trial import (
    ReportedTrial,
    read_amount,
    read_count,
    read_list,
    read_moment,
    read_name,
    read_number,
    read_reason,
    read_table,
    read_text,
)
from assay.records.state import Cause, Failure

_MAX_RESULT = 16 * 2**20
_RESULT, _CONFIG = "result.json", "config.json"
_PROVIDER = re.compile(r"(Api\w+|UnknownApi|AgentAuthentication|NetworkConnection|ModelNotFound)Error")
"""Errors of those who serve the model. The tests run all the same, on what the agent had no chance to do."""


def find_files(files: Sequence[Path]) -> list[Path]:
    """Return the configurations of trials and jobs, which Harbor writes first, that have a result or a lock beside."""
    known = set(files)
    beside = (_RESULT, "lock.json")
    return [path for path in files if path.name == _CONFIG and any(path.with_name(name) in known for name in beside)]


def read_trials(files: Sequence[Path]) -> Iterator[ReportedTrial]:
    """Yield the trials; those without a result are pending."""
    for path in files:
        folder = path.parent
        try:
            result = read_json(folder / _RESULT, _MAX_RESULT)
        except FileNotFoundError:
            if trial := _read_pending(read_table(read_json(path, _MAX_RESULT))):
                yield trial
            continue
        if isinstance(result, dict) and "trial_name" in result:
            refuse_links(folder / "agent", folder / "verifier")
            yield _read_trial(result, folder)


def _read_pending(config: Mapping[str, Any]) -> ReportedTrial | None:
    task, agent = read_table(config.get("task")), read_table(config.get("agent"))
    name = read_text(task.get("name")) or (read_text(task.get("path")) or "").rstrip("/").rpartition("/")[2]
    if not config.get("trial_name") or not name:
        return None
    suite, bare = split_name(name, read_text(task.get("source")))
    named = read_text(agent.get("name")) or read_name(agent.get("import_path"), "the name of the agent")
    return ReportedTrial(
        suite, bare, named, read_text(agent.get("model_name")), trial=read_text(config["trial_name"]), pending=True
    )


def _read_trial(result: Mapping[str, Any], folder: Path) -> ReportedTrial:
    info = read_table(result.get("agent_info"))
    model = read_table(info.get("model_info"))
    names = [read_text(model.get("provider")), read_text(model.get("name"))]
    suite, task = split_name(
        read_name(result.get("task_name"), f"{folder}: task_name"), read_text(result.get("source"))
    )
    rewards = _read_rewards(result)
    error = read_table(result.get("exception_info"))
    cause, failure = _find_cause(result, error) if error else (None, None)
    timing = read_table(result.get("agent_execution"))
    began, ended = read_moment(timing.get("started_at")), read_moment(timing.get("finished_at"))
    tokens, cost = _sum_usage(result)
    grade = _read_grade(folder / "verifier" / "grade.json")
    trajectory = folder / "agent" / "trajectory.json"
    reward = rewards.get("reward", next(iter(rewards.values()), None))
    if _is_providers(error) and not (grade.valid_submission if grade else reward):
        cause, failure, reward, grade = "infrastructure", None, None, None
    return ReportedTrial(
        suite=suite,
        task=task,
        agent=read_name(info.get("name"), f"{folder}: the name of the agent"),
        model="/".join(name for name in names if name) or None,
        trial=read_text(result.get("trial_name")),
        score=grade.score if grade else reward,
        metric="reward" if rewards else None,
        task_metric=grade is not None,
        grade=grade,
        edition=grade.edition if grade else None,
        variant=grade.variant if grade else None,
        cause=cause,
        failure=failure or (None if grade is None or grade.valid_submission else "no submission"),
        error_type=read_text(error.get("exception_type")),
        reason=read_reason(error.get("exception_message")) if reward is None else None,
        seconds=(ended - began).total_seconds() if began and ended else None,
        tokens=tokens,
        cost=cost,
        started_at=read_moment(result.get("started_at")),
        ended_at=read_moment(result.get("finished_at")),
        conditions={"checksum": checksum[:12]} if (checksum := read_text(result.get("task_checksum"))) else {},
        trajectory=trajectory if trajectory.is_file() else None,
    )


def split_name(name: str, source: str | None) -> tuple[str | None, str]:
    """Return the benchmark and the task of a name such as `ORG/TASK`; Assay's own tasks are `assay/SUITE__TASK`."""
    organization, slash, task = name.rpartition("/")
    suite, underscores, own = task.partition("__")
    if underscores and organization in ("assay", ""):
        return suite, own
    benchmark = organization if slash else (source or "").partition("@")[0]
    return benchmark or None, task


def _read_rewards(result: Mapping[str, Any]) -> dict[str, float]:
    rewards = read_table(read_table(result.get("verifier_result")).get("rewards"))
    return {str(name): number for name, value in rewards.items() if (number := read_number(value)) is not None}


def _read_grade(path: Path) -> Grade | None:
    try:
        return Grade.model_validate(read_json(path, _MAX_RESULT))
    except (FileNotFoundError, ValidationError, RecordError):
        return None


def _is_providers(error: Mapping[str, Any]) -> bool:
    return _PROVIDER.fullmatch(str(error.get("exception_type", ""))) is not None


def _find_cause(result: Mapping[str, Any], error: Mapping[str, Any]) -> tuple[Cause, Failure | None]:
    """Return who is responsible for an error: the agent if it ran and its verifier had not started."""
    kind = str(error.get("exception_type", ""))
    if kind.startswith("Agent") and "Timeout" in kind and "Setup" not in kind:
        return "agent", "out of time"
    ran = read_table(result.get("agent_execution")).get("started_at") is not None
    verified = read_table(result.get("verifier")).get("started_at") is not None
    return ("agent", "crash") if ran and not verified else ("infrastructure", None)


def _sum_usage(result: Mapping[str, Any]) -> tuple[int | None, float | None]:
    """Return the tokens and the cost of a trial with one step or several."""
    steps = read_list(result.get("step_results")) or [result]
    used = [read_table(read_table(step).get("agent_result")) for step in steps]
    counts = [read_count(each.get(name)) for each in used for name in ("n_input_tokens", "n_output_tokens")]
    costs = [read_amount(each.get("cost_usd")) for each in used]
    tokens = None if all(count is None for count in counts) else sum(count or 0 for count in counts)
    return tokens, None if any(cost is None for cost in costs) else sum(cost or 0.0 for cost in costs)


IMPORTER = Importer("harbor", find_files, read_trials)
