"""`assay lab build`, `assay lab check` and `assay lab doctor`."""

import json
from dataclasses import asdict

import click

from assay.cli.output import as_json, choose_progress, echo, print_table, quiet
from assay.core.home import Home
from assay.core.layout import TableColumn


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

    found = anyio.run(check_imports, Home.default(), name)
    failed = [each for each in found if each.error]
    if json_:
        echo(json.dumps([asdict(each) for each in found], indent=2))
    else:
        if failed:
            error = TableColumn("error", shrinks=True, prose=True)
            print_table(["package", error], [[each.package, each.error] for each in failed])
        echo(f"{len(found) - len(failed)} of {len(found)} packages of {name} can be imported in a sealed lab.")
    if failed:
        raise click.exceptions.Exit(1)


@lab_command.command("doctor")
@as_json
def lab_doctor_command(json_: bool) -> None:
    """Test each isolation and resource limit of the sandbox on this machine.

    \b
    Examples:
      assay lab doctor
    """
    from assay.lab.doctor import diagnose

    findings = diagnose(Home.default())
    if json_:
        echo(json.dumps([asdict(finding) for finding in findings], indent=2))
        return
    print_table(
        ["check", "state", TableColumn("detail", shrinks=True, prose=True)],
        [[finding.name, finding.state, finding.detail] for finding in findings],
    )
    for finding in findings:
        if finding.remedy:
            echo(f"\n{finding.name}: {finding.remedy}")
