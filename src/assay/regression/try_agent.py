"""Try a version of an agent: run it on a quick set of tasks, and compare it with the version before."""

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from assay.agents import find_agent
from assay.core.errors import UsageError
from assay.core.home import Home
from assay.core.quantities import format_cost
from assay.core.table import Table
from assay.core.text import plural
from assay.records import RunFolder, TrialFile
from assay.regression.change import Change, compare_versions, describe_failure
from assay.regression.history import History, Version, VersionResult, name_history
from assay.regression.quick_set import choose_groups, prepare_missing
from assay.results.frame import Frame, TrialRow, group_by, read_frame
from assay.results.report import short_task_name
from assay.runs.execute import Reporting, add_trials, check_infrastructure, execute_trials
from assay.runs.forecast import expected_cost, forecast
from assay.runs.hashes import read_agent_sources
from assay.runs.plan import Plan
from assay.runs.plan_config import PlanConfig, build_plan, config_from_flags, resolve_config
from assay.tasks import Registry

FOLDER = Path("runs") / "try"
"""Where histories are by default, in a folder for each agent."""
TIME = 120.0
"""Seconds per trial, unless a budget is given."""


@dataclass(frozen=True)
class Attempt:
    """A version that was tried: its trials, and how it compares; there is no `change` for a first version."""

    history: History
    version: Version
    rows: Frame
    against: Version | None
    change: Change | None
    lines: tuple[int, int]
    """Lines of code that were added and removed."""

    @property
    def outcome(self) -> str | None:
        """`better`, `worse`, `equivalent` or `not known`; None for a first version."""
        return self.change.outcome if self.change else None

    @property
    def sentence(self) -> str:
        """How it compares with the version before, and where it broke."""
        return self.change.sentence if self.change else _describe_first(self.rows)

    @property
    def failed(self) -> tuple[TrialRow, ...]:
        """The trials without a score."""
        return tuple(row for row in self.rows if row.failure is not None)

    @property
    def broken(self) -> tuple[TrialRow, ...]:
        """The trials without a score where the version before has one."""
        return tuple(pair.now for pair in self.change.broken) if self.change else ()

    @property
    def run(self) -> RunFolder:
        """The run folder with its trials."""
        return self.history.run_of(self.version)

    def to_table(self) -> Table | None:
        """Return the changed scores, if there are any."""
        table = self.change.to_table() if self.change else None
        return table if table and table.rows else None

    def list_failures(self) -> list[str]:
        """Return a line for each reason why trials have no score: how many, on what tasks, and how to look at one."""
        groups = group_by(self.failed, describe_failure)
        return [
            f"{plural(len(rows), 'trial')} without a score ({', '.join(_name_tasks(rows))}): "
            f"{describe_failure(rows[0])}; to look at one, run: assay logs {self.run.path / 'trials' / rows[0].trial}"
            for rows in groups
        ]


def _name_tasks(rows: Sequence[TrialRow], most: int = 3) -> list[str]:
    tasks = list(dict.fromkeys(short_task_name(row.task) for row in rows))
    return tasks if len(tasks) <= most else [*tasks[: most - 1], f"{len(tasks) - most + 1} more tasks"]


def _refuse(cost: str) -> None:
    raise UsageError(f"{cost} Allow it with --yes, or limit it with --cost")


def try_agent(
    agent: str,
    *,
    tasks: Sequence[str] = (),
    seeds: int | None = None,
    history: str | PathLike[str] | None = None,
    label: str = "",
    against: str | None = None,
    settings: Mapping[str, Any] | None = None,
    folder: str | PathLike[str] | None = None,
    allow_cost: Callable[[str], None] = _refuse,
    reporting: Reporting | None = None,
) -> Attempt:
    """Run a version of an agent on a quick set of tasks, and compare it with the version before by score.

    Args:
        agent: `path.py:Class` or a name, with settings such as `,steps=10`.
        tasks: Tasks to run instead of the quick set.
        seeds: Trials per task, by default 3; without `tasks`, how often the quick set is repeated.
        history: The folder of the history; by default `runs/try/NAME`.
        label: A label for this version.
        against: The number or label of the version to compare with; by default the version before.
        settings: Further keys of a plan file: models, budget, cores, ….
        folder: A suite of your own to select tasks from as well.
        allow_cost: Called with a sentence on the cost before a model is paid; raises to refuse, as it does by default.
        reporting: Where progress and notices go.

    Raises:
        UsageError: Agent, tasks or history are wrong, or the cost is not allowed.
        AssayError: Trials could not run because of the infrastructure.
    """
    home, reporting, suite = Home.default(), reporting or Reporting(), Path(folder) if folder else None
    registry = Registry([suite] if suite else [])
    groups = choose_groups(tasks, seeds)
    plans, configs = [], []
    for group in groups:
        content = {"tasks": group.names, "seeds": group.seeds, "agents": (agent,), **(settings or {})}
        content |= {"variant": group.variant} if group.variant else {}
        content["budget"] = {"time": TIME, **content.get("budget", {})}
        config, origins = resolve_config(config_from_flags(content), PlanConfig())
        configs.append(config)
        plans.append(build_plan(config, origins, registry, suite))
    for name, chosen in plans[0].agents:
        find_agent(name, chosen)  # an agent that cannot be loaded is known before anything is prepared
    if prepared := prepare_missing(home, groups, registry, reporting.progress):
        reporting.notify(f"Prepared {plural(prepared, 'task')}; this is done once.")
    files = [file for plan in plans for file in plan.trials(home, check_models=False, check_built=False)]
    kept = History(Path(history) if history else FOLDER / name_history(files[0].agent))
    opponent = kept.find(against) if against else None  # before anything is run or written
    _check_cost(plans, files, kept, home, allow_cost)
    version = kept.add(files[0], _hash_trials(files), read_agent_sources(files[0].agent), label)
    run = kept.run_of(version)
    add_trials(run, plans, configs[0], home, reporting)
    execute_trials(run, configs[0], home, reporting)
    check_infrastructure(run)
    planned = {file.id for file in files}
    rows = read_frame(run).where(lambda row: row.trial in planned)
    opponent = opponent or kept.before(version)
    change = _compare(kept, version, rows, opponent)
    result = VersionResult(
        trials=sum(not row.inapplicable for row in rows),
        valid=sum(row.valid for row in rows),
        against=opponent.number if opponent else None,
        outcome=change.outcome if change else None,
        sentence=change.sentence if change else "",
    )
    kept.save(version := version.model_copy(update={"result": result}))
    return Attempt(kept, version, rows, opponent, change, kept.count_changes(opponent, version))


def _compare(kept: History, version: Version, rows: Frame, opponent: Version | None) -> Change | None:
    if opponent is None:
        return None
    names = opponent.name, f"{name_history(version.agent)} {version.name}"
    return compare_versions(read_frame(kept.run_of(opponent)), rows, names)


def _describe_first(rows: Sequence[TrialRow]) -> str:
    applicable = [row for row in rows if not row.inapplicable]
    valid = sum(row.valid for row in applicable)
    return (
        f"First version: {valid} of {plural(len(applicable), 'trial')} have a valid submission; "
        "there is no version before to compare with."
    )


def _hash_trials(files: Sequence[TrialFile]) -> str:
    return hashlib.sha256("\n".join(sorted(file.id for file in files)).encode()).hexdigest()


def _check_cost(
    plans: Sequence[Plan], files: Sequence[TrialFile], kept: History, home: Home, allow_cost: Callable[[str], None]
) -> None:
    """Say what the unfinished trials may cost before a paid model is asked."""
    asked = {model: file.prices for file in files for model in file.models.values()}
    if not asked:
        return
    from assay.models.prices import Prices

    paid = [name for name, prices in asked.items() if not Prices.model_validate({"models": prices}).is_free(name)]
    if not paid:
        return
    versions = kept.versions()
    equal = next((version for version in versions if version.trials == _hash_trials(files)), None)
    target = kept.run_of(equal) if equal else None
    cores = len(os.sched_getaffinity(0))
    forecasts = [forecast(plan, home, cores, target) for plan in plans]
    unfinished = sum(each.trials - each.done for each in forecasts)
    if not unfinished:
        return
    costs = [each.cost for each in forecasts]
    maximum = None if None in costs else sum(cost for cost in costs if cost is not None)
    expected = expected_cost((line for each in forecasts for line in each.lines), map(kept.run_of, versions))
    known = f"about {format_cost(expected[0])} by the mean of earlier trials, " if expected else ""
    most = "an unknown amount, because no limit is set" if maximum is None else f"at most {format_cost(maximum)}"
    allow_cost(f"{plural(unfinished, 'trial')} with {', '.join(paid)} cost {known}{most}.")
