"""What commands share: printing, tables, and options that mean the same everywhere."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.core.text import strip_control

if TYPE_CHECKING:
    from rich.console import Console

    from assay.core.progress import Progress
    from assay.tasks import Registry

_PIPE_WIDTH = 100_000
as_json = click.option("--json", "json_", is_flag=True, help="Print JSON.")
quiet = click.option("--quiet", is_flag=True, help="Do not show progress.")
edition = click.option("--edition", default=None, help="Edition of the rules.  [default: the first of the suite]")
variant = click.option(
    "--variant",
    default="real",
    show_default=True,
    help="Variant of the data: real, unverified, or a miniature such as synthetic-0.",
)
sandbox = click.option(
    "--sandbox",
    type=click.Choice(["bubblewrap", "docker", "none"]),
    default="bubblewrap",
    show_default=True,
    help="Sandbox for untrusted code. Results made with none are marked unsealed.",
)
run_argument = click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="RUN")


def echo(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print text that may come from anywhere: control sequences are replaced, so it cannot control the terminal."""
    click.echo(strip_control(str(text)), err=err, nl=nl)


def make_console() -> "Console":
    """Return a console for standard output; in a file or a pipe, lines are as long as they need to be."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=_PIPE_WIDTH)


def open_registry(folders: Sequence[Path]) -> "Registry":
    """Return the built-in suites and those given with `--tasks`."""
    from assay.tasks import Registry

    return Registry(folders)


def choose_progress(hidden: bool) -> "Progress":
    """Return what shows the progress of long work: bars, or nothing."""
    from assay.core.progress import NoProgress, ProgressBars

    return NoProgress() if hidden else ProgressBars()


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print aligned columns without borders, so that they can be cut and grepped."""
    clean = [[strip_control(cell).replace("\n", " ") for cell in row] for row in [header, *rows]]
    widths = [max(len(cell) for cell in column) for column in zip(*clean, strict=True)]
    for row in clean:
        echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
