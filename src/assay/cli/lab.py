"""`assay lab build`, `assay lab check` and `assay lab doctor`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from assay.cli.output import as_json, choose_progress, echo, echo_json, print_tables, quiet, sandbox
from assay.core.home import Home
from assay.core.table import Column, Table

if TYPE_CHECKING:
    from assay.lab import SandboxName
    from assay.lab.doctor import Diagnosis


@click.group("lab")
def lab_command() -> None:
    """Build Python environments for labs; check the sandbox.

    \b
    Examples:
      assay lab build core
      assay lab check core
      assay lab doctor
    """


@lab_command.command("build")
@click.argument("name", default="core")
@quiet
def build_command(name: str, quiet: bool) -> None:
    """Build the Python environment of labs: `core`, or a requirements file of your own.

    \b
    Examples:
      assay lab build core
      assay lab build my/requirements.txt
    """
    from assay.lab.environments import build_environment

    echo(build_environment(Home.default(), name, choose_progress(quiet)))


@lab_command.command("check")
@click.argument("name", default="core")
@as_json
def check_command(name: str, json_: bool) -> None:
    """Import every package of a built environment inside a sealed lab; exit with 1 if one cannot be imported.

    \b
    Examples:
      assay lab check core
      assay lab check my/requirements.txt
    """
    import anyio

    from assay.lab.import_check import check_imports

    packages = anyio.run(check_imports, Home.default(), name)
    failed = [each for each in packages if each.error]
    if json_:
        echo_json("imports/1", packages=packages)
    else:
        if failed:
            columns = (Column("package"), Column("error", kind="prose"))
            print_tables([Table("failed", columns, tuple((each.package, each.error) for each in failed))])
        echo(f"{len(packages) - len(failed)} of {len(packages)} packages of {name} can be imported in a sealed lab.")
    if failed:
        raise click.exceptions.Exit(1)


@lab_command.command("doctor")
@sandbox
@as_json
def lab_doctor_command(sandbox: "SandboxName", json_: bool) -> None:
    """Show which sandboxes work on this machine, and test each isolation and resource limit of the strongest.

    \b
    Examples:
      assay lab doctor
      assay lab doctor --sandbox landlock
    """
    from assay.lab.doctor import diagnose

    show_diagnosis(diagnose(Home.default(), sandbox), json_)


def show_diagnosis(findings: "Sequence[Diagnosis]", json_: bool) -> None:
    """Print what was checked and what to do about it."""
    if json_:
        echo_json("doctor/1", checks=findings)
        return
    columns = (Column("check"), Column("state"), Column("detail", kind="prose", min_width=30))
    rows = [(finding.name, finding.state, finding.detail) for finding in findings]
    print_tables([Table("checks", columns, tuple(rows))])
    for finding in findings:
        if finding.remedy:
            echo(f"\n{finding.name}: {finding.remedy}")
