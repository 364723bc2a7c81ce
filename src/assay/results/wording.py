"""How results are said: the same words and digits on the terminal, in figures and in the report."""

from collections.abc import Iterable, Iterator, Mapping
from math import floor, log10

from assay.records.trial import Cause
from assay.results.outcome import Outcome
from assay.results.statistics import Cell, Estimate, Rate, Standing

ARROWS = {"higher": "↑", "lower": "↓"}
NOTHING = "–"


def plain(text: str, limit: int = 400) -> str:
    """Text from outside on one line, without control characters that could steer a terminal or break a page."""
    line = "".join(c if c.isprintable() else " " if c.isspace() else "\ufffd" for c in text)
    return line if len(line) <= limit else line[: limit - 1] + "…"


def number(value: float, like: float | None = None) -> str:
    """`value` with four significant digits, or with as many decimals as four digits of `like` take."""
    scale = abs(value if like is None else like)
    if scale >= 1e7:
        return f"{value:.3e}".replace("-", "−")
    decimals = 4 if scale == 0 else min(max(3 - floor(log10(scale)), 0), 6)
    return f"{value:.{decimals}f}".replace("-", "−")


def mean_and_error(estimate: Estimate | None) -> str:
    """`0.9815 ± 0.0009`, or the mean alone where there is no error."""
    if estimate is None:
        return NOTHING
    if estimate.error is None:
        return number(estimate.mean)
    return f"{number(estimate.mean)} ± {number(estimate.error, like=estimate.mean)}"


def change(fraction: float | None) -> str:
    """An improvement, as `+7.0 %` or `−12 %`."""
    if fraction is None:
        return NOTHING
    decimals = 1 if abs(fraction) < 0.9995 else 0
    text = f"{fraction * 100:+,.{decimals}f} %".replace(",", "\u202f")
    return text.replace("-", "−") if float(f"{fraction * 100:.1f}") else "0.0 %"


def percent(share: float) -> str:
    """A share of trials, as `67 %`."""
    return f"{share * 100:.0f} %"


def interval(rate: Rate) -> str:
    """A rate's interval, as `39–86 %`."""
    return f"{rate.low * 100:.0f}–{rate.high * 100:.0f} %"


def failures(causes: Mapping[Cause, int]) -> str:
    """Failures by cause, as `2 agent, 1 infrastructure`."""
    return ", ".join(f"{n} {cause}" for cause, n in causes.items()) or "none"


def count_of(rate: Rate | None) -> str:
    """A rate as a count, `8 of 9`."""
    return NOTHING if rate is None else f"{rate.count} of {rate.trials}"


def duration(seconds: float) -> str:
    """A time span, as `8 s`, `3 min 20 s` or `2 h 05 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def counted(n: int, noun: str) -> str:
    """`1 trial`, `3 trials`."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def placing(rank: float | None, panel_size: int | None) -> str:
    """A rank among the panel's solutions and the trial itself, as `4 / 14`."""
    if rank is None:
        return NOTHING
    place = f"{rank:.0f}" if rank == round(rank) else f"{rank:.1f}"
    return place if panel_size is None else f"{place} / {panel_size + 1}"


def trial_placing(outcome: Outcome) -> str:
    """A trial's medal where there is a leaderboard, else its rank in the panel."""
    grade = outcome.grade
    if grade is None or not outcome.valid:
        return NOTHING
    if not outcome.has_leaderboard:
        return placing(grade.rank, grade.panel_size)
    return grade.medal or "no medal"


def trial_result(outcome: Outcome) -> str:
    """How a trial ended or how far it is, in a word or two."""
    if outcome.valid:
        return "valid"
    if outcome.inapplicable:
        return "does not apply"
    if outcome.pending:
        return "not graded" if outcome.status == "done" else outcome.status
    return f"{'invalid' if outcome.status == 'done' else outcome.status}: {outcome.failure}"


def cell_placing(cell: Cell) -> str:
    """Medals where there is a leaderboard, else the mean rank in the panel."""
    if cell.medals is None:
        return placing(cell.rank.mean if cell.rank else None, cell.panel_size)
    medals = (("gold", cell.medals.gold), ("silver", cell.medals.silver), ("bronze", cell.medals.bronze))
    return ", ".join(f"{n} {name}" for name, n in medals if n) or "no medal"


def cell_score(cell: Cell) -> str:
    """The score, or in its place why there is none."""
    if cell.score is not None:
        return mean_and_error(cell.score)
    if not cell.applies:
        return "does not apply"
    return f"failed: {', '.join(cell.failures)}" if cell.failures else "not finished"


def cell_valid(cell: Cell) -> str:
    """How many of the trials that should give a score did."""
    return f"{cell.valid} of {cell.trials - cell.inapplicable}" if cell.applies else NOTHING


def reasons(cells: Iterable[Cell]) -> Iterator[str]:
    """A line for each thing that kept a trial from a score, in the record's own words."""
    for cell in cells:
        for reason in cell.reasons:
            what = f"{counted(reason.trials, 'failure')} ({reason.cause})" if reason.cause else "does not apply"
            yield plain(f"{cell.agent} on {task_name(cell.task)}: {what}: {reason.why}")


def standing_tasks(standing: Standing) -> str:
    """How many of the tasks an agent applies to."""
    return f"{standing.tasks - standing.inapplicable_tasks} of {standing.tasks}"


def task_name(task: str) -> str:
    """A task's name without its suite, for places that name the suite already."""
    return task.partition("/")[2] or task
