"""Grade a list of submissions in the published benchmark's format, and write its report.

A line of the list is a JSON object with `competition_id` and `submission_path`; blank lines and comments (`#`, `//`)
are skipped. A bad line does not keep the others from being graded.
"""

import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.core.disk import write_json
from assay.core.errors import AssayError, UsageError
from assay.core.home import Home
from assay.core.own_path import start_fork_server
from assay.core.progress import Advance, Progress
from assay.grading.result import Grade
from assay.tasks import Registry, Task

if TYPE_CHECKING:
    from assay.data.store import Prepared
    from assay.lab.interface import SandboxName

TOTALS = {
    "total_runs_with_submissions": "submission_exists",
    "total_valid_submissions": "valid_submission",
    "total_medals": "any_medal",
    "total_gold_medals": "gold_medal",
    "total_silver_medals": "silver_medal",
    "total_bronze_medals": "bronze_medal",
    "total_above_median": "above_median",
}

# Starting workers takes a second or two, so they must have more than that to do.
_MIN_PARALLEL_SECONDS = 5.0
_SECONDS_PER_FILE = 0.01
_BYTES_PER_SECOND = 30 * 10**6
# A large file may take much memory; in a worker it can only end that worker.
_MAX_SIZE_IN_PROCESS = 10 * 10**6


@dataclass(frozen=True)
class BatchEntry:
    """One line of a list of submissions."""

    line: int
    task: str
    path: str | None


@dataclass(frozen=True)
class NotGraded:
    """A line that could not be graded for a reason other than the submission itself."""

    line: int
    task: str
    why: str


def read_list(path: Path) -> list[BatchEntry]:
    """Return the submissions listed in a JSONL file; `UsageError` names the first line that is not one."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read as a list of submissions: {error}") from None
    return [_parse_line(path, number, line) for number, line in enumerate(lines, 1) if not _is_comment(line)]


@dataclass(frozen=True)
class BatchConfig:
    """What all submissions of a list have in common: where their tasks and data are, and how they are graded."""

    home: Home
    folders: tuple[Path, ...] = ()
    edition: str | None = None
    variant: str = "real"
    sandbox: "SandboxName" = "auto"


def grade_all(
    entries: Sequence[BatchEntry], config: BatchConfig, *, processes: int | None = None, progress: Progress
) -> list[Grade | NotGraded]:
    """Grade every entry and return the results in the same order.

    Short lists of small files are graded in this process, others in several. Timed tasks are graded last and one at a
    time, because their score depends on what else is running.
    """
    grader = _Grader(config)
    timed = [entry for entry in entries if grader.is_timed(entry)]
    others = [entry for entry in entries if entry not in set(timed)]
    results: dict[BatchEntry, Grade | NotGraded] = {}
    with progress.stage(f"grading {len(entries)} submissions", total=len(entries)) as advance:
        if _pays_for_workers(others, grader):
            results |= _grade_in_workers(others, config, processes or len(os.sched_getaffinity(0)), advance)
        else:
            for entry in others:
                results[entry] = grader.grade(entry)
                advance(1)
        for entry in timed:
            results[entry] = grader.grade(entry)
            advance(1)
    return [results[entry] for entry in entries]


def make_report(results: Sequence[Grade | NotGraded]) -> dict[str, Any]:
    """Return the published grading report of these grades, with its keys in its order, and our own `not_graded`."""
    grades = [result for result in results if isinstance(result, Grade)]
    totals = {name: sum(getattr(grade, field) for grade in grades) for name, field in TOTALS.items()}
    faults = [
        {"line": result.line, "competition_id": result.task, "why": result.why}
        for result in results
        if isinstance(result, NotGraded)
    ]
    return {
        "total_runs": len(grades),
        **totals,
        "competition_reports": [grade.model_dump(mode="json") for grade in grades],
        "format": "grading-report/1",
        "not_graded": faults,
    }


def write_report(folder: Path, content: dict[str, Any]) -> Path:
    """Write a report under the name that the published tools look for."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{time.strftime('%Y-%m-%dT%H-%M-%S-GMT', time.gmtime())}_grading_report.json"
    write_json(path, content, mode=None)
    return path


def _is_comment(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith(("#", "//"))


def _parse_line(path: Path, number: int, line: str) -> BatchEntry:
    try:
        content = json.loads(line)
        task, submission = content["competition_id"], content["submission_path"]
        if not isinstance(task, str) or not isinstance(submission, str | None):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UsageError(
            f'{path}, line {number}: not a submission; write {{"competition_id": "…", "submission_path": "…"}}'
        ) from None
    return BatchEntry(number, task, submission)


class _Grader:
    """Grades entries; each task and its prepared data are loaded once."""

    def __init__(self, config: BatchConfig) -> None:
        self._config = config
        self._registry = Registry(config.folders)
        self._tasks: dict[str, Task] = {}
        self._prepared: dict[str, Prepared] = {}

    def grade(self, entry: BatchEntry) -> Grade | NotGraded:
        """Grade one entry, or return why that is impossible."""
        from assay.data.store import load_prepared
        from assay.grading.grade import grade_submission

        config = self._config
        try:
            task = self._task(entry.task)
            if entry.task not in self._prepared:
                self._prepared[entry.task] = load_prepared(config.home, task, config.edition, config.variant)
            source = Path(entry.path) if entry.path else None
            return grade_submission(source, self._prepared[entry.task], home=config.home, sandbox=config.sandbox)
        except AssayError as error:
            return NotGraded(entry.line, entry.task, str(error))

    def is_timed(self, entry: BatchEntry) -> bool:
        """Return whether the score of an entry is a time measurement."""
        try:
            return self._task(entry.task).timed
        except UsageError:
            return False  # grading the entry reports the unknown task

    def runs_code(self, entry: BatchEntry) -> bool:
        """Return whether an entry is graded by running it in a lab."""
        try:
            return self._task(entry.task).judged_in_lab
        except UsageError:
            return False

    def _task(self, name: str) -> Task:
        if name not in self._tasks:
            self._tasks[name] = self._registry.competition(name)
        return self._tasks[name]


def _pays_for_workers(entries: Sequence[BatchEntry], grader: _Grader) -> bool:
    """Return whether grading is estimated to take so long, or so much memory, that workers are worth their start."""
    if any(grader.runs_code(entry) for entry in entries):
        return True
    sizes = [_file_size(entry) for entry in entries]
    seconds = len(entries) * _SECONDS_PER_FILE + sum(sizes) / _BYTES_PER_SECOND
    return seconds > _MIN_PARALLEL_SECONDS or max(sizes, default=0) > _MAX_SIZE_IN_PROCESS


def _file_size(entry: BatchEntry) -> int:
    try:
        return Path(entry.path).stat().st_size if entry.path else 0
    except (OSError, ValueError):
        return 0  # grading the entry reports what is wrong with its file


def _grade_in_workers(
    entries: Sequence[BatchEntry], config: BatchConfig, processes: int, advance: Advance
) -> dict[BatchEntry, Grade | NotGraded]:
    """Grade in worker processes. If one dies, grade the remaining entries one by one, to find out which killed it."""
    from concurrent.futures.process import BrokenProcessPool

    results: dict[BatchEntry, Grade | NotGraded] = {}
    try:
        for entry, result in _map_in_pool(entries, config, min(processes, len(entries))):
            results[entry] = result
            advance(1)
    except BrokenProcessPool:
        for entry in [entry for entry in entries if entry not in results]:
            try:
                results |= dict(_map_in_pool([entry], config, 1))
            except BrokenProcessPool:
                results[entry] = NotGraded(entry.line, entry.task, "the grading process died")
            advance(1)
    return results


def _map_in_pool(
    entries: Sequence[BatchEntry], config: BatchConfig, workers: int
) -> Iterator[tuple[BatchEntry, Grade | NotGraded]]:
    from concurrent.futures import ProcessPoolExecutor

    context = start_fork_server("assay.grading.grade")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        yield from zip(entries, pool.map(_grade_alone, entries, [config] * len(entries)), strict=True)


def _grade_alone(entry: BatchEntry, config: BatchConfig) -> Grade | NotGraded:
    return _Grader(config).grade(entry)
