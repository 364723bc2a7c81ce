"""`assay grade`."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from assay.cli.arguments import TrialPath
from assay.cli.complete import complete_tasks
from assay.cli.output import (
    as_json,
    choose_progress,
    echo,
    edition,
    load_data,
    open_registry,
    print_tables,
    quiet,
    sandbox,
    show_table,
    variant,
)
from assay.core.errors import AssayError, UsageError
from assay.core.home import Home
from assay.core.table import Column, Table
from assay.core.values import format_number
from assay.grading import grade_submission, validate_submission
from assay.grading.result import Grade
from assay.tasks import Task

if TYPE_CHECKING:
    from assay.grading.batch import BatchConfig, NotGraded
    from assay.lab.interface import SandboxName
    from assay.records import TrialFolder

_UNSURE = 0.01
"""A medal is said to be uncertain if its probability is between this and one minus this."""


@click.command("grade")
@click.argument("file", metavar="FILE|LIST.jsonl|TRIAL")
@click.argument("task", required=False, shell_complete=complete_tasks)
@click.option("--validate", is_flag=True, help="Check only the format; the exit code is 1 if it is invalid.")
@click.option(
    "--leaderboard",
    type=click.Path(path_type=Path),
    metavar="CSV",
    help="Leaderboard of all human teams, with a column `score`, for an exact percentile.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=None,
    metavar="DIR",
    help="With a list: folder for the report in the published format.",
)
@click.option(
    "--by",
    type=click.Choice(["step", "node"]),
    default=None,
    help="With a trial: after each step, or each node of a search.  [default: step]",
)
@edition
@variant
@sandbox
@quiet
@as_json
@click.pass_obj
def grade_command(
    folders: tuple[Path, ...],
    file: str,
    task: str | None,
    validate: bool,
    leaderboard: Path | None,
    out: Path | None,
    by: Literal["step", "node"] | None,
    edition: str | None,
    variant: str | None,
    sandbox: "SandboxName",
    quiet: bool,
    json_: bool,
) -> None:
    """Grade a submission: score, medal or rank, improvement over the starter.

    Without a task, grade the submissions of a list and write a report, or the submission of a finished trial after each
    step. LIST.jsonl has lines with competition_id and submission_path. TRIAL is a folder, or a part of a trial's id.
    The exit code is 0 for every file that could be graded, also for an invalid submission.

    \b
    Examples:
      assay grade submission.csv pocket/house-price
      assay grade sub.csv mlebench/leaf-classification --variant synthetic
      assay grade submission.csv pocket/house-price --validate
      assay grade submissions.jsonl --out reports
      assay grade digits-aide-1 --by node
    """
    from assay.grading.batch import BatchConfig

    path = Path(file)
    if task is None:
        is_list = path.suffix == ".jsonl" or path.is_file()
        if validate or leaderboard:
            raise UsageError("--validate and --leaderboard require a submission and its task")
        if is_list:
            if out is None:
                raise UsageError("A list of submissions requires --out DIR, the folder for the report")
            config = BatchConfig(Home.default(), folders, edition, _batch_variant(variant), sandbox)
            _grade_list(path, out, config, quiet, json_)
        else:
            _grade_trial(TrialPath().convert(file, None, click.get_current_context()), by or "step", json_)
        return
    if out or by:
        raise UsageError("--out requires a list of submissions, and --by a trial; drop the task")
    _check_exists(path, task)
    known, home = open_registry(folders).task(task), Home.default()
    if validate:
        validate_submission(path, load_data(home, known, edition, variant))
        echo(f"{path} is a valid submission for {known.id}")
        return
    if leaderboard:
        from assay.grading.leaderboard import read_leaderboard

        known = known.model_copy(update={"leaderboard": read_leaderboard(leaderboard, known.metric)})
    prepared = load_data(home, known, edition, variant)
    grade = grade_submission(path, prepared, home=home, sandbox=sandbox)
    if json_:
        echo(grade.model_dump_json(indent=2))
    else:
        _print_grade(prepared.task, grade)


def _grade_list(listing: Path, out: Path, config: "BatchConfig", quiet: bool, json_: bool) -> None:
    from assay.grading.batch import NotGraded, grade_all, make_report, read_list, write_report

    entries = read_list(listing)
    if not entries:
        raise UsageError(f"{listing} lists no submissions")
    results = grade_all(entries, config, progress=choose_progress(quiet or json_))
    written = write_report(out, make_report(results))
    if json_:
        echo(written.read_text("utf-8"), nl=False)
    else:
        rows = [_batch_row(entry.task, entry.path, result) for entry, result in zip(entries, results, strict=True)]
        columns = (Column("task"), Column("submission"), Column("result"))
        print_tables([Table("results", columns, tuple(map(tuple, rows)))])
    echo(f"Wrote {written}", err=True)
    failed = [result for result in results if isinstance(result, NotGraded)]
    if failed:
        first = failed[0]
        raise AssayError(
            f"{len(failed)} of {len(results)} submissions could not be graded; line {first.line}: {first.why}"
        )


def _batch_row(task: str, path: str | None, result: "Grade | NotGraded") -> list[str]:
    if not isinstance(result, Grade):
        return [task, str(path), f"not graded: {result.why}"]
    return [task, str(path), _score(result) if result.valid_submission else f"invalid: {result.why}"]


def _grade_trial(folder: Path, by: Literal["step", "node"], json_: bool) -> None:
    from assay.records import TrialFolder

    if by == "node":
        _print_nodes(TrialFolder(folder), json_)
    else:
        _print_steps(TrialFolder(folder), json_)


def _print_nodes(trial: "TrialFolder", json_: bool) -> None:
    from assay.records import read_events
    from assay.records.search import read_journal
    from assay.results.progress import read_progress
    from assay.tasks.registry import task_of

    task = task_of(trial.file)
    journal = read_journal(read_events(trial.events), task.metric.direction)
    if not journal.nodes:
        raise UsageError(f"{trial.path} has no nodes; its agent recorded no search")
    scores = {row.submission: row.score for row in read_progress(trial, task, Home.default())}
    columns = (
        Column("node", kind="integer"),
        Column("operator"),
        Column("parents"),
        Column("claimed", kind="number"),
        Column("score", kind="number"),
        Column("submitted", data_only=True),
        Column("result", " ", kind="prose"),
    )
    rows = [
        (
            node.id,
            node.operator,
            ", ".join(map(str, node.parents)),
            node.metric,
            scores.get(node.submission) if node.submission else None,
            node is journal.best,
            "submitted" if node is journal.best else node.reason,
        )
        for node in journal.nodes
    ]
    show_table(Table("nodes", columns, tuple(rows)), json_, "nodes/1")


def _print_steps(trial: "TrialFolder", json_: bool) -> None:
    from assay.results.progress import read_progress
    from assay.tasks.registry import task_of

    columns = (
        Column("step", kind="integer"),
        Column("elapsed", "time", kind="duration"),
        Column("score", kind="number"),
        Column("valid", kind="flag", data_only=True),
        Column("medal", data_only=True),
        Column("result", " ", kind="prose"),
    )
    rows = [
        (row.step, row.elapsed, row.score, row.valid, row.medal, row.medal or row.reason or "")
        for row in read_progress(trial, task_of(trial.file), Home.default())
        if row.picked
    ]
    show_table(Table("steps", columns, tuple(rows)), json_, "steps/1")


def _batch_variant(variant: str | None) -> str:
    return "synthetic-0" if variant == "synthetic" else variant or "real"


def _check_exists(file: Path, task: str = "") -> None:
    if not file.exists() and (Path(task).is_file() or Path(task).suffix == ".csv"):
        raise UsageError(f"The submission comes first: {click.get_current_context().command_path} {task} {file}")
    if not file.exists() and not file.is_symlink():
        raise UsageError(f"File {file} does not exist")


def _score(grade: Grade) -> str:
    return f"{grade.score:.5f}" if grade.score is not None else str(grade.not_finite)


def _print_grade(task: Task, grade: Grade) -> None:
    echo(f"{task.id}, edition {grade.edition}, {grade.variant} data")
    if not grade.valid_submission:
        echo(f"  invalid submission: {grade.why}")
        return
    spread = f" ± {grade.tolerance:.0%}" if grade.tolerance else ""
    if grade.score_error:
        spread = f" ± {format_number(grade.score_error, like=100 * grade.score_error)} (test-set noise)"
    echo(f"  {task.metric.name} {_score(grade)}{spread} ({task.metric.direction} is better)")
    if grade.rank is not None:
        panel_size = grade.panel_size or 0
        echo(f"  rank {grade.rank} of {panel_size + 1}, among {panel_size} reference solutions and itself")
    if task.leaderboard and grade.gold_threshold is None:
        echo(f"  no medals: the human leaderboard is of the real data, not of {grade.variant} data")
    elif task.leaderboard:
        echo(f"  {grade.medal or 'no'} medal, {'above' if grade.above_median else 'not above'} the median team")
        if grade.medal_probability is not None and _UNSURE < grade.medal_probability < 1 - _UNSURE:
            echo(f"  a medal has a probability of {grade.medal_probability:.0%} on another test set of this size")
        if grade.percentile is not None:
            echo(f"  better than {grade.percentile:.1f}% of {task.leaderboard.teams} human teams")
    if grade.improvement is not None:
        echo(f"  {grade.improvement:+.1%} over the starter's {grade.baseline:.5g}{_verdict(task, grade)}")
    notes = []
    if grade.quirks:
        notes.append(f"quirks of the published grader: {', '.join(grade.quirks)}")
    if grade.repairs:
        notes.append(f"repairs: {', '.join(grade.repairs)}")
    if grade.indicative:
        notes.append("medals are indicative only")
    if notes:
        echo(f"  {'; '.join(notes)}")


def _verdict(task: Task, grade: Grade) -> str:
    """Say whether the improvement is a success, where success is an improvement and not a medal."""
    if task.leaderboard:
        return ""
    if grade.success_published and not grade.success:
        return ": no success (more than +10%, but within noise)"
    needed = "" if grade.edition in task.success_as_published else ", beyond noise"
    return f": {'success' if grade.success else 'no success'} (needs more than +10%{needed})"
