"""What studies share: the finished trials of runs, and the name of each agent without what a study varies."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from assay.core.errors import UsageError
from assay.core.text import plural
from assay.records import RunFolder, TrialFile, TrialSummary, label_trials
from assay.results.frame import RuleSet, TrialRow, group_by, read_frame
from assay.results.report import describe_caveats
from assay.tasks import Task
from assay.tasks.registry import task_of


def read_study_trials(
    runs: Sequence[RunFolder], drop_factor: Callable[[TrialFile], TrialFile] = lambda file: file
) -> list[TrialRow]:
    """Return the finished trials of some runs that count and apply to their task.

    `drop_factor` returns a plan with what the study varies set to one value, so that trials that differ only in it have
    the same agent.
    """
    rows = [row for row in read_frame(*runs) if row.counts and not row.pending and not row.inapplicable]
    if not rows:
        raise UsageError("There is no finished trial to study")
    agents = label_trials([drop_factor(record_of(row).file) for row in rows])
    trials = [replace(row, agent=agent) for row, agent in zip(rows, agents, strict=True)]
    find_rules(trials)
    return trials


def describe_runs(runs: Sequence[RunFolder]) -> list[str]:
    """Return what a reader must know of the trials of some runs before drawing conclusions from a study of them."""
    rows = read_frame(*runs)
    lines = describe_caveats(rows)
    lost = [row for row in rows if row.counts and row.failure == "infrastructure"]
    if lost:
        agents = ", ".join(f"{count} of {agent}" for agent, count in Counter(row.agent for row in lost).items())
        lines.append(f"Infrastructure: it failed {plural(len(lost), 'trial')} ({agents}), which count as failures.")
    if pending := sum(row.pending for row in rows if row.counts):
        lines.append(f"Not final: {plural(pending, 'trial')} of {len(rows)} pending, and not in this study.")
    return lines


def record_of(row: TrialRow) -> TrialSummary:
    """Return the record of a trial."""
    if row.record is None:
        raise UsageError(f"{row.trial or row.task} has no record here, so it cannot be studied")
    return row.record


def find_rules(trials: Iterable[TrialRow]) -> RuleSet:
    """Return the rules that all trials were graded by; grades of different rules are never aggregated."""
    rules = sorted({trial.rules for trial in trials})
    if len(rules) > 1:
        names = "; ".join(map(str, rules))
        raise UsageError(f"These trials are of different suites, editions or variants: {names}. Study them separately")
    return rules[0]


def group_by_agent(trials: Iterable[TrialRow]) -> dict[str, list[TrialRow]]:
    """Return the trials of each agent."""
    return {own[0].agent: own for own in group_by(list(trials), lambda trial: trial.agent)}


def find_task(file: TrialFile) -> Task | None:
    """Return the task of a trial; None if it is not known here, so that what needs it is excluded."""
    try:
        return task_of(file)
    except UsageError:
        return None
