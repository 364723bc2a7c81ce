"""`assay grade` and `assay validate`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.cli.output import as_json, edition, registry, sandbox
from assay.data.store import prepared
from assay.errors import CallError
from assay.grading import grade_file, validate_file
from assay.grading.model import Grade
from assay.home import Home
from assay.tasks import Task

if TYPE_CHECKING:
    from assay.lab.interface import SandboxName


@click.command("grade")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("task")
@edition
@sandbox
@as_json
@click.pass_obj
def grade_command(
    folders: tuple[Path, ...], file: Path, task: str, edition: str | None, sandbox: "SandboxName", json_: bool
) -> None:
    """Grade a submission: score, rank or medal, improvement over the starter.

    Exits with 0 for every file it could judge, an invalid one included.

    \b
    Example:
      assay grade submission.csv pocket/house-price
    """
    found, home = registry(folders).task(task), Home.default()
    _must_exist(file)
    grade = grade_file(file, found, prepared(home, found, edition), home=home, sandbox=sandbox)
    if json_:
        click.echo(grade.model_dump_json(indent=2))
    else:
        _print(found, grade)


@click.command("validate")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("task")
@edition
@click.pass_obj
def validate_command(folders: tuple[Path, ...], file: Path, task: str, edition: str | None) -> None:
    """Check the form of a submission, without a score; exits with 1 if it is not valid.

    \b
    Example:
      assay validate submission.csv pocket/house-price
    """
    found = registry(folders).task(task)
    _must_exist(file)
    validate_file(file, found, prepared(Home.default(), found, edition))
    click.echo(f"{file} is a valid submission for {found.id}")


def _must_exist(file: Path) -> None:
    if not file.exists() and not file.is_symlink():
        raise CallError(f"there is no file {file}")


def _print(task: Task, grade: Grade) -> None:
    click.echo(f"{task.id}, edition {grade.edition}, {grade.variant} data")
    if grade.score is None:
        click.echo(f"  not valid: {grade.why}")
        return
    spread = f" ± {grade.tolerance:.0%}" if grade.tolerance else ""
    click.echo(f"  {task.metric.name} {grade.score:.5f}{spread} ({task.metric.direction} is better)")
    if grade.rank is not None:
        click.echo(
            f"  rank {grade.rank} of {(grade.panel_size or 0) + 1}, itself and {grade.panel_size} reference solutions"
        )
    if task.leaderboard:
        medal = next((name for name in ("gold", "silver", "bronze") if getattr(grade, f"{name}_medal")), "no")
        click.echo(f"  {medal} medal, {'above' if grade.above_median else 'not above'} the median team")
        if grade.percentile is not None:
            click.echo(f"  better than {grade.percentile:.1f} % of {task.leaderboard.teams} human teams")
    if grade.improvement is not None:
        verdict = "a success" if grade.success else "not a success"
        click.echo(
            f"  {grade.improvement:+.1%} over the starter's {grade.baseline:.5g}: {verdict} (more than +10 % needed)"
        )
