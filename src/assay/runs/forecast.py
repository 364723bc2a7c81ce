"""What a plan would run, and the maximum time and cost of it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import groupby

from assay.core.errors import LabError, NotPrepared, RecordError
from assay.core.home import Home
from assay.core.quantities import format_size
from assay.core.text import plural
from assay.data.store import choose_variant
from assay.lab.environments import is_built
from assay.records import RunFolder, TrialFile, TrialFolder, read_trials
from assay.runs.execute import prepares_in_seconds
from assay.runs.plan import Plan


@dataclass(frozen=True)
class ForecastLine:
    """The trials of one agent with one set of models on one task."""

    task: str
    agent: str
    models: dict[str, str]
    seeds: int
    done: int
    time: float
    steps: int
    tokens: int | None
    cores: int
    memory: int
    gpus: int
    cost: float | None
    origins: dict[str, str]


@dataclass(frozen=True)
class Forecast:
    """What a plan would run. Time and cost are upper bounds, the budgets of all trials, not estimates."""

    lines: tuple[ForecastLine, ...]
    unready: dict[str, str]
    environments: tuple[str, ...]
    unbuilt: tuple[str, ...]
    cores: int

    @property
    def trials(self) -> int:
        """The number of trials, without those of tasks that are not ready."""
        return sum(line.seeds for line in self.lines)

    @property
    def done(self) -> int:
        """How many of the trials are finished already."""
        return sum(line.done for line in self.lines)

    @property
    def time(self) -> float:
        """The maximum time in seconds: every unfinished trial uses its whole budget, and starts once cores are free."""
        now, free, running = 0.0, self.cores, list[tuple[float, int]]()
        for line in self.lines:
            cores = min(line.cores, self.cores)
            for _ in range(line.seeds - line.done):
                while free < cores:
                    now, freed = heappop(running)
                    free += freed
                heappush(running, (now + line.time, cores))
                free -= cores
        return max((end for end, _ in running), default=0.0)

    @property
    def cost(self) -> float | None:
        """The maximum cost in dollars; None if a trial that uses models has no cost limit."""
        costs = [None if line.cost is None else line.cost * (line.seeds - line.done) for line in self.lines]
        return None if None in costs else sum(cost for cost in costs if cost is not None)


def forecast(plan: Plan, home: Home, cores: int, run: RunFolder | None = None) -> Forecast:
    """Forecast a plan, for which `run` may have finished trials.

    `unready` says what to do about the other tasks, `environments` are those of the labs, and `unbuilt` those of them
    that a run builds first.
    """
    lines: list[ForecastLine] = []
    unready: dict[str, str] = {}
    for task in plan.tasks:
        try:
            files = list(replace(plan, tasks=(task,)).trials(home, check_models=False, check_built=False))
        except (NotPrepared, LabError) as error:
            variant = choose_variant(home, task, plan.edition, plan.variant)
            by_run = isinstance(error, NotPrepared) and prepares_in_seconds(task, variant)
            unready[task.id] = "the run prepares it first, which takes seconds" if by_run else str(error)
            continue
        lines += _group(files, run)
    ready = replace(plan, tasks=tuple(task for task in plan.tasks if task.id not in unready))
    environments = tuple(ready.environments(home))
    unbuilt = tuple(name for name in environments if not is_built(home, name))
    return Forecast(tuple(lines), unready, environments, unbuilt, cores)


def find_shortfalls(lines: Iterable[ForecastLine], cores: int, memory: int, gpus: int) -> list[str]:
    """Return what the trials of a plan ask for and a machine with these resources cannot give, as sentences."""
    needs = [(line.cores, line.memory, line.gpus) for line in lines]
    most = [max(column) for column in zip(*needs, strict=True)] or [0, 0, 0]
    sentences = []
    if most[0] > cores:
        sentences.append(f"trials plan {plural(most[0], 'core')} and get {cores}")
    if most[1] > memory:
        sentences.append(f"trials plan {format_size(most[1])} of memory, and there are {format_size(memory)}")
    if most[2] > gpus:
        sentences.append(f"trials plan {plural(most[2], 'GPU')}, and there are {gpus}: they cannot run here")
    return sentences


def _group(files: Iterable[TrialFile], run: RunFolder | None) -> list[ForecastLine]:
    groups: dict[str, list[TrialFile]] = defaultdict(list)
    for file in files:
        groups[f"{file.label} {file.models} {file.settings}"].append(file)
    return [
        ForecastLine(
            task=group[0].task,
            agent=group[0].label,
            models=group[0].models,
            seeds=len(group),
            done=sum(_final(file, run) for file in group),
            time=group[0].budget.time,
            steps=group[0].budget.steps,
            tokens=group[0].budget.tokens,
            cores=group[0].resources.cores,
            memory=group[0].resources.memory,
            gpus=group[0].resources.gpus,
            cost=_max_cost(group[0]),
            origins=group[0].origins,
        )
        for group in groups.values()
    ]


def _max_cost(file: TrialFile) -> float | None:
    """Return the maximum cost of a trial: its limit, or its tokens at the output price of its most expensive model."""
    if not file.models:
        return 0.0
    if file.budget.cost is not None or file.budget.tokens is None:
        return file.budget.cost
    from assay.models import Prices
    from assay.models.messages import Usage

    prices = Prices.model_validate({"models": file.prices})
    costs = [prices.cost(model, Usage(output_tokens=file.budget.tokens)) for model in file.models.values()]
    return None if None in costs else max(cost for cost in costs if cost is not None)


def expected_cost(lines: Iterable[ForecastLine], runs: Iterable[RunFolder]) -> tuple[float, int] | None:
    """Return what the unfinished trials cost at the mean of finished ones, and how many of those there are.

    Only trials of the same agent with the same models count; None if there are none for some of the trials to run.
    Runs that cannot be read do not count.
    """
    costs: dict[tuple[str, str], list[float]] = defaultdict(list)
    for run in runs:
        try:
            trials = read_trials(run)
        except RecordError:
            continue
        for trial in trials:
            if trial.state.final and trial.state.cost is not None:
                costs[_agent_and_models(trial.file.label, trial.file.models)].append(trial.state.cost)
    total, finished = 0.0, 0
    unfinished = [line for line in lines if line.models and line.seeds > line.done]
    for key, group in groupby(sorted(unfinished, key=_key), _key):
        if not (known := costs.get(key)):
            return None
        total += sum(line.seeds - line.done for line in group) * sum(known) / len(known)
        finished += len(known)
    return (total, finished) if finished else None


def _key(line: ForecastLine) -> tuple[str, str]:
    return _agent_and_models(line.agent, line.models)


def _agent_and_models(agent: str, models: Mapping[str, str]) -> tuple[str, str]:
    return agent, str(sorted(models.items()))


def _final(file: TrialFile, run: RunFolder | None) -> bool:
    return run is not None and TrialFolder(run.path / "trials" / file.id).state.final
