"""What results must have in common to be on one leaderboard, and how they compare."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.core.errors import UsageError
from assay.core.quantities import format_duration
from assay.core.text import plural
from assay.results.frame import RuleSet, TrialRow, condition_of
from assay.results.paired import Comparison, compare_agents, select_trials
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


def find_conditions(rows: Sequence[TrialRow], registry: Registry) -> Conditions:
    """Return the conditions of the trials of one agent with the same rules."""
    times = sorted({row.record.file.budget.time for row in rows if row.record})
    limits = dict.fromkeys(map(format_duration, (times[0], times[-1])))
    rules = rows[0].rules
    return Conditions(
        rules=rules,
        split=_name_tasks(rules.suite, {row.task.partition("/")[2] for row in rows}, registry),
        time=f"{' to '.join(limits)}{', by task' if len(limits) > 1 else ''}",
        hardware=_join(condition_of(row, "hardware") for row in rows),
        network=_join(condition_of(row, "network") for row in rows),
        feedback="answers within reach" if any(row.unsealed for row in rows) else "only whether the format is valid",
    )


def compare_rows(rows: Sequence[TrialRow], baseline: str) -> tuple[list[Comparison], str | None]:
    """Compare each agent with another one, if there are several; or return why they cannot be compared."""
    if len({row.agent for row in rows}) < 2:
        return [], None
    try:
        families = {row.task: row.family for row in rows if row.family}
        return compare_agents(select_trials(rows), baseline=baseline, families=families), None
    except UsageError as error:
        return [], str(error)


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
