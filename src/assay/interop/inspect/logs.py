"""Our records as logs of Inspect, for `inspect view` and everything else that reads them."""

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from inspect_ai.dataset import Sample
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalError,
    EvalLog,
    EvalPlan,
    EvalPlanStep,
    EvalSample,
    EvalSampleLimit,
    EvalSpec,
    EvalStats,
    recompute_metrics,
    write_eval_log,
)
from inspect_ai.log._log import EvalMetricDefinition, EvalScorer  # a log needs them, and Inspect exports them nowhere
from inspect_ai.model import ModelUsage
from inspect_ai.viewer import ViewerConfig

from assay import __version__
from assay.agents.briefing import task_prompt
from assay.interop.inspect.conversations import conversation_of, last_reply
from assay.interop.inspect.scorer import to_score
from assay.interop.inspect.transcript import LIMITS, NO_MODEL, make_error, make_transcript, model_output, model_usage
from assay.models import MAIN
from assay.models.convert import to_inspect_all
from assay.models.messages import Usage
from assay.records import Event, RunFolder, TrialFile, TrialFolder, read_events
from assay.records.events import AgentCrashed, BudgetExhausted
from assay.records.tape import past_of
from assay.results.frame import RuleSet, TrialRow, read_frame
from assay.results.trajectory import read_trajectory
from assay.runs.descriptions import description_of
from assay.tasks.registry import task_of

_METRICS = {"success": ("mean", "stderr"), "valid": ("mean",)}


def write_eval_logs(run: RunFolder, folder: Path) -> list[Path]:
    """Write the logs of a run into a folder, one for each agent and set of rules; the same run has the same names."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, log in eval_logs(run).items():
        write_eval_log(log, folder / name, format="eval")
        written.append(folder / name)
    return written


def read_trial_log(run: RunFolder, trial: str) -> bytes:
    """Return the content of an `.eval` file with the log of one trial, by its id."""
    with TemporaryDirectory(prefix="assay-eval-") as folder:
        path = Path(folder) / "trial.eval"
        for log in eval_logs(run, only=trial).values():
            write_eval_log(log, path, format="eval")
        return path.read_bytes()


def eval_logs(run: RunFolder, only: str | None = None) -> dict[str, EvalLog]:
    """The logs of a run by file name: a sample for each trial that has ended, with its task as id and seed as epoch.

    Trials that were stopped or have not ended yet are excluded, and make their log one that was cancelled. `only` is
    the id of a trial that is the only one wanted.
    """
    groups: dict[tuple[RuleSet, str], list[tuple[TrialFolder, TrialRow]]] = defaultdict(list)
    for folder, outcome in zip(run.trials(), read_frame(run), strict=True):
        if not outcome.inapplicable and only in (None, outcome.trial):
            groups[outcome.rules, outcome.agent].append((folder, outcome))
    date = datetime.fromisoformat(run.file.created_at)
    logs = {}
    for (rules, agent), trials in groups.items():
        token = hashlib.sha256(f"{run.name}/{rules}/{agent}".encode()).hexdigest()[:22]
        logs[f"{date:%Y-%m-%dT%H-%M-%S}-00-00_{rules.suite}_{token}.eval"] = _log(run, rules, agent, token, trials)
    return logs


def _log(
    run: RunFolder, rules: RuleSet, agent: str, token: str, trials: Sequence[tuple[TrialFolder, TrialRow]]
) -> EvalLog:
    samples: list[EvalSample] = []
    for folder, outcome in trials:
        if not outcome.pending and outcome.status != "stopped":
            taken = {sample.epoch for sample in samples if sample.id == outcome.task.partition("/")[2]}
            epoch = outcome.seed if outcome.seed not in taken else max(taken) + 1
            samples.append(_sample(folder, outcome, epoch))
    file = trials[0][0].file
    names = list(dict.fromkeys(outcome.task.partition("/")[2] for _, outcome in trials))
    log = EvalLog(
        status="success" if len(samples) == len(trials) else "cancelled",
        eval=EvalSpec(
            eval_id=token,
            run_id=token,
            task_id=token,
            created=run.file.created_at,
            task=f"assay/{rules.suite}",
            task_version=__version__,
            task_display_name=f"{rules.suite}: {agent}",
            task_args={"agent": agent, "edition": rules.edition, "variant": rules.variant},
            tags=[agent],
            solver=agent,
            dataset=EvalDataset(name=rules.suite, samples=len(names), sample_ids=names),
            model=file.models.get(MAIN, NO_MODEL),
            config=EvalConfig(epochs=max((sample.epoch for sample in samples), default=1)),
            packages={"assay": __version__, "inspect_ai": version("inspect-ai")},
            metadata={"run": run.name, "agent": agent, "edition": rules.edition, "variant": rules.variant},
            viewer=ViewerConfig(trust_content=False),
            scorers=[
                EvalScorer(
                    name="grade",
                    metrics={
                        key: [EvalMetricDefinition(name=f"inspect_ai/{name}") for name in names]
                        for key, names in _METRICS.items()
                    },
                )
            ],
        ),
        plan=EvalPlan(steps=[EvalPlanStep(solver=file.agent, params=dict(file.settings))]),
        samples=samples,
        stats=_stats(samples),
    )
    if samples:
        recompute_metrics(log)
    return log


def _stats(samples: Sequence[EvalSample]) -> EvalStats:
    usage: dict[str, ModelUsage] = {}
    for sample in samples:
        for model, used in sample.model_usage.items():
            usage[model] = usage[model] + used if model in usage else used
    began = [sample.started_at for sample in samples if sample.started_at]
    ended = [sample.completed_at for sample in samples if sample.completed_at]
    return EvalStats(started_at=min(began, default=""), completed_at=max(ended, default=""), model_usage=usage)


def _sample(folder: TrialFolder, outcome: TrialRow, epoch: int) -> EvalSample:
    file, state, trajectory = folder.file, folder.state, read_trajectory(folder)
    task = task_of(file).model_copy(update={"resources": file.resources})
    events = read_events(folder.events)
    past = past_of(events)
    opening = task_prompt(task, description_of(file, task), file.budget)
    model = file.models.get(MAIN, NO_MODEL)
    sealed = not outcome.unsealed
    score = to_score(outcome.grade, task, outcome.reason, sealed=sealed, sandbox=file.sandbox)
    return EvalSample(
        id=task.name,
        epoch=epoch,
        input=opening,
        target="",
        messages=to_inspect_all(conversation_of(past, opening), model),
        output=model_output(last_reply(past.calls), model),
        scores={"grade": score},
        events=make_transcript(events, past.prompts, file.models, Sample(input=opening, id=task.name), score),
        metadata={
            "trial": file.id,
            "task": file.task,
            "seed": file.seed,
            "status": state.status,
            "cause": state.cause,
            "error_type": state.error_type,
            "reason": state.reason,
            "end": trajectory.end,
            "steps": state.steps,
            "cost": trajectory.cost,
            "validations": state.validations,
            "sealed": sealed,
            "sealing": asdict(state.sealing) if state.sealing else None,
            "answers": state.answers,
            "network": file.network,
            "budget": file.budget.model_dump(mode="json", exclude_none=True),
            "parent": file.parent,
            "hashes": file.hashes,
            "versions": file.versions,
        },
        model_usage=_by_model(trajectory.usage, file.models),
        role_usage={role: model_usage(used) for role, used in trajectory.usage.items()},
        started_at=state.started_at,
        completed_at=state.ended_at,
        total_time=state.elapsed,
        working_time=state.elapsed - state.waited,
        uuid=file.id,
        error=_error(outcome, events),
        limit=_limit(file, events),
        time_limit=round(file.budget.time),
    )


def _by_model(usage: Mapping[str, Usage], models: Mapping[str, str]) -> dict[str, ModelUsage]:
    totals: dict[str, Usage] = {}
    for role, used in usage.items():
        model = models.get(role) or models.get(MAIN, NO_MODEL)
        totals[model] = totals.get(model, Usage.zero()) + used
    return {model: model_usage(used) for model, used in totals.items()}


def _error(outcome: TrialRow, events: Sequence[Event]) -> EvalError | None:
    """Return why a trial failed, which Inspect shows; its score counts as a failure all the same."""
    if outcome.failure is None:
        return None
    crashed = next((event for event in reversed(events) if isinstance(event, AgentCrashed)), None)
    return make_error(f"{outcome.failure_name}: {outcome.reason or ''}", crashed.traceback if crashed else "")


def _limit(file: TrialFile, events: Sequence[Event]) -> EvalSampleLimit | None:
    """Return the limit of the budget that ended the agent's work, if one did."""
    ended = next((event for event in reversed(events) if isinstance(event, BudgetExhausted)), None)
    if ended is None:
        return None
    budget = file.budget.model_dump() | {"working_time": file.budget.working}
    return EvalSampleLimit(type=LIMITS[ended.limit], limit=budget[ended.limit] or 0, reason=ended.reason)
