"""`assay view`, and the viewer of `assay run --view`."""

import os
import subprocess
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from assay.cli.arguments import RunPath
from assay.cli.output import echo, open_run
from assay.core.errors import UsageError
from assay.core.text import one_line


@click.command("view")
@click.argument("paths", nargs=-1, type=RunPath(), metavar="[DIR|ZIP]…")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on.  [default: a free one]")
@click.option("--open/--no-open", "open_", default=False, help="Open the page in the browser.")
def view_command(paths: tuple[Path, ...], port: int, open_: bool) -> None:
    """Show runs in the browser, live while they are in progress.

    Shows the run folders and the zip files of assay export that are given, and all runs below other folders; without
    any, all runs below the current folder. Results of other harnesses are shown too, as for assay compare. Serves on
    this machine only, until interrupted; the address contains a token, and nothing can be changed.

    \b
    Examples:
      assay view runs/first
      assay view --open
      assay view runs --port 8000
      assay view first.zip
      assay view harbor-jobs
    """
    from assay.interop.importers import is_run, read_results
    from assay.records import find_runs
    from assay.web import Viewer

    imported = [path for path in paths if not is_run(path) and not (path.is_dir() and any(find_runs(path)))]
    for path in imported:
        read_results([path])  # raises now if it cannot be read
    own = [path for path in paths if path not in imported]
    folders = [path if path.is_dir() else open_run(path).path for path in own]
    viewer = Viewer(folders if paths else [Path()], port, imported)

    def announce() -> None:
        echo(viewer.address)
        sys.stdout.flush()
        echo("Press Ctrl+C to stop.", err=True)
        if open_:
            webbrowser.open(viewer.address)

    with suppress(KeyboardInterrupt):  # the way to stop it
        viewer.serve(announce)


@contextmanager
def viewing(run: Path) -> Iterator[None]:
    """Serve the pages of a run from another process until the block ends, and open them where there is a screen."""
    has_screen = sys.stderr.isatty() and any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "assay", "view", str(run), *(["--open"] if has_screen else [])],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None and process.stderr is not None
        address = process.stdout.readline().strip()
        if not address:
            reason = one_line(process.stderr.read()).removeprefix("error: ")
            raise UsageError(f"The viewer did not start: {reason}")
        echo(f"Pages of this run: {address}", err=True)
        yield
    finally:
        process.terminate()
        process.communicate()
