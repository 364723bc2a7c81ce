"""Report a figure as a line for the reader and as a row of the table that `python benchmarks` prints at the end."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

COLLECT = "BENCH_FIGURES"
"""Environment variable with the file that figures are appended to when several benchmarks run together."""


@dataclass(frozen=True)
class Figure:
    """What was measured, what it is compared with, and the ratio of the two."""

    name: str
    value: str
    ratio: float
    baseline: str
    goal: float | None = None

    @property
    def verdict(self) -> str:
        """Whether the goal is met; empty if there is none."""
        if self.goal is None:
            return ""
        return "met" if self.ratio <= self.goal else "MISSED"


def report(name: str, value: str, ratio: float, baseline: str, goal: float | None = None) -> None:
    """Print a figure, and add it to the table if one is being collected."""
    figure = Figure(name, value, ratio, baseline, goal)
    verdict = "" if goal is None else f"; goal {goal:g}: {figure.verdict}"
    print(f"{name}: {value}, {ratio:.2f} x {baseline}{verdict}", flush=True)
    if path := os.environ.get(COLLECT):
        with Path(path).open("a") as file:
            file.write(json.dumps(asdict(figure)) + "\n")


def read_figures(path: Path) -> list[Figure]:
    """Read what `report` has collected."""
    return [Figure(**json.loads(line)) for line in path.read_text().splitlines()]
