"""The names of agents in reports: trials that differ in code, settings or budget are never shown as one agent."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from assay.core.quantities import format_duration, format_size
from assay.core.text import plural
from assay.records.trial import TrialFile
from assay.tasks.model import Resources

_PER_AGENT: tuple[Callable[[TrialFile], str], ...] = (
    lambda file: f"settings {hashlib.sha256(json.dumps(file.settings, sort_keys=True).encode()).hexdigest()[:7]}",
    lambda file: f"code {file.hashes.get('agent', 'unknown')[:7]}",
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
    """Return the name of each trial's agent: its label, and what differs between trials with the same label."""
    differences: list[list[str]] = [[file.label] for file in files]
    for aspects, group_key in ((_PER_AGENT, _label), (_PER_TASK, _label_and_task)):
        for aspect in aspects:
            seen: dict[tuple[str, ...], set[str]] = defaultdict(set)
            for file in files:
                seen[group_key(file)].add(aspect(file))
            for parts, file in zip(differences, files, strict=True):
                if len(seen[group_key(file)]) > 1 and (text := aspect(file)):
                    parts.append(text)
    return [_with_details(parts) for parts in differences]


def label_plans(plans: Mapping[str, TrialFile]) -> dict[str, str]:
    """Return the names of the agents of some plans, by the keys of these; faster than naming each trial."""
    return dict(zip(plans, label_trials(list(plans.values())), strict=True))


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
