"""`assay lab build` and `assay lab check`."""

import click

from assay.cli.output import as_json, choose_progress, echo, echo_json, print_tables, quiet
from assay.core.home import Home
from assay.core.table import Column, Table


@click.group("lab")
def lab_command() -> None:
    """Build and check the Python environments of labs; assay doctor checks the sandbox.

    \b
    Examples:
      assay lab build core
      assay lab check core
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
    """Import every package of a built environment inside a sealed lab, and do some work with the usual ones.

    Lists packages that fail, and those that print something when they are imported, which agents see. Exits with 1 if
    one fails.

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
        echo_json("imports/2", packages=packages)
    else:
        loud = [(each.package, each.printed.strip()[:200]) for each in packages if each.printed.strip()]
        tables = [("failed", "error", [(each.package, each.error) for each in failed]), ("loud", "prints", loud)]
        for title, what, rows in tables:
            if rows:
                print_tables([Table(title, (Column("package"), Column(what, kind="prose")), tuple(rows))])
        working, used = len(packages) - len(failed), sum(each.used for each in packages)
        echo(f"{working} of {len(packages)} packages of {name} work in a sealed lab; {used} were used.")
    if failed:
        raise click.exceptions.Exit(1)
