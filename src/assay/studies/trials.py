"""What studies share: the finished trials of runs, and the name of each agent without what a study varies."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from assay.core.errors import UsageError
from assay.records import RunFolder, TrialFile, TrialFolder, label_trials
from assay.results.collect import collect_summaries
from assay.results.outcome import Outcome, RuleSet
from assay.results.statistics import group_by
from assay.runs.trial import task_of
from assay.tasks import Task


@dataclass(frozen=True)
class StudyTrial:
    """A finished trial. `agent` is the same for trials that differ only in what the study varies."""

    folder: TrialFolder
    file: TrialFile
    outcome: Outcome
    agent: str


def read_study_trials(
    runs: Sequence[RunFolder], drop_factor: Callable[[TrialFile], TrialFile] = lambda file: file
) -> list[StudyTrial]:
    """Return the finished trials of some runs that count and apply to their task.

    `drop_factor` returns a plan with what the study varies set to one value.
    """
    finished = [
        (summary, outcome)
        for summary, outcome in collect_summaries(*runs)
        if outcome.counts and not outcome.pending and not outcome.inapplicable
    ]
    if not finished:
        raise UsageError("There is no finished trial to study")
    agents = label_trials([drop_factor(summary.file) for summary, _ in finished])
    trials = [
        StudyTrial(summary.folder, summary.file, outcome, agent)
        for (summary, outcome), agent in zip(finished, agents, strict=True)
    ]
    find_rules(trials)
    return trials


def find_rules(trials: Iterable[StudyTrial]) -> RuleSet:
    """Return the rules that all trials were graded by; grades of different rules are never aggregated."""
    rules = sorted({trial.outcome.rules for trial in trials})
    if len(rules) > 1:
        names = "; ".join(map(str, rules))
        raise UsageError(f"These trials are of different suites, editions or variants: {names}. Study them separately")
    return rules[0]


def group_by_agent(trials: Iterable[StudyTrial]) -> dict[str, list[StudyTrial]]:
    """Return the trials of each agent."""
    return {own[0].agent: own for own in group_by(list(trials), lambda trial: trial.agent)}


def find_task(file: TrialFile) -> Task | None:
    """Return the task of a trial; None if it is not known here, so that what needs it is excluded."""
    try:
        return task_of(file)
    except UsageError:
        return None
