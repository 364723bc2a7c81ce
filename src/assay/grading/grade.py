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
from assay.grading.submission.safe_open import read_submission_bytes
from assay.tasks import EditionRules, Measured, Task

if TYPE_CHECKING:
    from assay.data.store import Prepared
    from assay.lab.interface import SandboxName

Source = bytes | Path | None
NOTHING_SUBMITTED = "Nothing was submitted."

_NOT_FINITE: dict[str, NotFinite] = {"nan": "nan", "inf": "inf", "-inf": "-inf"}


def grade_submission(
    source: Source, task: Task, prepared: "Prepared", *, home: Home, sandbox: "SandboxName" = "bubblewrap"
) -> Grade:
    """Grade a submission: the content of a file, the path of one, or None for a trial that submitted nothing.

    A submission that cannot be scored gets a grade that says why. Errors are raised only for what is not the
    submission's fault: a task that is not prepared, a lab that does not start. Content counts as a file with the name
    that the task asks for. Inside an event loop use `grade_submission_async`.
    """
    if not (task.timed or task.judged_in_lab):
        task = task.in_edition(prepared.edition)
        return _graded(source, task, prepared, _judge_table(source, task, prepared))
    import anyio

    return anyio.run(partial(grade_submission_async, source, task, prepared, home=home, sandbox=sandbox))


async def grade_submission_async(
    source: Source, task: Task, prepared: "Prepared", *, home: Home, sandbox: "SandboxName" = "bubblewrap"
) -> Grade:
    """Do the same inside an event loop, which keeps running while submitted code runs in a lab."""
    import anyio.to_thread

    task = task.in_edition(prepared.edition)
    if not (task.timed or task.judged_in_lab):
        judgement = await anyio.to_thread.run_sync(_judge_table, source, task, prepared)
    else:
        try:
            if task.timed:
                from assay.grading.by_running.speed import judge_speed

                judgement = await judge_speed(_code(source, task), task, prepared, home=home, sandbox=sandbox)
            else:
                judgement = await _judge_checkpoint(source, task, prepared, home, sandbox)
        except InvalidSubmission as error:
            judgement = Judgement(why=str(error))
    return _graded(source, task, prepared, judgement)


def validate_submission(source: bytes | Path, task: Task, prepared: "Prepared") -> None:
    """Raise `InvalidSubmission` unless the submission has the form that the task asks for.

    Only public facts are checked, so that the result says nothing about the true values. Code is not run.
    """
    if task.submission.form == "csv":
        check(source, _name(source, task), read_answers(task, prepared))
    elif task.judged_in_lab:
        from assay.grading.by_running.checkpoint import check_form

        check_form(_content(source, task), _name(source, task), task.submission.max_size)
    else:
        _code(source, task)


def _judge_table(source: Source, task: Task, prepared: "Prepared") -> Judgement:
    if source is None:
        return Judgement(why=NOTHING_SUBMITTED)
    answers = read_answers(task, prepared)
    try:
        checked = check(source, _name(source, task), answers)
        params = task.metric.params | answers.parameters(checked)
        score = evaluate(task.metric.name, answers.truth(checked), checked.values, params)
    except InvalidSubmission as error:
        return Judgement(why=str(error))
    if not math.isfinite(score) and not task.submission.lenient:
        return Judgement(why=f"{task.metric.name} has no finite value for these predictions.")
    return Judgement(score=score)


async def _judge_checkpoint(
    source: Source, task: Task, prepared: "Prepared", home: Home, sandbox: "SandboxName"
) -> Judgement:
    """Run the checkpoint in a lab, and score the table of predictions that it writes."""
    import anyio.to_thread

    from assay.grading.by_running.checkpoint import run_checkpoint, table_of

    run = await run_checkpoint(_content(source, task), task, prepared, home=home, sandbox=sandbox)
    if run.predictions is None:
        return Judgement(why=run.why, sealed=run.sealed)
    judgement = await anyio.to_thread.run_sync(_judge_table, run.predictions, table_of(task), prepared)
    return replace(judgement, sealed=run.sealed)


def _name(source: bytes | Path, task: Task) -> str:
    return source.name if isinstance(source, Path) else task.submission.file


def _content(source: Source, task: Task) -> bytes:
    if source is None:
        raise InvalidSubmission(NOTHING_SUBMITTED)
    return read_submission_bytes(source, _name(source, task), task.submission.max_size)


def _code(source: Source, task: Task) -> bytes:
    content = _content(source, task)
    try:
        content.decode()
    except UnicodeDecodeError:
        name = task.submission.file if source is None else _name(source, task)
        raise InvalidSubmission(f"{name} is not UTF-8 text.") from None
    return content


def _graded(source: Source, task: Task, prepared: "Prepared", judgement: Judgement) -> Grade:
    board, measured = task.leaderboard, _comparable(task, prepared)
    rules = task.rules.get(prepared.edition, EditionRules())
    score = None if judgement.score is None else medals.rounded(judgement.score)
    finite = score is not None and math.isfinite(score)
    won = medals.medal(score, board, task.metric) if board and score is not None else None
    gain = medals.improvement(score, measured.baseline, task.metric) if measured and score is not None else None
    if board:
        success = won is not None
    elif measured:
        success = medals.succeeds(gain)
    else:
        success = None
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
        submission_exists=source is not None and _exists(source, task),
        valid_submission=score is not None,
        is_lower_better=task.metric.direction == "lower",
        created_at=datetime.now().isoformat(),
        submission_path=_path(source, task),
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
        success=success,
        beyond_spread=medals.beyond_spread(score, measured, task.metric) if measured and score is not None else None,
        deterministic=not task.timed,
        tolerance=judgement.tolerance,
        sealed=judgement.sealed,
    )


def _exists(source: bytes | Path, task: Task) -> bool:
    """Return whether anything was submitted; for the published benchmark, whether there is a file named `*.csv`."""
    if isinstance(source, bytes):
        return True
    if task.submission.lenient:
        return source.suffix.lower() == ".csv" and source.is_file()
    return os.path.lexists(source)


def _path(source: Source, task: Task) -> str:
    return task.submission.file if isinstance(source, bytes) else str(source)


def _comparable(task: Task, prepared: "Prepared") -> Measured | None:
    """The task's measured figures, if they were measured by the same rules on the same data."""
    measured = task.measured
    return measured if measured and (prepared.edition, prepared.variant) == (measured.edition, "real") else None
