"""What the choice among candidates costs: the agent's own pick, that of hidden rows, and the best there was.

A trial with `--selection report` or `hidden` records every candidate with its score on hidden validation rows. Here all
of them are graded on the test rows as well. A pick is worth the share of the trial's candidates that it beats, so that
tasks with different metrics can be averaged. Budgets are prefixes of the candidates: what would have been picked among
the first k.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from assay.core.errors import UsageError
from assay.core.figure import Axis, Figure, Key
from assay.core.home import Home
from assay.core.progress import stage
from assay.core.table import Column, Table, Value
from assay.core.text import plural
from assay.data.selection import find_obstacle
from assay.records import TrialFolder, read_events
from assay.records.selection import find_pick
from assay.results.claims import Claim, claim_sample
from assay.results.frame import TrialRow
from assay.results.paired import Experiment, PairedDifference, compare_arms
from assay.results.picks import list_candidates
from assay.results.progress import grade_candidates
from assay.runs.plan import Plan
from assay.studies.paired import describe_difference, make_difference_tables
from assay.studies.study import Study, StudyInput, StudyResult, StudySettings, option
from assay.studies.trials import group_by_agent, read_study_trials, record_of
from assay.tasks import Task
from assay.tasks.registry import task_of

OWN, HIDDEN, ORACLE = "own selection", "hidden selection", "oracle"
ALL = "all agents together"
_MIN_CANDIDATES = 2


class SelectionSettings(StudySettings):
    """Budgets at which picks are compared."""

    budgets: str | None = option(
        None, "Numbers of candidates, e.g. 2,4,8,16.  [default: powers of two, and all]", metavar="N,N…"
    )

    @property
    def levels(self) -> list[int]:
        """The budgets as numbers, in order."""
        try:
            return sorted({int(part) for part in self.budgets.split(",")}) if self.budgets else []
        except ValueError:
            raise UsageError(f"--budgets: {self.budgets!r} is not a list of numbers, e.g. 2,4,8,16") from None


@dataclass(frozen=True)
class CandidateScores:
    """A candidate of a trial: goodness by the agent's own validation, on hidden rows, and on test rows.

    `halves` are its goodness on one and on the other half of the test rows, where the noise of a score is known. Higher
    is better in all of them.
    """

    own: float | None
    hidden: float
    test: float
    halves: tuple[float, float]


@dataclass(frozen=True)
class SelectionTrial:
    """The candidates of a trial in the order in which they were made."""

    task: str
    seed: int
    candidates: tuple[CandidateScores, ...]
    own: int | None
    """The number of the candidate that the agent left as its submission."""

    def pick(self, rule: str, budget: int) -> float | None:
        """Return what a rule gains among the first candidates: the share of all candidates that its pick beats."""
        known = self.candidates[:budget]
        if rule == HIDDEN:
            return self._share(max(known, key=lambda each: each.hidden).test, lambda each: each.test)
        if rule == ORACLE:  # one half of the test rows chooses, and the other half scores
            first, second = max(known, key=lambda each: each.halves[0]), max(known, key=lambda each: each.halves[1])
            scored = self._share(first.halves[1], lambda each: each.halves[1])
            return (scored + self._share(second.halves[0], lambda each: each.halves[0])) / 2
        validated = [each for each in known if each.own is not None]
        if len(validated) == len(known):
            return self._share(max(validated, key=lambda each: each.own or 0.0).test, lambda each: each.test)
        if budget >= len(self.candidates) and self.own is not None:
            return self._share(self.candidates[self.own].test, lambda each: each.test)
        return None

    def _share(self, value: float, goodness: Callable[[CandidateScores], float]) -> float:
        """Return the share of the other candidates that are worse; ties count one half."""
        others = [goodness(each) for each in self.candidates]
        wins = sum(other < value for other in others) + (sum(other == value for other in others) - 1) / 2
        return wins / (len(others) - 1)


def run(source: StudyInput, settings: SelectionSettings) -> StudyResult:
    """Study the runs."""
    excluded: dict[str, str] = {}
    levels_of: dict[str, list[int]] = {}
    trials: dict[str, list[SelectionTrial]] = {}
    for agent, rows in group_by_agent(read_study_trials(source.runs)).items():
        read = _read_trials(rows, source.home, excluded)
        if read:
            trials[agent] = read
            levels_of[agent] = settings.levels or _choose_levels(read)
    if not trials:
        reasons = "; ".join(f"{trial}: {reason}" for trial, reason in excluded.items())
        raise UsageError(f"No trial has candidates; run with --selection report. {reasons}")
    if len(trials) > 1:
        merged = [trial for own in trials.values() for trial in own]
        trials[ALL] = [replace(trial, seed=number) for number, trial in enumerate(merged)]
        levels_of[ALL] = settings.levels or _choose_levels(merged)
    differences = {agent: _compare(own, levels_of[agent]) for agent, own in trials.items()}
    last = [(agent, list(levels.values())[-1]) for agent, levels in differences.items() if levels]
    table, by_task = make_difference_tables(last)
    sentences = [
        f"{agent}: {sentence}" for agent, difference in last for sentence in describe_difference(difference)[:2]
    ]
    return StudyResult(
        sentences,
        [_make_table(trials, differences, excluded), table],
        [_draw(trials, levels_of)],
        more=[by_task],
    )


def _read_trials(rows: Sequence[TrialRow], home: Home, excluded: dict[str, str]) -> list[SelectionTrial]:
    trials = []
    with stage("grading candidates", total=len(rows)) as advance:
        for row in rows:
            folder = record_of(row).folder
            trial = read_trial(folder, task_of(folder.file), home)
            if isinstance(trial, str):
                excluded[folder.path.name] = trial
            else:
                trials.append(trial)
            advance(1)
    return trials


def read_trial(folder: TrialFolder, task: Task, home: Home) -> SelectionTrial | str:
    """Return the candidates of a trial with all their scores, or why it cannot be studied."""
    events = read_events(folder.events)
    picked, sign = find_pick(events), 1.0 if task.metric.direction == "higher" else -1.0
    if picked is None:
        return "it has no hidden selection"
    own = list_candidates(events, picked, task.metric.direction)
    hidden = {entry.candidate: entry.score for entry in picked.scores if entry.score is not None}
    candidates, numbers = list[CandidateScores](), dict[str, int]()
    for each in grade_candidates(folder, task, home, own):
        if each.grade.score is not None and math.isfinite(each.grade.score):
            numbers[each.digest] = len(candidates)
            tested, halves = sign * each.grade.score, each.halves
            parts = (sign * halves[0], sign * halves[1]) if halves else (tested, tested)
            candidates.append(CandidateScores(own[each.digest], sign * hidden[each.digest], tested, parts))
    if len(candidates) < _MIN_CANDIDATES:
        return f"it has {plural(len(candidates), 'candidate')}"
    file = folder.file
    return SelectionTrial(file.task, file.seed, tuple(candidates), numbers.get(picked.own or ""))


def _choose_levels(trials: Sequence[SelectionTrial]) -> list[int]:
    most = max(len(trial.candidates) for trial in trials)
    return [*takewhile(lambda level: level < most, (2**power for power in range(1, 20))), most]


def _compare(trials: Sequence[SelectionTrial], levels: Sequence[int]) -> dict[int, PairedDifference]:
    """Return the gain of hidden over own selection at each budget, paired by trial."""
    arms = {level: [_values(trials, rule, level) for rule in (HIDDEN, OWN)] for level in levels}
    experiments = {
        level: Experiment(hidden, own, (HIDDEN, OWN), "percentile") for level, (hidden, own) in arms.items() if own
    }
    return dict(zip(experiments, compare_arms(list(experiments.values())), strict=True))


def _values(trials: Sequence[SelectionTrial], rule: str, level: int) -> dict[tuple[str, int], float]:
    values = {(trial.task, trial.seed): trial.pick(rule, level) for trial in trials}
    return {key: value for key, value in values.items() if value is not None}


def average_picks(trials: Sequence[SelectionTrial], rule: str, level: int) -> Claim | None:
    """Return the mean over the trials whose own pick is known, so that rules are compared on the same ones."""
    by_task: dict[str, list[float]] = {}
    known = _values(trials, OWN, level)
    for key, value in _values(trials, rule, level).items():
        if key in known or not known:
            by_task.setdefault(key[0], []).append(value)
    return claim_sample(rule, "share of candidates beaten", by_task) if by_task else None


def _make_table(
    trials: Mapping[str, Sequence[SelectionTrial]],
    differences: Mapping[str, Mapping[int, PairedDifference]],
    excluded: Mapping[str, str],
) -> Table:
    columns = (
        Column("agent", heading=True),
        Column("tasks", kind="integer"),
        Column("trials", kind="integer"),
        Column("budget", "candidates", "integer"),
        Column("own", OWN, "rate", decimals=1),
        Column("hidden", HIDDEN, "rate", decimals=1),
        Column("oracle", ORACLE, "rate", decimals=1),
        Column("here", "gain, these tasks", "difference", decimals=1),
        Column("gain", "gain, tasks like these", "difference", decimals=1),
    )
    rows: list[tuple[Value, ...]] = []
    for agent, own in trials.items():
        tasks = len({trial.task for trial in own})
        for level, difference in differences[agent].items():
            means = [average_picks(own, rule, level) for rule in (OWN, HIDDEN, ORACLE)]
            rows.append((agent, tasks, len(own), level, *means, difference.answers.these.claim, difference.claim))
    notes = (
        "Picks are measured by the share of all candidates of their trial that they beat on the test rows; 50% is a "
        "random pick.",
        "Oracle: the best candidate by one half of the test rows, measured on the other half, which is as far as a "
        "choice can be told from noise.",
        "Means are over the trials whose own pick at that budget is known; trials of several agents on one task are "
        "averaged as its trials. "
        "Gain: hidden minus own selection, paired by trial, allowing for all budgets by Holm's method. Intervals are "
        "for further trials of these tasks, and for other tasks like these.",
        *(f"Excluded: {trial}: {reason}" for trial, reason in excluded.items()),
    )
    return Table("selection", columns, tuple(rows), "Own and hidden selection over budgets", notes)


def _draw(trials: Mapping[str, Sequence[SelectionTrial]], levels: Mapping[str, Sequence[int]]) -> Figure:
    """Return the share of candidates that picks beat over the number of candidates: own dashed, oracle dotted."""
    figure = Figure(
        "selection",
        "Own (dashed), hidden (solid) and oracle (dotted) selection",
        x=Axis("candidates", "number"),
        y=Axis("share of all candidates that the pick beats", "rate"),
        legend=[Key(agent, color) for color, agent in enumerate(trials)] if len(trials) > 1 else (),
    )
    styles = {OWN: "dashed", HIDDEN: "", ORACLE: "dotted thin"}
    for color, (agent, own) in enumerate(trials.items()):
        for rule, style in styles.items():
            points = [(float(level), average_picks(own, rule, level)) for level in levels[agent]]
            claims = [(level, claim) for level, claim in points if claim]
            if claims:
                figure.curve(claims, band=rule == HIDDEN, color=color, style=style)
    return figure


def plan_report(plan: Plan, settings: SelectionSettings, local: bool) -> list[Plan]:
    """Return the plan with both picks recorded, on the tasks where a hidden part can be split off."""
    tasks = tuple(task for task in plan.tasks if find_obstacle(task.in_edition(plan.edition or task.edition)) is None)
    if not tasks:
        raise UsageError("No hidden part can be split off these tasks; assay tasks --selection lists where it can")
    return [replace(plan, tasks=tasks, selection="report")]


STUDY = Study(
    name="selection",
    summary="Compare the agent's own pick with the pick of hidden rows, over budgets.",
    settings=SelectionSettings,
    run=run,
    reads="plan",
    vary=plan_report,
    description="Pass finished runs with --selection report or hidden, or tasks and agents to run first. Every "
    "candidate is graded on the test rows afterwards, which no agent sees. Picks are compared among the first k "
    "candidates, and with the best candidate there was.",
    examples=(
        "assay study selection pocket --agent sampler --agent sampler,search=greedy",
        "assay study selection runs/reported --figure selection.svg",
    ),
)
