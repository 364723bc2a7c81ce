"""How results are written: the same words and digits on the terminal, in figures and on the report page."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import floor, log, log10
from typing import TYPE_CHECKING

from assay.core.quantities import format_duration
from assay.core.text import one_line, plural
from assay.results.outcome import Outcome

if TYPE_CHECKING:  # the words alone need no numpy, which takes longer to import than a small command
    from assay.results.comparison import AgentSummary
    from assay.results.inference import ErrorKind
    from assay.results.statistics import Cell, Estimate, Rate, Standing

__all__ = [
    "ARROWS",
    "NOTHING",
    "describe_failures",
    "describe_reasons",
    "format_cell_rank",
    "format_cell_score",
    "format_cell_valid",
    "format_change",
    "format_count",
    "format_duration",
    "format_estimate",
    "format_interval",
    "format_mean_success",
    "format_number",
    "format_percent",
    "format_rank",
    "format_standing_tasks",
    "format_strength",
    "format_trial_rank",
    "format_trial_result",
    "one_line",
    "plural",
    "short_task_name",
]

ARROWS = {"higher": "↑", "lower": "↓"}
NOTHING = "–"


def format_number(value: float, like: float | None = None) -> str:
    """Return `value` with four significant digits, or with the decimals that four digits of `like` have."""
    scale = abs(value if like is None else like)
    if scale >= 1e7:
        return f"{value:.3e}".replace("-", "−")
    decimals = 4 if scale == 0 else min(max(3 - floor(log10(scale)), 0), 6)
    return f"{value:.{decimals}f}".replace("-", "−")


def format_estimate(estimate: "Estimate | None") -> str:
    """Return `0.9815 ± 0.0009`, or the mean alone where there is no error."""
    if estimate is None:
        return NOTHING
    if estimate.error is None:
        return format_number(estimate.mean)
    return f"{format_number(estimate.mean)} ± {format_number(estimate.error, like=estimate.mean)}"


def format_change(fraction: float | None) -> str:
    """Return an improvement such as `+7.0 %` or `−12 %`."""
    if fraction is None:
        return NOTHING
    decimals = 1 if abs(fraction) < 0.9995 else 0
    text = f"{fraction * 100:+,.{decimals}f} %".replace(",", "\u202f")
    return text.replace("-", "−") if float(f"{fraction * 100:.1f}") else "0.0 %"


def format_percent(share: float) -> str:
    """Return a share of trials such as `67 %`."""
    return f"{share * 100:.0f} %"


def format_strength(one: "AgentSummary") -> str:
    """Return the rank strength of an agent with its interval in Elo points: 400 are odds of ten to one."""
    strengths = (one.strength, one.strength_interval.low, one.strength_interval.high)
    return "{:+.0f} ({:+.0f} to {:+.0f})".format(*(400 / log(10) * value for value in strengths)).replace("-", "−")


def format_interval(rate: "Rate") -> str:
    """Return the interval of a rate such as `39–86 %`."""
    return f"{rate.low * 100:.0f}–{rate.high * 100:.0f} %"


def format_count(rate: "Rate | None") -> str:
    """Return a rate as a count such as `8 of 9`."""
    return NOTHING if rate is None else f"{rate.count} of {rate.trials}"


def format_rank(rank: float | None, panel_size: int | None) -> str:
    """Return a rank among the reference solutions and the trial itself, such as `4 / 14`."""
    if rank is None:
        return NOTHING
    place = f"{rank:.0f}" if rank == round(rank) else f"{rank:.1f}"
    return place if panel_size is None else f"{place} / {panel_size + 1}"


def format_trial_rank(outcome: Outcome) -> str:
    """Return the medal of a trial where there is a leaderboard, else its rank in the panel."""
    grade = outcome.grade
    if grade is None or not outcome.valid:
        return NOTHING
    if not outcome.has_leaderboard:
        return format_rank(grade.rank, grade.panel_size)
    return grade.medal or "no medal"


def format_trial_result(outcome: Outcome) -> str:
    """Return the state or the end of a trial in a word or two."""
    if outcome.valid:
        return "valid"
    if outcome.inapplicable:
        return "not applicable"
    if outcome.pending:
        return "not graded" if outcome.status == "done" else outcome.status
    return f"{'invalid' if outcome.status == 'done' else outcome.status}: {outcome.failure_name}"


def format_cell_rank(cell: "Cell") -> str:
    """Return the medals where there is a leaderboard, else the mean rank in the panel."""
    if cell.medals is None:
        return format_rank(cell.rank.mean if cell.rank else None, cell.panel_size)
    medals = (("gold", cell.medals.gold), ("silver", cell.medals.silver), ("bronze", cell.medals.bronze))
    return ", ".join(f"{count} {name}" for name, count in medals if count) or "no medal"


def format_cell_score(cell: "Cell") -> str:
    """Return the score, or why there is none."""
    if cell.score is not None:
        return format_estimate(cell.score)
    if not cell.applies:
        return "not applicable"
    return f"failed: {', '.join(cell.kinds_of_failure)}" if cell.failures else "not finished"


def format_cell_valid(cell: "Cell") -> str:
    """Return how many of the finished trials have a score, and how many are not finished."""
    parts = [f"{cell.valid} of {cell.finished}"] if cell.finished else []
    return ", ".join([*parts, *([f"{cell.pending} pending"] if cell.pending else [])]) or NOTHING


def format_mean_success(standing: "Standing", error: "ErrorKind" = "tasks") -> str:
    """Return the mean of the success rates by task with its standard error, such as `61.1 ± 9.2 %`."""
    if standing.mean_over_tasks is None:
        return NOTHING
    spread = standing.errors.get(error)
    mean = f"{100 * standing.mean_over_tasks.mean:.1f}"
    return f"{mean} %" if spread is None else f"{mean} ± {100 * spread:.1f} %"


def format_standing_tasks(standing: "Standing") -> str:
    """Return how many of the tasks the agent can work on."""
    return f"{standing.tasks - standing.inapplicable_tasks} of {standing.tasks}"


def describe_failures(causes: Mapping[str, int] | Mapping[object, int]) -> str:
    """Return failures by cause, such as `2 agent, 1 infrastructure`."""
    return ", ".join(f"{count} {cause}" for cause, count in causes.items()) or "none"


def describe_reasons(cells: "Iterable[Cell]") -> Iterator[str]:
    """Yield a line for each reason why trials of an agent have no score, in the words of the record."""
    tasks: dict[tuple[str, str | None, str], list[str]] = {}
    trials = Counter[tuple[str, str | None, str]]()
    for cell in cells:
        for reason in cell.reasons:
            key = (cell.agent, reason.failure, reason.why)
            tasks.setdefault(key, []).append(short_task_name(cell.task))
            trials[key] += reason.trials
    for (agent, failure, why), names in tasks.items():
        what = f"{plural(trials[agent, failure, why], 'failure')} ({failure})" if failure else "not applicable"
        where = names[0] if len(names) == 1 else f"{len(names)} tasks"
        yield one_line(f"{agent} on {where}: {what}: {why}")


def short_task_name(task: str) -> str:
    """Return the name of a task without its suite."""
    return task.partition("/")[2] or task
