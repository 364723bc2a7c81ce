"""`assay view`."""

import webbrowser
from contextlib import suppress
from pathlib import Path

import click

from assay.cli.output import echo


@click.command("view")
@click.argument("folders", nargs=-1, type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="[DIR...]")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on.  [default: a free one]")
@click.option("--open/--no-open", "open_", default=False, help="Open the page in the browser.")
def view_command(folders: tuple[Path, ...], port: int, open_: bool) -> None:
    """Show runs in the browser, live while they go on.

    Shows the run folders given and all runs below other folders; without a folder, all runs below the current one.
    Serves on this machine only, until interrupted; the address contains a token, and nothing can be changed.

    \b
    Examples:
      assay view runs/first
      assay view --open
      assay view runs --port 8000
    """
    from assay.web import Viewer

    viewer = Viewer(folders or (Path(),), port)

    def announce() -> None:
        echo(viewer.address)
        echo("Press Ctrl+C to stop.", err=True)
        if open_:
            webbrowser.open(viewer.address)

    with suppress(KeyboardInterrupt):  # the way to stop it
        viewer.serve(announce)
