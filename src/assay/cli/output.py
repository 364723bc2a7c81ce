"""What commands share: options that mean the same everywhere, and plain tables."""

from collections.abc import Sequence
from pathlib import Path

import click

from assay.tasks import Registry

as_json = click.option("--json", "json_", is_flag=True, help="Print JSON instead of text.")
quiet = click.option("--quiet", is_flag=True, help="Show no progress.")
edition = click.option("--edition", default=None, help="The rules to judge by; default: the suite's first edition.")
variant = click.option(
    "--variant",
    default="real",
    show_default=True,
    help="Which data: real, unverified, or a miniature such as synthetic-0.",
)
sandbox = click.option(
    "--sandbox",
    type=click.Choice(["bubblewrap", "docker", "none"]),
    default="bubblewrap",
    show_default=True,
    help="The lab's wall; results made with none are marked unsealed.",
)


def registry(folders: Sequence[Path]) -> Registry:
    """The built-in suites and those given with `--tasks`."""
    return Registry(folders)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print columns that line up, without borders, so that they can be cut and grepped."""
    widths = [max(len(cell) for cell in column) for column in zip(head, *rows, strict=True)]
    for row in [head, *rows]:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
