"""`assay lab build` and `assay lab doctor`."""

import json
from dataclasses import asdict

import click

from assay.cli.output import as_json, quiet, table
from assay.core.home import Home
from assay.core.progress import NoProgress, ProgressBars


@click.group("lab")
def lab_command() -> None:
    """Build the labs' environments; examine what this machine can enforce."""


@lab_command.command("build")
@click.argument("name", default="core")
@quiet
def build_command(name: str, quiet: bool) -> None:
    """Make the Python environment that code in a lab runs with: `core`, or a requirements file of yours.

    \b
    Example:
      assay lab build core
      assay lab build my/requirements.txt
    """
    from assay.lab.environments import build_environment

    click.echo(str(build_environment(Home.default(), name, NoProgress() if quiet else ProgressBars())))


@lab_command.command("doctor")
@as_json
def doctor_command(json_: bool) -> None:
    """Try each wall and limit on this machine, and say which of them hold.

    \b
    Example:
      assay lab doctor
    """
    from assay.lab.doctor import diagnose

    findings = diagnose(Home.default())
    if json_:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
        return
    table(["what", "state", "detail"], [[finding.name, finding.state, finding.detail] for finding in findings])
    for finding in findings:
        if finding.remedy:
            click.echo(f"\n{finding.name}: {finding.remedy}")
