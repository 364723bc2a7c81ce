"""The page of curves, and the thread that grades submissions after each step for it.

Grading takes a process for each submission, which would disturb a run in progress, so it waits until all trials
have ended. Until then, and for trials whose steps cannot be graded, a trial has one row: its grade at its end.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import QueryParams

from assay.core.errors import AssayError
from assay.core.home import Home
from assay.records import TrialFolder
from assay.results.curves import Curve, make_curves
from assay.results.figures import number_colors
from assay.results.frame import TrialRow
from assay.results.progress import AXES, Axis, CurveMeasure, ProgressRow, load_progress, make_end, read_progress
from assay.tasks import Task
from assay.web.background import Background
from assay.web.drawing import draw_curves
from assay.web.runs import RunView

_MEASURES: tuple[CurveMeasure, ...] = ("success", "percentile", "score")
_MAX_GRADED = 300
"""Trials of a run whose steps are graded: more would take hours."""

Progress = tuple[ProgressRow, ...]


class StepGrader:
    """Grades the steps of trials one after the other in a thread."""

    def __init__(self, is_stopping: Callable[[], bool]) -> None:
        self._progress = Background(is_stopping=is_stopping)

    @property
    def finished(self) -> int:
        """How many trials it has graded."""
        return self._progress.finished

    def find(self, folder: TrialFolder, task: Task, row: TrialRow) -> Progress | str | None:
        """Return the progress of a trial, or why it cannot be graded; None if it will be known later."""
        key = str(folder.path)
        if key not in self._progress:
            stored = _read(load_progress, folder, task, row)
            if stored is None:
                self._progress.begin(key, lambda: _read(read_progress, folder, task, row))
            else:
                self._progress.compute(key, lambda: stored)
        progress: Progress | str | None = self._progress.find(key)
        return progress

    def is_known(self, folder: TrialFolder) -> bool:
        """Whether the steps of a trial have been graded, or cannot be."""
        return self._progress.find(str(folder.path)) is not None


def _read(
    read: Callable[[TrialFolder, Task, Home, TrialRow], Progress | None],
    folder: TrialFolder,
    task: Task,
    row: TrialRow,
) -> Progress | str | None:
    """Return the progress of a trial, or why it cannot be graded."""
    try:
        return read(folder, task, Home.default(), row)
    except (AssayError, OSError) as error:
        return str(error)


@dataclass(frozen=True)
class CurveQuery:
    """What the page of curves was asked for."""

    measure: CurveMeasure
    axis: Axis
    task: str | None
    measures: tuple[CurveMeasure, ...]

    @classmethod
    def read(cls, query: QueryParams, view: RunView) -> "CurveQuery":
        """Read it from the address; scores are for one task only, and percentiles where there are teams."""
        task = query.get("task") if query.get("task") in view.tasks else None
        if len(view.tasks) == 1:
            task = next(iter(view.tasks))
        ranked = any(row.has_leaderboard for row in view.rows)
        possible = {"success": True, "percentile": ranked, "score": task is not None}
        measures = tuple(name for name in _MEASURES if possible[name])
        default = measures[-1] if task else measures[0]
        return cls(
            measure=next((name for name in measures if name == query.get("measure")), default),
            axis=next((name for name in AXES if name == query.get("axis")), "time"),
            task=task,
            measures=measures,
        )


@dataclass(frozen=True)
class CurveSection:
    """The curves of the trials with the same rules, and a drawing of them."""

    rules: str
    curves: tuple[Curve, ...]
    figure: object


def make_curves_page(view: RunView, query: CurveQuery, grader: StepGrader) -> dict[str, Any]:
    """Return the curves of a run, as far as its submissions have been graded."""
    sections, problems, waiting, total = list[CurveSection](), dict[str, int](), 0, 0
    graded = not view.pending
    for section in view.sections:
        trials: list[Progress] = []
        for row in section.rows.counted:
            if row.pending or row.inapplicable or query.task not in (None, row.task):
                continue
            steps: Progress = (make_end(row),)
            if graded and row.valid and total < _MAX_GRADED:
                total += 1
                progress = grader.find(view.folders[row.trial], view.tasks[row.task], row)
                if isinstance(progress, str):
                    problems[progress] = problems.get(progress, 0) + 1
                elif progress is None:
                    waiting += 1
                else:
                    steps = progress
            trials.append(steps)
        if trials:
            curves = tuple(make_curves(trials, query.measure, query.axis))
            figure = draw_curves(curves, number_colors(view.rows.agents), query.axis, query.measure)
            sections.append(CurveSection(str(section.rules), curves, figure))
    return {
        "sections": sections,
        "colors": number_colors(view.rows.agents),
        "problems": problems,
        "waiting": waiting,
        "total": total,
        "running": view.pending,
        "max_graded": _MAX_GRADED,
    }
