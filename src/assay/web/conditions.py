"""What results must have in common to be on one leaderboard."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.core.quantities import format_duration
from assay.core.text import plural
from assay.results.disclosure import SummaryAndOutcome
from assay.results.frame import CONDITIONS, RuleSet, condition_of
from assay.tasks import Registry


@dataclass(frozen=True)
class Conditions:
    """What results must have in common to be compared."""

    rules: RuleSet
    split: str
    time: str
    hardware: str
    network: str
    feedback: str

    def items(self) -> list[tuple[str, str]]:
        """Return the conditions by name, for the page."""
        return [
            ("Tasks", self.split),
            ("Time per trial", self.time),
            ("Hardware per trial", self.hardware),
            ("Network", self.network),
            ("Feedback from the test", self.feedback),
        ]


def find_conditions(trials: Sequence[SummaryAndOutcome], registry: Registry) -> Conditions:
    """Return the conditions of the trials of one agent with the same rules."""
    found = [{name: condition_of(outcome, name) for name in CONDITIONS} for _, outcome in trials]
    times = sorted({trial.file.budget.time for trial, _ in trials})
    unsealed = any(outcome.unsealed for _, outcome in trials)
    rules = trials[0][1].rules
    return Conditions(
        rules=rules,
        split=_name_tasks(rules.suite, {outcome.task.partition("/")[2] for _, outcome in trials}, registry),
        time=format_duration(times[0])
        if len(times) == 1
        else f"{format_duration(times[0])} to {format_duration(times[-1])}, by task",
        hardware=_join(one["hardware"] for one in found),
        network=_join(one["network"] for one in found),
        feedback="answers within reach" if unsealed else "only whether the format is valid",
    )


def _name_tasks(suite: str, tasks: set[str], registry: Registry) -> str:
    """Return the name of the split that has exactly these tasks, else the tasks themselves where they are few."""
    known = registry.suites[suite][0]
    if tasks == set(known.tasks):
        return f"all {plural(len(tasks), 'task')}"
    for name, members in known.splits.items():
        if tasks == set(members):
            return f"{name} ({plural(len(tasks), 'task')})"
    return f"{plural(len(tasks), 'task')}: {', '.join(sorted(tasks))}"


def _join(values: Iterator[str]) -> str:
    return "; ".join(sorted(set(values)))
