"""The state of a run in a few lines of plain text."""

from assay.results.wording import counted, duration, failures
from assay.runs.status import RunStatus

_ORDER = ("waiting", "running", "submitted", "interrupted", "stopped", "done", "inapplicable")


def totals(status: RunStatus) -> list[str]:
    """How many trials are where, how long it takes, and what was used up."""
    stages, failed = status.stages, status.failed
    counts = [f"{stages[stage]} {stage}" for stage in _ORDER if stages.get(stage)]
    if failed:
        counts.append(f"{sum(failed.values())} failed ({failures(failed)})")  # type: ignore[arg-type]
    left = f", at most {duration(status.time_left)} to go" if status.time_left else ""
    money = f"{status.cost:.2f} dollars"
    if status.unpriced:
        money += f" and an unknown amount: the price of a model is not known in {counted(status.unpriced, 'trial')}"
    return [
        f"{counted(len(status.trials), 'trial')}: {', '.join(counts)}",
        f"worked for {duration(status.elapsed)}{left}; {status.tokens:,} tokens, {money}",
    ]
