"""Grade a submission: read it, score it, and compare the score with the leaderboard or the panel.

Scores are compared after rounding to five decimals, as the published benchmark does. A score that is not a number
reaches no threshold; an infinite one is compared like any other.
"""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from assay.core.errors import InvalidSubmission, UsageError
from assay.core.home import Home
from assay.core.plugins import Plugins, split_path
from assay.core.text import describe_validation_error
from assay.grading.metrics import evaluate, find_metric
from assay.grading.noise import ScoredRows, measure_noise
from assay.grading.result import Grade, Judgement, Medal, NotFinite
from assay.grading.submission.read import choose_parser, open_submission
from assay.tasks import EditionRules, Leaderboard, Measured, Metric, Solution, Task

if TYPE_CHECKING:
    from assay.data.store import Prepared
    from assay.grading.integrity import Traces
    from assay.lab.interface import SandboxName

SubmissionSource = bytes | Path | None
"""What was submitted: the content of a file, the path of one, or nothing."""

NOTHING_SUBMITTED = "Nothing was submitted."

JUDGES = Plugins[Callable[[bytes], float]]("judges", "judge")
_DECIMALS = 5
_MIN_IMPROVEMENT = 0.10
_CHANCE_DEVIATIONS = 2.0
_NOT_FINITE: dict[str, NotFinite] = {"nan": "nan", "inf": "inf", "-inf": "-inf"}


def grade_submission(
    source: SubmissionSource,
    prepared: "Prepared",
    *,
    home: Home,
    sandbox: "SandboxName" = "auto",
    isolated: bool = False,
    traces: "Traces | None" = None,
) -> Grade:
    """Grade a submission: the content of a file, the path of one, or None for a trial that submitted nothing.

    A submission that cannot be scored gets a grade that says why. Errors are raised only for what is not the
    submission's fault: a task that is not prepared, a lab that does not start. Content counts as a file with the name
    that the task asks for. An `isolated` submission is read in a process of its own, with limits on memory and time.
    `traces` are what the trial left besides it, from which follows whether it took a planted shortcut, and whether what
    it claims is true.
    Inside an event loop use `grade_submission_async`.
    """
    if not _must_run(prepared.task):
        judgement = _choose_judge(isolated)(source, prepared)
        return _grade_with_traces(source, prepared, judgement, traces, _choose_judge(isolated))
    import anyio

    options = partial(grade_submission_async, home=home, sandbox=sandbox, isolated=isolated, traces=traces)
    return anyio.run(options, source, prepared)


async def grade_submission_async(
    source: SubmissionSource,
    prepared: "Prepared",
    *,
    home: Home,
    sandbox: "SandboxName" = "auto",
    isolated: bool = False,
    traces: "Traces | None" = None,
) -> Grade:
    """Do the same inside an event loop, which keeps running while submitted code runs in a lab."""
    import anyio.to_thread

    if not _must_run(prepared.task):
        judgement = await anyio.to_thread.run_sync(_choose_judge(isolated), source, prepared)
    else:
        try:
            judgement = await _judge_by_running(source, prepared, home, sandbox, isolated)
        except InvalidSubmission as error:
            judgement = Judgement(why=str(error))
    return _grade_with_traces(source, prepared, judgement, traces, _choose_judge(isolated))


def _grade_with_traces(
    source: SubmissionSource,
    prepared: "Prepared",
    judgement: Judgement,
    traces: "Traces | None",
    judge: Callable[[SubmissionSource, "Prepared"], Judgement],
) -> Grade:
    """Return the grade, with the score in a second setting, planted shortcuts taken, and whether its claim is true."""
    grade = _grade_integrity(source, prepared, judgement, traces)
    if prepared.task.second is None or source is None or grade.score is None or _must_run(prepared.task):
        return grade
    from assay.grading.second import judge_second

    return grade.model_copy(update={"second": judge_second(source, prepared, judge)})


def _grade_integrity(
    source: SubmissionSource, prepared: "Prepared", judgement: Judgement, traces: "Traces | None"
) -> Grade:
    if prepared.task.integrity is None and traces is None:
        return make_grade(source, prepared, judgement)
    from assay.grading.integrity import compare_claim, judge_integrity, read_claim

    if prepared.task.integrity is None:
        grade = make_grade(source, prepared, judgement)
        success = False if grade.score is None else grade.success
        claim = compare_claim(read_claim(traces), grade.score, prepared.task, success)
        return grade.model_copy(update={"integrity": claim})
    score = None if judgement.score is None else round_score(judgement.score)
    integrity, success = judge_integrity(source, prepared, score, traces)
    return make_grade(source, prepared, replace(judgement, integrity=integrity, success=success))


def validate_submission(source: bytes | Path, prepared: "Prepared") -> None:
    """Raise `InvalidSubmission` unless the submission has the form that the task asks for.

    Only public facts are checked, so that the result says nothing about the true values. Code is not run.
    """
    task = prepared.task
    if task.submission.form == "csv":
        choose_parser(prepared).read(source, _name(source, task))
    elif task.judged_by_tests:
        _read(source, task)  # only the tests know more
    elif task.judged_in_lab:
        from assay.grading.by_running.checkpoint import check_checkpoint

        check_checkpoint(_read(source, task), _name(source, task), task.submission.max_size)
    else:
        _read_code(source, task)


def _must_run(task: Task) -> bool:
    return task.timed or task.judged_in_lab


def _choose_judge(isolated: bool) -> Callable[[SubmissionSource, "Prepared"], Judgement]:
    if not isolated:
        return judge_table
    from assay.grading.isolated import judge_isolated

    return judge_isolated


def judge_table(source: SubmissionSource, prepared: "Prepared") -> Judgement:
    """Read a submitted table and score it."""
    task = prepared.task
    if source is None:
        return Judgement(why=NOTHING_SUBMITTED)
    parser = choose_parser(prepared)
    try:
        if split_path(task.judged):
            return Judgement(score=JUDGES.load(task.judged, task.folder)(_read(source, task)))
        parsed = parser.read(source, _name(source, task))
        function, params = find_metric(task), task.metric.params | parsed.parameters
        truth, values = parsed.truth, parsed.values
        score = evaluate(function, truth, values, params)
    except InvalidSubmission as error:
        return Judgement(why=str(error))
    if not math.isfinite(score):
        reason = f"{task.metric.name} has no finite value for these predictions."
        return Judgement(score=score) if parser.accepts_any_score else Judgement(why=reason)
    rows = ScoredRows(truth, values, params, parsed.units, task.metric.positions)
    return Judgement(score=score, noise=measure_noise(task, function, rows))


async def _judge_by_running(
    source: SubmissionSource, prepared: "Prepared", home: Home, sandbox: "SandboxName", isolated: bool
) -> Judgement:
    """Time submitted code, run tests on a workspace, or run a checkpoint and score the predictions that it writes."""
    import anyio.to_thread

    task = prepared.task
    if task.timed:
        from assay.grading.by_running.speed import judge_speed

        return await judge_speed(_read_code(source, task), prepared, home=home, sandbox=sandbox)
    if task.judged_by_tests:
        from assay.grading.by_running.hidden_tests import run_tests

        return await run_tests(_read(source, task), prepared, home=home, sandbox=sandbox)
    from assay.grading.by_running.checkpoint import run_checkpoint, with_predictions_table

    run = await run_checkpoint(_read(source, task), prepared, home=home, sandbox=sandbox)
    if run.predictions is None:
        return Judgement(why=run.why, sealed=run.sealed)
    table = replace(prepared, task=with_predictions_table(task))
    judgement = await anyio.to_thread.run_sync(_choose_judge(isolated), run.predictions, table)
    return replace(judgement, sealed=run.sealed)


def _name(source: SubmissionSource, task: Task) -> str:
    return source.name if isinstance(source, Path) else task.submission.file


def _read(source: SubmissionSource, task: Task) -> bytes:
    if source is None:
        raise InvalidSubmission(NOTHING_SUBMITTED)
    with open_submission(source, _name(source, task), task.submission.max_size) as file:
        return file.read()


def _read_code(source: SubmissionSource, task: Task) -> bytes:
    content = _read(source, task)
    try:
        content.decode()
    except UnicodeDecodeError:
        raise InvalidSubmission(f"{_name(source, task)} is not UTF-8 text.") from None
    return content


def make_grade(source: SubmissionSource, prepared: "Prepared", judgement: Judgement) -> Grade:
    """Return the grade of a judged submission: its score, and what it is worth on the leaderboard and in the panel."""
    task, metric, measured = prepared.task, prepared.task.metric, find_measured(prepared)
    board = task.leaderboard if prepared.variant == "real" else None  # human teams never saw any other data
    rules = task.rules.get(prepared.edition, EditionRules())
    score = None if judgement.score is None else round_score(judgement.score)
    finite = score is not None and math.isfinite(score)
    medal = find_medal(score, board, metric) if board and score is not None else None
    improvement = compute_improvement(score, measured.baseline, metric) if measured and score is not None else None
    if prepared.edition in task.success_as_published and score is not None and score <= 0:
        improvement = None  # The published evaluation takes a score of 0 or less for no score.
    error = (judgement.noise.error if judgement.noise else None) or 0.0
    beyond_spread = is_beyond_spread(score, measured, metric, error) if measured and score is not None else None
    published = _is_published_success(board, measured, medal, improvement)
    success = published
    if judgement.integrity and judgement.integrity.planted:
        success = published = judgement.success
    elif task.judged_by_tests:
        success = published = score is not None and score >= 1
    elif published and measured and score is not None and not (board or prepared.edition in task.success_as_published):
        success = bool(beyond_spread) and _still_gains(score, judgement.tolerance or 0.0, measured, metric)
    return Grade(
        competition_id=task.name,
        score=score if finite else None,
        gold_threshold=board.gold if board else None,
        silver_threshold=board.silver if board else None,
        bronze_threshold=board.bronze if board else None,
        median_threshold=board.median if board else None,
        any_medal=medal is not None,
        gold_medal=medal == "gold",
        silver_medal=medal == "silver",
        bronze_medal=medal == "bronze",
        above_median=board is not None and score is not None and is_above_median(score, board, metric),
        submission_exists=_exists(source, prepared),
        valid_submission=score is not None,
        is_lower_better=metric.direction == "lower",
        created_at=datetime.now().isoformat(),
        submission_path=task.submission.file if isinstance(source, bytes) else str(source),
        task=task.id,
        edition=prepared.edition,
        variant=prepared.variant,
        why=judgement.why,
        not_finite=None if score is None or finite else _NOT_FINITE[str(score)],
        quirks=tuple(rules.quirks),
        repairs=tuple(rules.repairs),
        indicative=rules.indicative,
        percentile=find_percentile(score, board, metric) if board and score is not None else None,
        rank=rank_in_panel(score, measured.panel, metric) if measured and score is not None else None,
        panel_size=len(measured.panel) if measured else None,
        baseline=measured.baseline if measured else None,
        improvement=improvement,
        success=success,
        success_published=published,
        beyond_spread=beyond_spread,
        deterministic=not task.timed,
        tolerance=judgement.tolerance,
        sealed=judgement.sealed,
        noise=judgement.noise,
        integrity=judgement.integrity,
    )


def _is_published_success(
    board: Leaderboard | None, measured: Measured | None, medal: Medal | None, improvement: float | None
) -> bool | None:
    """Return whether a medal was won or, without a leaderboard, the baseline was beaten by more than 10%."""
    if board:
        return medal is not None
    if measured:
        return beats_baseline(improvement)
    return None


def _still_gains(score: float, tolerance: float, measured: Measured, metric: Metric) -> bool:
    """Return whether a gain of more than 10% is left at the worse end of a measured score's interval.

    A measured score is a ratio, whose interval is as wide in both directions as a factor: a tolerance of 1.5 is too
    much to trust a gain of 2, but not one of 100.
    """
    factor = 1 + tolerance
    worse_end = score / factor if metric.direction == "higher" else score * factor
    return beats_baseline(compute_improvement(worse_end, measured.baseline, metric))


def _exists(source: SubmissionSource, prepared: "Prepared") -> bool:
    """Return whether anything was submitted, valid or not."""
    if isinstance(source, bytes) or source is None:
        return source is not None
    is_table = prepared.task.submission.form == "csv"
    return choose_parser(prepared).exists(source) if is_table else os.path.lexists(source)


def find_measured(prepared: "Prepared") -> Measured | None:
    """Return the figures that were measured by the same rules on the same data: on this machine, else the task's.

    A baseline that was published as a constant counts instead of anything measured.
    """
    task, rules = prepared.task, (prepared.edition, prepared.variant)
    if task.published_baseline is not None:
        return Measured.constant(task.published_baseline, *rules)
    figures = (load_measured(prepared), task.measured, task.measured_miniature)
    return next((each for each in figures if each and (each.edition, each.variant) == rules), None)


def load_measured(prepared: "Prepared") -> Measured | None:
    """Return what `assay new panel` measured on this data on this machine, if it did."""
    path = prepared.private.parent / "measured.json"
    try:
        return Measured.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        advice = f"delete it, or measure again with: assay new panel {prepared.task.id}"
        raise UsageError(f"{path}: {describe_validation_error(error)}; {advice}") from None


def round_score(score: float) -> float:
    """Return a score as it is reported and compared."""
    return round(float(score), _DECIMALS)


def reaches(score: float, threshold: float, metric: Metric) -> bool:
    """Return whether the score is as good as the threshold, or better."""
    return round_score(score) == threshold or metric.better(round_score(score), threshold)


def find_medal(score: float, board: Leaderboard, metric: Metric) -> Medal | None:
    """Return the best medal whose threshold the score reaches; a tie with the threshold wins it."""
    tiers: tuple[tuple[Medal, float], ...] = (("gold", board.gold), ("silver", board.silver), ("bronze", board.bronze))
    return next((name for name, threshold in tiers if reaches(score, threshold, metric)), None)


def is_above_median(score: float, board: Leaderboard, metric: Metric) -> bool:
    """Return whether the score is strictly better than that of the median team."""
    return metric.better(round_score(score), board.median)


def find_percentile(score: float, board: Leaderboard, metric: Metric) -> float | None:
    """Return the place of the score among the teams, 100 being the best, interpolated between known percentiles.

    A tie counts as the best place with this score. Beyond either end it is that end. None if no percentile is known.
    """
    steps = sorted((float(rank), threshold) for rank, threshold in board.percentiles.items())
    if not steps:
        return None
    reached = [step for step in steps if reaches(score, step[1], metric)]
    missed = [step for step in steps if not reaches(score, step[1], metric)]
    if not missed:
        return reached[-1][0]
    if not reached:
        return missed[0][0]
    (below, low), (above, high) = reached[-1], missed[0]
    return below + (above - below) * (round_score(score) - low) / (high - low)


def rank_in_panel(score: float, panel: Sequence[Solution], metric: Metric) -> int:
    """Return one more than the number of panel solutions that are strictly better."""
    return 1 + sum(not reaches(score, round_score(solution.score), metric) for solution in panel)


def compute_improvement(score: float, baseline: float, metric: Metric) -> float | None:
    """Return how much better than the baseline the score is, as a share of it: 0.1 is 10% better.

    None for a baseline of 0, which nothing can be relative to, and for a score that is not finite.
    """
    if baseline == 0 or not math.isfinite(score):
        return None
    return round(_gain(score, baseline, metric) / abs(baseline), 9)  # so that 1.1 against 1.0 is exactly 10%


def beats_baseline(improvement: float | None) -> bool:
    """Return whether an improvement counts as success: more than 10% over the baseline."""
    return improvement is not None and improvement > _MIN_IMPROVEMENT


def is_beyond_spread(score: float, measured: Measured, metric: Metric, error: float = 0.0) -> bool:
    """Return whether the score beats the starter's mean by more than two standard deviations of noise.

    Noise is the spread of the starter's seeds together with the `error` of the score, which comes from the choice of
    test rows. With five seeds, about one in fourteen further runs of the same starter exceeds the spread by chance.
    """
    gain = _gain(score, measured.baseline, metric)
    return gain > _CHANCE_DEVIATIONS * math.hypot(measured.baseline_spread, error) and round_score(gain) > 0


def _gain(score: float, baseline: float, metric: Metric) -> float:
    return score - baseline if metric.direction == "higher" else baseline - score
