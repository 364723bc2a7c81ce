"""`assay study paper`: the tables of the MLAgentBench paper for the trials of runs: success, improvement and effort."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from assay.core.claim import Claim, format_rate
from assay.core.quantities import format_cost
from assay.core.table import Column, Formatted, Table, Value
from assay.core.text import plural
from assay.core.values import NOTHING, Estimate, format_change, format_interval, format_percent
from assay.records import RunFolder, read_trials
from assay.results.claims import claim_sample
from assay.results.frame import make_registry
from assay.results.published_figures import PublishedFigures, load_published_figures
from assay.results.trajectory import FAILURE_KINDS
from assay.studies.study import Study, StudyInput, StudyResult, StudySettings, option
from assay.suites.mlagentbench.studies.figures import Effort, Gains, Paper, evaluate_trials, summarize_paper

_PROBLEMS: Mapping[str, str] = {
    "memory": "out of memory",
    "time": "out of time",
    "connection": "model unreachable",
    "format": "wrong format",
    "too long": "text too long",
    "crash": "crash",
    "machine": "machine failed",
}
_DIFFERENT, _SIMILAR = "≠", "≈"
_NOTES = (
    "Success: more than 10% over the starter's measured mean, or a medal where there is a leaderboard; share of all "
    "finished trials, with a 95% interval on this task.",
    "Beyond noise: also better than the starter by more than two standard deviations of its seeds.",
    "Improvement: mean ± standard error of valid submissions; invalid as 0: mean of all finished trials.",
    "Means over tasks weight all tasks equally. problem: share of trials in which it occurred.",
)


class PaperSettings(StudySettings):
    """Whether to compare."""

    published: bool = option(False, "Also show the figures published for the suite.")


def run(source: StudyInput, settings: PaperSettings) -> StudyResult:
    """Make the tables of all runs."""
    papers = summarize_paper([trial for folder in source.runs for trial in evaluate_trials(folder)])
    published = find_published_figures(*source.runs) if settings.published else {}
    return make_tables(papers, published)


def find_published_figures(*runs: RunFolder) -> dict[str, PublishedFigures]:
    """Return the published figures of the suites of some runs."""
    files = [trial.file for folder in runs for trial in read_trials(folder)]
    registry = make_registry(files)
    tasks = [registry.recorded_task(name) for name in {file.task for file in files}]
    figures = {task.suite: load_published_figures(task.folder.parent) for task in tasks}
    return {suite: known for suite, known in figures.items() if known}


def make_tables(papers: Sequence[Paper], published: Mapping[str, PublishedFigures]) -> StudyResult:
    """Return success, improvement and effort, separately for each set of rules; `published` is by suite."""
    if not papers:
        return StudyResult(["No trials yet."])
    tables: list[Table] = []
    more: list[Table] = []
    for number, paper in enumerate(papers):
        suffix = f"_{number + 1}" if number else ""
        tables += [_make_gains(paper, suffix), _make_means(paper, suffix), _make_efforts(paper, suffix)]
        more.append(_make_efforts_by_task(paper, suffix))
        if figures := published.get(paper.rules.suite):
            tables += _make_published(paper, figures, suffix)
    names = ", ".join(str(paper.rules) for paper in papers)
    return StudyResult([f"Tables of the MLAgentBench paper: {names}"], tables, more=more)


def _make_gains(paper: Paper, suffix: str) -> Table:
    columns = (
        Column("task", heading=True),
        Column("agent", min_width=8),
        Column("success", "success rate", "rate"),
        Column("beyond_noise", "beyond noise", "rate"),
        Column("improvement", "average improvement", "estimate"),
        Column("improvement_trials", kind="integer", data_only=True),
        Column("improvement_of_all", "invalid as 0", "estimate"),
    )
    rows = [
        (
            gains.task,
            agent,
            _write_rate(gains.success),
            gains.beyond_noise,
            _write_estimate(gains.improvement),
            gains.improvement.n if gains.improvement else 0,
            gains.improvement_of_all
            and Formatted(gains.improvement_of_all, format_change(gains.improvement_of_all.mean)),
        )
        for (_, agent), gains in sorted(paper.gains.items(), key=lambda item: paper.tasks.index(item[0][0]))
    ]
    notes = list(_NOTES)
    if any(gains.success is None for gains in paper.gains.values()):
        notes.append(f"{NOTHING}: no baseline was measured for this task on this data.")
    if paper.pending:
        notes.append(f"Not final: {plural(paper.pending, 'trial')} pending.")
    return Table(f"gains{suffix}", columns, tuple(rows), f"{paper.rules}, success and improvement", tuple(notes))


def _make_means(paper: Paper, suffix: str) -> Table:
    def gains_of(agent: str) -> list[Gains]:
        return [gains for (_, name), gains in paper.gains.items() if name == agent]

    def success(agent: str) -> Value:
        rates = {gains.task: [gains.success.value] for gains in gains_of(agent) if gains.success}
        if not rates:
            return None
        claim = claim_sample(agent, "success", rates)
        return Formatted(claim, f"{format_rate(claim)}, {plural(len(rates), 'task')}")

    def improvement(agent: str) -> Value:
        means = [gains.improvement.mean for gains in gains_of(agent) if gains.improvement]
        return (
            Formatted(fmean(means), f"{format_change(fmean(means))} ({plural(len(means), 'task')})") if means else None
        )

    columns = (
        Column("agent", min_width=8),
        Column("success", "success rate", "rate"),
        Column("improvement", "average improvement", "change"),
    )
    rows = [(agent, success(agent), improvement(agent)) for agent in paper.agents]
    note = "Intervals: 95%, on tasks like these."
    return Table(f"means{suffix}", columns, tuple(rows), f"{paper.rules}, means over tasks", (note,))


def _make_efforts(paper: Paper, suffix: str) -> Table:
    """Return a row for each measure and a column for each agent."""
    efforts = [paper.efforts.get(agent) for agent in paper.agents]
    written = [dict(_list_measures(effort, paper)) if effort else {} for effort in efforts]
    names = list(dict.fromkeys(name for measures in written for name in measures))
    rows = [(name, *(measures.get(name) for measures in written)) for name in names]
    columns = (Column("measure", "per trial"), *_number_columns(paper.agents))
    return Table(f"efforts{suffix}", columns, tuple(rows), f"{paper.rules}, effort")


def _make_efforts_by_task(paper: Paper, suffix: str) -> Table:
    columns = (Column("task"), Column("agent"), Column("measure"), Column("value", kind="number"))
    rows = [
        (task, agent, name, value)
        for (task, agent), effort in paper.efforts_by_task.items()
        for name, value in _list_measures(effort, paper)
    ]
    return Table(f"efforts_by_task{suffix}", columns, tuple(rows))


def _list_measures(effort: Effort, paper: Paper) -> Iterator[tuple[str, Value]]:
    """Yield the measures of an effort, without those that are empty for all agents."""
    every = list(paper.efforts.values())
    roles = list(dict.fromkeys(role for other in every for role in other.tokens_by_role))
    yield "trials", Formatted(effort.trials, str(effort.trials))
    yield "submitted", _write_share(effort.submitted)
    yield "finished by itself", _write_share(effort.ended_by_itself)
    yield "minutes", Formatted(effort.seconds.mean / 60, f"{effort.seconds.mean / 60:.1f}")
    yield "steps", Formatted(effort.steps.mean, f"{effort.steps.mean:.1f}")
    yield "tokens", Formatted(effort.tokens.mean, f"{effort.tokens.mean:,.0f}")
    for role in roles:
        tokens = effort.tokens_by_role.get(role)
        yield f"  tokens, {role}", None if tokens is None else Formatted(tokens, f"{tokens:,.0f}")
    cost = effort.cost.mean if effort.cost else None
    yield "cost", Formatted(cost, format_cost(cost))
    for role in roles:
        if role in effort.cost_by_role:
            yield f"  cost, {role}", Formatted(effort.cost_by_role[role], format_cost(effort.cost_by_role[role]))
    for trouble in FAILURE_KINDS:
        if any(other.troubles[trouble].count for other in every):
            yield f"problem: {_PROBLEMS[trouble]}", _write_share(effort.troubles[trouble])
    yield "failed", _write_share(effort.failed)
    for cause in dict.fromkeys(cause for other in every for cause in other.failures):
        yield f"  {_PROBLEMS.get(cause, cause)}", _write_share(effort.failures.get(cause))


def _make_published(paper: Paper, published: PublishedFigures, suffix: str) -> list[Table]:
    """Return the published tables, with the tasks of the run first and in their order."""
    compared = published.comparability(paper.rules.edition)
    notes = [f"Published, in % of {published.trials} trials each: {published.source}."]
    for mark, verdict in ((_SIMILAR, "is roughly comparable"), (_DIFFERENT, "is not comparable")):
        notes += [
            f"{mark} {name} {verdict}: {reason}."
            for name, reason in compared.differences.items()
            if (name in compared.comparable) == (mark == _SIMILAR)
        ]
    tables, marks = [], dict.fromkeys(compared.comparable, _SIMILAR)
    for name, title, figures, means in (
        ("success", "success rate", published.success, published.mean_success),
        ("improvement", "average improvement", published.improvement, published.mean_improvement),
    ):
        own = [short for task in paper.tasks if (short := task.partition("/")[2]) in figures]
        rows: list[tuple[Value, ...]] = [
            (Formatted(task, f"{marks.get(task, _DIFFERENT)} {task}"), *map(_one_decimal, figures[task]))
            for task in dict.fromkeys([*own, *figures])
        ]
        rows.append(("mean over tasks", *map(_one_decimal, means)))
        columns = (Column("task"), *_number_columns(published.columns))
        heading = f"{paper.rules.suite}, {title}, as published, in %"
        shared = tuple(notes) if name == "improvement" else ()
        tables.append(Table(f"published_{name}{suffix}", columns, tuple(rows), heading, shared))
    return tables


def _number_columns(names: Sequence[str]) -> Iterator[Column]:
    """Yield a column for each name; on a narrow terminal, the last ones are dropped first."""
    yield from (Column(name, kind="number", drop=len(names) - number) for number, name in enumerate(names))


def _one_decimal(value: float | None) -> Value:
    return None if value is None else Formatted(value, f"{value:.1f}".replace("-", "−"))


def _write_share(claim: Claim | None) -> Formatted:
    """Return a share with its interval, in a column that has other measures, too."""
    return Formatted(0.0, "none") if claim is None else Formatted(claim.value, format_rate(claim))


def _write_rate(rate: Claim | None) -> Value:
    if rate is None:
        return None
    return Formatted(rate, f"{format_percent(rate.value)} of {rate.trials} ({format_interval(rate)})")


def _write_estimate(estimate: Estimate | None) -> Value:
    if estimate is None:
        return None
    error = "" if estimate.error is None else f" ± {estimate.error * 100:.1f}"
    return Formatted(estimate, f"{format_change(estimate.mean)}{error} of {estimate.n}")


STUDY = Study(
    name="paper",
    summary="Show the tables of the MLAgentBench paper: success, improvement and effort.",
    settings=PaperSettings,
    run=run,
    description="Every finished trial counts: one that crashed, or submitted nothing or an invalid file, is a failure "
    "with a cause. With --published, the figures of the paper are shown, and how far they are comparable.",
    examples=("assay study paper runs/first", "assay study paper runs/first --published --json"),
)
