"""The page of curves, and the thread that grades submissions after each step for it.

Grading takes a process for each submission, which would disturb a run in progress, so it waits until all trials
have ended. Until then, and for trials whose steps cannot be graded, a trial has one row: its grade at its end.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import QueryParams

from assay.core.errors import AssayError
from assay.core.home import Home
from assay.records import TrialFolder
from assay.results.curves import Curve, make_curves
from assay.results.outcome import Outcome
from assay.results.progress import AXES, Axis, CurveMeasure, ProgressRow, load_progress, make_end, read_progress
from assay.tasks import Task
from assay.web.drawing import draw_curves
from assay.web.pages import number_colors
from assay.web.runs import RunView

_MEASURES: tuple[CurveMeasure, ...] = ("success", "percentile", "score")
_MAX_GRADED = 300
"""Trials of a run whose steps are graded: more would take hours."""

Progress = tuple[ProgressRow, ...]


class StepGrader:
    """Grades the steps of trials one after the other in a thread."""

    def __init__(self, is_stopping: Callable[[], bool]) -> None:
        self._is_stopping = is_stopping
        self._known: dict[str, Progress | str] = {}
        self._waiting: dict[str, tuple[TrialFolder, Task, Outcome]] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.finished = 0

    def find(self, folder: TrialFolder, task: Task, outcome: Outcome) -> Progress | str | None:
        """Return the progress of a trial, or why it cannot be graded; None if it will be known later."""
        key = str(folder.path)
        with self._lock:
            if key in self._known:
                return self._known[key]
            if key in self._waiting:
                return None
        stored = _read(load_progress, folder, task, outcome)
        with self._lock:
            if stored is not None:
                self._known[key] = stored
                return stored
            self._waiting[key] = (folder, task, outcome)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()
        return None

    def is_known(self, folder: TrialFolder) -> bool:
        """Whether the steps of a trial have been graded, or cannot be."""
        with self._lock:
            return str(folder.path) in self._known

    def _work(self) -> None:
        while not self._is_stopping():
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return
                key, trial = next(iter(self._waiting.items()))
            progress = _read(read_progress, *trial)
            assert progress is not None
            with self._lock:
                self._known[key] = progress
                del self._waiting[key]
                self.finished += 1


def _read(
    read: Callable[[TrialFolder, Task, Home, Outcome], Progress | None],
    folder: TrialFolder,
    task: Task,
    outcome: Outcome,
) -> Progress | str | None:
    """Return the progress of a trial, or why it cannot be graded."""
    try:
        return read(folder, task, Home.default(), outcome)
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
        ranked = any(outcome.has_leaderboard for outcome in view.outcomes)
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
    folders = {trial.folder.path.name: trial.folder for trial, _ in view.summaries}
    sections, problems, waiting, total = list[CurveSection](), dict[str, int](), 0, 0
    graded = not view.pending
    for section in view.sections:
        chosen = [outcome for outcome in section.outcomes if outcome.counts and query.task in (None, outcome.task)]
        trials: list[Progress] = []
        for outcome in chosen:
            if outcome.pending or outcome.inapplicable:
                continue
            rows: Progress = (make_end(outcome),)
            if graded and outcome.valid and total < _MAX_GRADED:
                total += 1
                progress = grader.find(folders[outcome.trial], view.tasks[outcome.task], outcome)
                if isinstance(progress, str):
                    problems[progress] = problems.get(progress, 0) + 1
                elif progress is None:
                    waiting += 1
                else:
                    rows = progress
            trials.append(rows)
        if trials:
            curves = tuple(make_curves(trials, query.measure, query.axis))
            figure = draw_curves(curves, number_colors(view), query.axis, percent=query.measure != "score")
            sections.append(CurveSection(str(section.rules), curves, figure))
    return {
        "sections": sections,
        "colors": number_colors(view),
        "problems": problems,
        "waiting": waiting,
        "total": total,
        "running": view.pending,
        "max_graded": _MAX_GRADED,
    }
