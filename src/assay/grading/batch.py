"""Many submissions at once: the published benchmark's list of submissions in, its report out.

A line of the list is a JSON object with `competition_id` and `submission_path`; blank lines and comments (`#`, `//`)
are skipped. Whatever one line holds, the others are graded.
"""

import json
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from assay.core.disk import write_json
from assay.core.errors import AssayError, UsageError
from assay.core.home import Home
from assay.core.progress import Advance, Progress
from assay.grading.result import Grade
from assay.tasks import Registry

TOTALS = {
    "total_runs_with_submissions": "submission_exists",
    "total_valid_submissions": "valid_submission",
    "total_medals": "any_medal",
    "total_gold_medals": "gold_medal",
    "total_silver_medals": "silver_medal",
    "total_bronze_medals": "bronze_medal",
    "total_above_median": "above_median",
}


@dataclass(frozen=True)
class Entry:
    """One line of a list of submissions."""

    line: int
    task: str
    path: str | None


@dataclass(frozen=True)
class NotGraded:
    """A line that could not be graded for a reason that is not the submission's."""

    line: int
    task: str
    why: str


def read_list(path: Path) -> list[Entry]:
    """The submissions listed in a JSONL file; `UsageError` names the first line that is not one."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read as a list of submissions: {error}") from None
    return [_entry(path, number, line) for number, line in enumerate(lines, 1) if _counts(line)]


def grade_all(
    entries: Sequence[Entry],
    *,
    home: Home,
    folders: Sequence[Path] = (),
    edition: str | None = None,
    variant: str = "real",
    sandbox: str = "bubblewrap",
    processes: int | None = None,
    progress: Progress,
) -> list[Grade | NotGraded]:
    """Grade every entry, several at once; the results are in the order of the entries.

    Timed tasks are graded last and one at a time, as their score depends on what else runs.
    """
    known = Registry(folders)
    timed = {entry for entry in entries if _is_timed(known, entry.task)}
    judge = partial(_judge, home=home.root, folders=tuple(folders), edition=edition, variant=variant, sandbox=sandbox)
    results: dict[Entry, Grade | NotGraded] = {}
    with progress.stage(f"grading {len(entries)} submissions", total=len(entries)) as advance:
        results |= _in_processes(judge, [entry for entry in entries if entry not in timed], processes, advance)
        results |= _in_processes(judge, list(timed), 1, advance)
    return [results[entry] for entry in entries]


def report(results: Sequence[Grade | NotGraded]) -> dict[str, Any]:
    """The published grading report of these grades, with its keys in its order; `not_graded` is ours."""
    grades = [result for result in results if isinstance(result, Grade)]
    totals = {name: sum(getattr(grade, field) for grade in grades) for name, field in TOTALS.items()}
    faults = [
        {"line": one.line, "competition_id": one.task, "why": one.why} for one in results if isinstance(one, NotGraded)
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
    write_json(path, content)
    return path


def _counts(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith(("#", "//"))


def _entry(path: Path, number: int, line: str) -> Entry:
    try:
        content = json.loads(line)
        task, submission = content["competition_id"], content["submission_path"]
        if not isinstance(task, str) or not isinstance(submission, str | None):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UsageError(
            f'{path}, line {number}: not a submission; write {{"competition_id": "…", "submission_path": "…"}}'
        ) from None
    return Entry(number, task, submission)


def _is_timed(known: Registry, name: str) -> bool:
    try:
        return known.competition(name).timed
    except UsageError:
        return False  # told by the line's own result


def _judge(
    entry: Entry, *, home: Path, folders: tuple[Path, ...], edition: str | None, variant: str, sandbox: Any
) -> Grade | NotGraded:
    from assay.data.store import load_prepared
    from assay.grading.grade import grade_submission

    try:
        task = Registry(folders).competition(entry.task)
        data = load_prepared(Home(home), task, edition, variant)
        return grade_submission(Path(entry.path) if entry.path else None, task, data, home=Home(home), sandbox=sandbox)
    except AssayError as error:
        return NotGraded(entry.line, entry.task, str(error))


def _in_processes(
    judge: "partial[Grade | NotGraded]", entries: Sequence[Entry], processes: int | None, advance: Advance
) -> dict[Entry, Grade | NotGraded]:
    """Judge in other processes. If one of them dies, the entries that are left go on one by one, to find out which."""
    results: dict[Entry, Grade | NotGraded] = {}
    workers = min(processes or len(os.sched_getaffinity(0)), len(entries)) or 1
    try:
        for entry, result in _pool(judge, entries, workers):
            results[entry] = result
            advance(1)
    except BrokenProcessPool:
        for entry in [entry for entry in entries if entry not in results]:
            try:
                results |= dict(_pool(judge, [entry], 1))
            except BrokenProcessPool:
                results[entry] = NotGraded(entry.line, entry.task, "grading it ended the grader's process")
            advance(1)
    return results


def _pool(
    judge: "partial[Grade | NotGraded]", entries: Sequence[Entry], workers: int
) -> Iterator[tuple[Entry, Grade | NotGraded]]:
    context = get_context("forkserver")
    context.set_forkserver_preload(["assay.grading.grade"])
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        yield from zip(entries, pool.map(judge, entries), strict=True)
