"""What came of a node: the metric its script printed, whether it holds, and why not where it does not."""

import re
from dataclasses import dataclass

from assay.agents.aide.journal import Node, Ran

_LINE = re.compile(r"^[ \t]*METRIC[ \t]*[:=](.*)$", re.MULTILINE)
_LARGEST = 1e100
_ENDED = {
    "time": "it took longer than it was allowed to",
    "memory": "it ran out of memory",
    "disk": "it filled the disk",
    "output": "it printed without end",
}


@dataclass(frozen=True)
class Tried:
    """What is known after a node's script has run: `fault` says what is wrong with its submission, if anything is."""

    ran: Ran
    stdout: str
    fault: str | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class Review:
    """What a model made of a script's output. It may call a node broken, never sound."""

    broken: bool
    summary: str
    metric: float | None = None


class NoMetric(Exception):
    """A script's output holds no metric that can be compared; its text says why."""


def settled(node: Node, tried: Tried, review: Review | None = None) -> Node:
    """The node with what came of it.

    A review may add a summary, call the node broken, and give the metric where the script printed no line for it.
    """
    why, metric = None if tried.ran.succeeded else _how_it_ended(tried.ran), None
    try:
        metric = metric_in(tried.stdout)
    except NoMetric as fault:
        metric = review.metric if review and not _LINE.search(tried.stdout) else None
        why = why or (str(fault) if metric is None else None)
    why = why or tried.fault
    if not why and review and review.broken:
        why = f"a review found it broken: {review.summary}"
    return node.model_copy(
        update={
            "settled": True,
            "ran": tried.ran,
            "metric": metric,
            "buggy": why is not None,
            "why": why or "",
            "finding": review.summary if review else "",
            "valid": tried.fault is None,
            "sha256": tried.sha256,
        }
    )


def unanswered(node: Node, why: str) -> Node:
    """The node of which there is no script, because the model gave none."""
    return node.model_copy(update={"settled": True, "buggy": True, "why": why})


def metric_in(stdout: str) -> float:
    """The number on the last line that says `METRIC: number`; `NoMetric` if there is none to compare."""
    lines = _LINE.findall(stdout)
    if not lines:
        raise NoMetric("it printed no line `METRIC: number`")
    said = lines[-1].strip()
    try:
        number = float(said)
    except ValueError:
        raise NoMetric(f"what follows METRIC: is not a number: {said[:100]!r}") from None
    if not comparable(number):
        raise NoMetric(f"its metric, {said[:100]}, is not a number that can be compared")
    return number


def comparable(number: float) -> bool:
    """Whether a metric can be averaged with others and still be a number."""
    return abs(number) <= _LARGEST


def _how_it_ended(ran: Ran) -> str:
    if ran.timed_out:
        return f"{_ENDED['time']} ({ran.seconds:.0f} seconds)"
    return _ENDED.get(ran.ended) or f"it ended with exit code {ran.code}"
