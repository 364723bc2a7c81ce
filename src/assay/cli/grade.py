"""`assay grade` and `assay validate`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.cli.output import as_json, edition, quiet, registry, sandbox, table, variant
from assay.core.errors import AssayError, UsageError
from assay.core.home import Home
from assay.data.store import load_prepared
from assay.grading import grade_submission, validate_submission
from assay.grading.result import Grade
from assay.tasks import Task

if TYPE_CHECKING:
    from assay.grading.batch import NotGraded
    from assay.lab.interface import SandboxName
    from assay.records import TrialFolder


@click.command("grade")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.argument("task", required=False)
@click.option("--batch", type=click.Path(path_type=Path), help="A JSONL list of submissions to grade instead.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="With --batch: where the report goes.")
@click.option(
    "--leaderboard", type=click.Path(path_type=Path), help="A CSV file with the column score: all human teams."
)
@click.option("--every-step", is_flag=True, help="FILE is a trial: grade its submission after each step.")
@click.option("--every-node", is_flag=True, help="FILE is a trial of aide: grade the submission of each node.")
@edition
@variant
@sandbox
@quiet
@as_json
@click.pass_obj
def grade_command(
    folders: tuple[Path, ...],
    file: Path | None,
    task: str | None,
    batch: Path | None,
    out: Path | None,
    leaderboard: Path | None,
    every_step: bool,
    every_node: bool,
    edition: str | None,
    variant: str,
    sandbox: "SandboxName",
    quiet: bool,
    json_: bool,
) -> None:
    """Grade a submission, or a list of them: score, rank or medal, improvement over the starter.

    Exits with 0 for every file it could judge, an invalid one included. A list has one JSON object per line, with
    competition_id and submission_path, and its report has the published benchmark's keys.

    \b
    Example:
      assay grade submission.csv pocket/house-price
      assay grade submission.csv mlebench/leaf-classification --variant synthetic-0 --edition fixed
      assay grade --batch submissions.jsonl --out reports
      assay grade runs/first/trials/digits-starter-1-0a1b2c3d4e --every-step
    """
    if every_step or every_node:
        (_print_curve if every_step else _print_nodes)(file, json_)
        return
    if batch:
        if file or task or leaderboard or not out:
            raise UsageError("--batch goes with --out, and without FILE, TASK and --leaderboard")
        _grade_batch(folders, batch, out, edition, variant, sandbox, quiet, json_)
        return
    if file is None or task is None:
        raise UsageError("grade what? Give FILE and TASK, or --batch LIST --out DIR")
    found, home = registry(folders).task(task), Home.default()
    _must_exist(file)
    if leaderboard:
        from assay.grading.leaderboard import read_leaderboard

        found = found.model_copy(update={"leaderboard": read_leaderboard(leaderboard, found.metric)})
    grade = grade_submission(file, found, load_prepared(home, found, edition, variant), home=home, sandbox=sandbox)
    if json_:
        click.echo(grade.model_dump_json(indent=2))
    else:
        _print(found.in_edition(grade.edition), grade)


def _grade_batch(
    folders: tuple[Path, ...],
    path: Path,
    out: Path,
    edition: str | None,
    variant: str,
    sandbox: "SandboxName",
    quiet: bool,
    json_: bool,
) -> None:
    from assay.core.progress import NoProgress, ProgressBars
    from assay.grading.batch import NotGraded, grade_all, read_list, report, write_report

    progress = NoProgress() if quiet or json_ else ProgressBars()
    entries, home = read_list(path), Home.default()
    results = grade_all(
        entries, home=home, folders=folders, edition=edition, variant=variant, sandbox=sandbox, progress=progress
    )
    written = write_report(out, report(results))
    if json_:
        click.echo(written.read_text(), nl=False)
    else:
        rows = [_row(entry.task, entry.path, result) for entry, result in zip(entries, results, strict=True)]
        table(["task", "submission", "result"], rows)
    click.echo(f"report: {written}", err=True)
    if faults := [result for result in results if isinstance(result, NotGraded)]:
        raise AssayError(f"{len(faults)} of {len(results)} could not be graded; line {faults[0].line}: {faults[0].why}")


def _row(task: str, path: str | None, result: "Grade | NotGraded") -> list[str]:
    if not isinstance(result, Grade):
        return [task, str(path), f"not graded: {result.why}"]
    return [task, str(path), _score(result) if result.valid_submission else f"not valid: {result.why}"]


@click.command("validate")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("task")
@edition
@variant
@click.pass_obj
def validate_command(folders: tuple[Path, ...], file: Path, task: str, edition: str | None, variant: str) -> None:
    """Check the form of a submission, without a score; exits with 1 if it is not valid.

    \b
    Example:
      assay validate submission.csv pocket/house-price
    """
    found = registry(folders).task(task)
    _must_exist(file)
    validate_submission(file, found, load_prepared(Home.default(), found, edition, variant))
    click.echo(f"{file} is a valid submission for {found.id}")


def _trial(folder: Path | None) -> "TrialFolder":
    from assay.records import TrialFolder

    if folder is None or not (folder / "trial.json").is_file():
        raise UsageError("--every-step and --every-node go with the folder of a trial, RUN/trials/ID")
    return TrialFolder(folder)


def _print_nodes(folder: Path | None, json_: bool) -> None:
    from assay.results.search_scores import node_scores
    from assay.runs.trial import task_of

    trial = _trial(folder)
    nodes = node_scores(trial, task_of(trial.file), Home.default())
    if not nodes:
        raise UsageError(f"{folder} has no nodes: only aide makes them")
    if json_:
        click.echo(json.dumps([node.model_dump() for node in nodes], indent=2))
        return
    rows = [
        [
            str(node.id),
            node.operator,
            ", ".join(map(str, node.parents)),
            "" if node.metric is None else f"{node.metric:.5g}",
            "" if node.score is None else f"{node.score:.5f}",
            "handed in" if node.best else node.why,
        ]
        for node in nodes
    ]
    table(["node", "by", "from", "claimed", "score", ""], rows)


def _print_curve(folder: Path | None, json_: bool) -> None:
    from assay.results.score_curve import score_curve
    from assay.runs.trial import task_of

    trial = _trial(folder)
    points = score_curve(trial, task_of(trial.file), Home.default())
    if json_:
        click.echo(json.dumps([point.model_dump() for point in points], indent=2))
        return
    rows = [
        [
            str(point.step),
            "" if point.elapsed is None else f"{point.elapsed:.1f} s",
            "" if point.score is None else f"{point.score:.5f}",
            point.medal or point.why or "",
        ]
        for point in points
    ]
    table(["step", "time", "score", ""], rows)


def _must_exist(file: Path) -> None:
    if not file.exists() and not file.is_symlink():
        raise UsageError(f"there is no file {file}")


def _score(grade: Grade) -> str:
    return f"{grade.score:.5f}" if grade.score is not None else str(grade.not_finite)


def _print(task: Task, grade: Grade) -> None:
    click.echo(f"{task.id}, edition {grade.edition}, {grade.variant} data")
    if not grade.valid_submission:
        click.echo(f"  not valid: {grade.why}")
        return
    spread = f" ± {grade.tolerance:.0%}" if grade.tolerance else ""
    click.echo(f"  {task.metric.name} {_score(grade)}{spread} ({task.metric.direction} is better)")
    if grade.rank is not None:
        click.echo(
            f"  rank {grade.rank} of {(grade.panel_size or 0) + 1}, itself and {grade.panel_size} reference solutions"
        )
    if task.leaderboard:
        click.echo(f"  {grade.medal or 'no'} medal, {'above' if grade.above_median else 'not above'} the median team")
        if grade.percentile is not None:
            click.echo(f"  better than {grade.percentile:.1f} % of {task.leaderboard.teams} human teams")
    if grade.improvement is not None:
        click.echo(f"  {grade.improvement:+.1%} over the starter's {grade.baseline:.5g}{_verdict(task, grade)}")
    if notes := _notes(grade):
        click.echo(f"  {notes}")


def _verdict(task: Task, grade: Grade) -> str:
    """Say whether the improvement is a success, where success is an improvement and not a medal."""
    if task.leaderboard:
        return ""
    verdict = "a success" if grade.success else "not a success"
    if grade.success and grade.beyond_spread is False:
        verdict += ", though within the starter's spread"
    return f": {verdict} (more than +10 % needed)"


def _notes(grade: Grade) -> str:
    """In one line, what to know of the edition's rules before the score is compared with others."""
    parts = [
        f"as published: {', '.join(grade.quirks)}" if grade.quirks else "",
        f"repaired: {', '.join(grade.repairs)}" if grade.repairs else "",
        "medals only indicate" if grade.indicative else "",
    ]
    return "; ".join(part for part in parts if part)
