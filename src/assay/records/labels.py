"""The names of agents in reports: trials that differ in code, settings or budget are never shown as one agent."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from assay.core.quantities import format_duration, format_size
from assay.core.text import plural
from assay.records.index import TrialSummary
from assay.records.trial import TrialFile
from assay.tasks.model import Resources

_NEVER = "9999"
"""After every time at which a trial can have started."""


def _code(file: TrialFile) -> str:
    return f"code {file.hashes.get('agent', 'unknown')[:7]}"


_PER_AGENT: tuple[Callable[[TrialFile], str], ...] = (
    lambda file: f"settings {hashlib.sha256(json.dumps(file.settings, sort_keys=True).encode()).hexdigest()[:7]}",
    _code,
    lambda file: ", ".join(f"{role} {model}" for role, model in file.models.items() if role != "main"),
    lambda file: f"weights {file.hashes['weights'][:7]}" if "weights" in file.hashes else "",
    lambda file: ", ".join(f"{name}={value}" for name, value in file.model_settings.items()),
    lambda file: "" if file.describe == "plain" else f"{file.describe} description",
    lambda file: "" if file.selection == "own" else f"{file.selection} selection",
    lambda file: "" if file.submit == "file" else "submits code",
    lambda file: "with a claim" if file.claim else "",
    lambda file: f"pressure {file.pressure}" if file.pressure else "",
    lambda file: "" if file.layout == "workspace" else f"layout {file.layout}",
)
_PER_TASK: tuple[Callable[[TrialFile], str], ...] = (
    lambda file: f"{format_duration(file.budget.time)}, {file.budget.steps} steps{_further_limits(file)}",
    lambda file: _hardware(file.resources),
    lambda file: f"environment {file.environment}",
    lambda file: f"data {file.hashes.get('data', 'unknown')[:7]}",
)
"""What makes two trials of one agent incomparable, although their labels are the same."""


def label_trials(files: Sequence[TrialFile]) -> list[str]:
    """Return the name of each trial's agent: its label, and what differs between trials with the same label.

    Versions of its code are numbered in the order of the trials.
    """
    differences: list[list[str]] = [[file.label] for file in files]
    for aspects, group_key in ((_PER_AGENT, _label), (_PER_TASK, _label_and_task)):
        for aspect in aspects:
            seen: dict[tuple[str, ...], dict[str, int]] = defaultdict(dict)
            for file in files:
                known = seen[group_key(file)]
                known.setdefault(aspect(file), len(known) + 1)
            for parts, file in zip(differences, files, strict=True):
                known = seen[group_key(file)]
                if len(known) > 1 and (text := aspect(file)):
                    parts.append(f"v{known[text]}, {text}" if aspect is _code else text)
    return [_with_details(parts) for parts in differences]


def name_agents(trials: Iterable[TrialSummary]) -> dict[str, str]:
    """Return the names of agents by the plans of their trials; versions of code have numbers in the order of their
    first start.
    """
    started: dict[str, str] = {}
    files: dict[str, TrialFile] = {}
    for trial in trials:
        at = trial.state.started_at or _NEVER
        started[trial.plan] = min(started.get(trial.plan, at), at)
        files[trial.plan] = trial.file
    plans = sorted(files, key=started.__getitem__)
    return dict(zip(plans, label_trials([files[plan] for plan in plans]), strict=True))


def _label(file: TrialFile) -> tuple[str, ...]:
    return (file.label,)


def _label_and_task(file: TrialFile) -> tuple[str, ...]:
    return (file.label, file.task)


def _with_details(parts: Iterable[str]) -> str:
    label, *details = parts
    return f"{label} ({', '.join(details)})" if details else label


def _hardware(resources: Resources) -> str:
    return f"{plural(resources.cores, 'core')}, {format_size(resources.memory)}, {plural(resources.gpus, 'GPU')}"


def _further_limits(file: TrialFile) -> str:
    tokens = f", {file.budget.tokens:,} tokens" if file.budget.tokens else ""
    return tokens + (f", ${file.budget.cost:g}" if file.budget.cost else "")
