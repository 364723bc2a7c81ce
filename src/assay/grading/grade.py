"""From a file that was handed in to its grade."""

import math
import os
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from assay.core.errors import InvalidSubmission
from assay.core.home import Home
from assay.grading import medals
from assay.grading.metrics import evaluate
from assay.grading.result import Grade, Judgement, NotFinite
from assay.grading.submission.answers import read_answers
from assay.grading.submission.read import check
from assay.grading.submission.safe_open import read_plain_file
from assay.tasks import EditionRules, Measured, Task

if TYPE_CHECKING:
    from assay.data.store import Prepared
    from assay.lab.interface import SandboxName

_NOT_FINITE: dict[str, NotFinite] = {"nan": "nan", "inf": "inf", "-inf": "-inf"}


def grade_file(
    path: Path | None, task: Task, prepared: "Prepared", *, home: Home, sandbox: "SandboxName" = "bubblewrap"
) -> Grade:
    """Judge the submission at `path`; None is a trial that handed in nothing.

    A submission that cannot be scored gets a grade that says why. Errors are raised only for faults that are not the
    submission's: a task that is not prepared, a lab that does not start. Inside an event loop use `grade_file_async`.
    """
    if not (task.timed or task.judged_in_lab):
        task = task.in_edition(prepared.edition)
        return _graded(path, task, prepared, _judge_table(path, task, prepared))
    import anyio

    return anyio.run(partial(grade_file_async, path, task, prepared, home=home, sandbox=sandbox))


async def grade_file_async(
    path: Path | None, task: Task, prepared: "Prepared", *, home: Home, sandbox: "SandboxName" = "bubblewrap"
) -> Grade:
    """The same for callers inside an event loop, which goes on while a lab runs what is judged by running it."""
    import anyio.to_thread

    task = task.in_edition(prepared.edition)
    if not (task.timed or task.judged_in_lab):
        judgement = await anyio.to_thread.run_sync(_judge_table, path, task, prepared)
    else:
        try:
            if task.timed:
                from assay.grading.by_running.speed import judge_speed

                judgement = await judge_speed(_code(path, task), task, prepared, home=home, sandbox=sandbox)
            else:
                judgement = await _judge_checkpoint(path, task, prepared, home, sandbox)
        except InvalidSubmission as error:
            judgement = Judgement(why=str(error))
    return _graded(path, task, prepared, judgement)


def validate_file(path: Path, task: Task, prepared: "Prepared") -> None:
    """Raise `InvalidSubmission` unless the file has the form that is asked for.

    It looks only at public facts, so that its answer tells nothing about the right values. Code is not run.
    """
    if task.submission.form == "csv":
        check(path, read_answers(task, prepared))
    elif task.judged_in_lab:
        from assay.grading.by_running.checkpoint import check_form

        check_form(_content(path, task), path.name, task.submission.max_size)
    else:
        _code(path, task)


def _judge_table(path: Path | None, task: Task, prepared: "Prepared") -> Judgement:
    if path is None:
        return Judgement(why="Nothing was handed in.")
    answers = read_answers(task, prepared)
    try:
        checked = check(path, answers)
        params = task.metric.params | answers.parameters(checked)
        score = evaluate(task.metric.name, answers.truth(checked), checked.values, params)
    except InvalidSubmission as error:
        return Judgement(why=str(error))
    if not math.isfinite(score) and not task.submission.lenient:
        return Judgement(why=f"{task.metric.name} has no finite value for these predictions.")
    return Judgement(score=score)


async def _judge_checkpoint(
    path: Path | None, task: Task, prepared: "Prepared", home: Home, sandbox: "SandboxName"
) -> Judgement:
    """Run the checkpoint in a lab, and judge the table that comes of it."""
    from tempfile import TemporaryDirectory

    import anyio.to_thread

    from assay.grading.by_running.checkpoint import PREDICTIONS, run_checkpoint, table_of

    run = await run_checkpoint(_content(path, task), task, prepared, home=home, sandbox=sandbox)
    if run.predictions is None:
        return Judgement(why=run.why, sealed=run.sealed)
    with TemporaryDirectory(prefix="assay-predictions-") as folder:
        table = Path(folder) / PREDICTIONS
        table.write_bytes(run.predictions)
        judgement = await anyio.to_thread.run_sync(_judge_table, table, table_of(task), prepared)
    return replace(judgement, sealed=run.sealed)


def _content(path: Path | None, task: Task) -> bytes:
    if path is None:
        raise InvalidSubmission("Nothing was handed in.")
    return read_plain_file(path, task.submission.max_size)


def _code(path: Path | None, task: Task) -> bytes:
    content = _content(path, task)
    try:
        content.decode()
    except UnicodeDecodeError:
        name = path.name if path else task.submission.file
        raise InvalidSubmission(f"{name} is not UTF-8 text.") from None
    return content


def _graded(path: Path | None, task: Task, prepared: "Prepared", judgement: Judgement) -> Grade:
    board, measured = task.leaderboard, _comparable(task, prepared)
    rules = task.rules.get(prepared.edition, EditionRules())
    score = None if judgement.score is None else medals.rounded(judgement.score)
    finite = score is not None and math.isfinite(score)
    won = medals.medal(score, board, task.metric) if board and score is not None else None
    gain = medals.improvement(score, measured.baseline, task.metric) if measured and score is not None else None
    return Grade(
        competition_id=task.name,
        score=score if finite else None,
        gold_threshold=board.gold if board else None,
        silver_threshold=board.silver if board else None,
        bronze_threshold=board.bronze if board else None,
        median_threshold=board.median if board else None,
        any_medal=won is not None,
        gold_medal=won == "gold",
        silver_medal=won == "silver",
        bronze_medal=won == "bronze",
        above_median=board is not None and score is not None and medals.above_median(score, board, task.metric),
        submission_exists=path is not None and _exists(path, task),
        valid_submission=score is not None,
        is_lower_better=task.metric.direction == "lower",
        created_at=datetime.now().isoformat(),
        submission_path=str(path),
        task=task.id,
        edition=prepared.edition,
        variant=prepared.variant,
        why=judgement.why,
        not_finite=None if score is None or finite else _NOT_FINITE[str(score)],
        quirks=tuple(rules.quirks),
        repairs=tuple(rules.repairs),
        indicative=rules.indicative or (board is not None and prepared.variant != "real"),
        percentile=medals.percentile(score, board, task.metric) if board and score is not None else None,
        rank=medals.rank(score, measured.panel, task.metric) if measured and score is not None else None,
        panel_size=len(measured.panel) if measured else None,
        baseline=measured.baseline if measured else None,
        improvement=gain,
        success=medals.succeeds(gain) if measured else won is not None if board else None,
        beyond_spread=medals.beyond_spread(score, measured, task.metric) if measured and score is not None else None,
        deterministic=not task.timed,
        tolerance=judgement.tolerance,
        sealed=judgement.sealed,
    )


def _exists(path: Path, task: Task) -> bool:
    """Whether something was handed in; for the published benchmark, whether there is a file that is called CSV."""
    if task.submission.lenient:
        return path.suffix.lower() == ".csv" and path.is_file()
    return os.path.lexists(path)


def _comparable(task: Task, prepared: "Prepared") -> Measured | None:
    """The task's measured figures, if they were measured by the same rules on the same data."""
    measured = task.measured
    return measured if measured and (prepared.edition, prepared.variant) == (measured.edition, "real") else None
