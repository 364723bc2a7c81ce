"""What a plan would do, how long it could take and what it could cost, without doing any of it."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from assay.core.errors import LabError, NotPrepared
from assay.core.home import Home
from assay.records import RunFolder, TrialFile, TrialFolder
from assay.runs.plan import Plan


@dataclass(frozen=True)
class ForecastLine:
    """The trials of one agent with one choice of models on one task."""

    task: str
    agent: str
    models: dict[str, str]
    seeds: int
    done: int
    time: float
    steps: int
    cores: int
    cost: float | None
    origins: dict[str, str]


@dataclass(frozen=True)
class Forecast:
    """Everything a plan would do. Bounds are what trials may use up, not what they are likely to."""

    lines: tuple[ForecastLine, ...]
    unready: dict[str, str]
    cores: int

    @property
    def trials(self) -> int:
        """How many trials the plan asks for, without those of tasks that are not ready."""
        return sum(line.seeds for line in self.lines)

    @property
    def done(self) -> int:
        """How many of them are finished already."""
        return sum(line.done for line in self.lines)

    @property
    def time(self) -> float:
        """Seconds it takes at most: all budgets that are left on these cores, and never less than the longest one."""
        left = [line for line in self.lines if line.seeds > line.done]
        work = sum((line.seeds - line.done) * line.time * line.cores for line in left) / self.cores
        return max([work, *(line.time for line in left)], default=0.0)

    @property
    def cost(self) -> float | None:
        """Dollars it costs at most; None where a trial may ask models and has no limit of cost."""
        costs = [None if line.cost is None else line.cost * (line.seeds - line.done) for line in self.lines]
        return None if None in costs else sum(cost for cost in costs if cost is not None)


def forecast(plan: Plan, home: Home, cores: int, run: RunFolder | None = None) -> Forecast:
    """What the plan would do in the folder of `run`; tasks that are not ready are told apart, with what to do."""
    lines: list[ForecastLine] = []
    unready: dict[str, str] = {}
    for task in plan.tasks:
        try:
            files = list(replace(plan, tasks=(task,)).trials(home, check_models=False))
        except (NotPrepared, LabError) as error:
            unready[task.id] = str(error)
            continue
        lines += _lines(files, run)
    return Forecast(tuple(lines), unready, cores)


def _lines(files: Iterable[TrialFile], run: RunFolder | None) -> list[ForecastLine]:
    alike: dict[str, list[TrialFile]] = defaultdict(list)
    for file in files:
        alike[f"{file.label} {file.models} {file.settings}"].append(file)
    return [
        ForecastLine(
            task=one[0].task,
            agent=one[0].label,
            models=one[0].models,
            seeds=len(one),
            done=sum(_final(file, run) for file in one),
            time=one[0].budget.time,
            steps=one[0].budget.steps,
            cores=one[0].resources.cores,
            cost=one[0].budget.cost if one[0].models else 0.0,
            origins=one[0].origins,
        )
        for one in alike.values()
    ]


def _final(file: TrialFile, run: RunFolder | None) -> bool:
    return run is not None and TrialFolder(run.path / "trials" / file.id).state.final
