"""What commands share: printing, tables, and options that mean the same everywhere."""

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.cli.arguments import RunPath
from assay.core.errors import UsageError
from assay.core.text import one_line, strip_control
from assay.lab.sandboxes import AUTO, check_sandbox

if TYPE_CHECKING:
    from rich.console import Console

    from assay.core.home import Home
    from assay.core.progress import Progress
    from assay.core.table import Table
    from assay.data.store import Prepared
    from assay.records import RunFolder
    from assay.tasks import Registry, Task

_PIPE_WIDTH = 100_000
as_json = click.option("--json", "json_", is_flag=True, help="Print JSON.")
quiet = click.option("--quiet", is_flag=True, help="Do not show progress.")
edition = click.option(
    "--edition", metavar="NAME", default=None, help="Edition of the rules.  [default: the first of the suite]"
)
variant = click.option(
    "--variant",
    metavar="NAME",
    default=None,
    help="Variant of the data: real, unverified, synthetic (which means synthetic-0), synthetic-7, or one per suite: "
    "mlebench=synthetic,pocket=real.  [default: real, or the only one that is prepared]",
)
trusted_keys = click.option(
    "--trust",
    "trusted",
    multiple=True,
    metavar="PUBKEY",
    help="Public key that must have signed the run: a file or the key itself; may be given several times.",
)
sandbox = click.option(
    "--sandbox",
    metavar="NAME",
    callback=lambda _context, _option, name: check_sandbox(name),
    default=AUTO,
    show_default=True,
    help="Sandbox for untrusted code: bubblewrap, podman, docker, landlock, none, or your own as path.py:Class; auto "
    "is the strongest that works here. Results made with none are marked unsealed.",
)
_STYLES: Mapping[str, dict[str, Any]] = {
    "title": {"bold": True},
    "header": {"dim": True},
    "best": {"fg": "green", "bold": True},
    "failed": {"fg": "red"},
    "warning": {"fg": "yellow"},
    "muted": {"dim": True},
}
_COLORS = {
    "ok": "green",
    "done": "green",
    "FAILED": "red",
    "failed": "red",
    "missing": "red",
    "degraded": "yellow",
    "interrupted": "yellow",
    "stopped": "yellow",
    "running": "cyan",
}


def find_newest_run() -> Path:
    """Return the newest run below this folder that can be read, and say which it is."""
    from assay.core.errors import AssayError
    from assay.records import RunFolder, list_newest_runs, read_trials

    for path in list_newest_runs(Path()):
        try:
            read_trials(RunFolder(path))
        except AssayError as error:
            echo(f"Skipping {path}: {error}", err=True)
        else:
            echo(f"Using the newest run: {path}", err=True)
            return path
    raise click.UsageError("There is no run below this folder; pass the folder of one")


imported_suite = click.option(
    "--suite",
    metavar="NAME",
    help="The benchmark of all tasks that other harnesses report, where they name it differently.",
)

run_argument = click.argument(
    "folder",
    required=False,
    type=RunPath(),
    metavar="[RUN]",
    callback=lambda ctx, param, value: value or find_newest_run(),
)


def open_run(path: Path) -> "RunFolder":
    """Return a run: its folder, or a zip file that `assay export` wrote, unpacked for as long as this process runs."""
    from assay.records import RunFolder

    if path.is_dir():
        return RunFolder(path)
    from assay.interop.importers.read import open_bundle

    return open_bundle(path)


def echo(text: object = "", *, err: bool = False, nl: bool = True, indent: int | None = None) -> None:
    """Print text that may come from anywhere: control sequences are replaced, so it cannot control the terminal.

    On a terminal, lines that are too long continue on the next line, after `indent` spaces, and words stay whole. In a
    file or a pipe lines are as long as they need to be, and JSON is never touched.
    """
    clean = strip_control(str(text))
    if nl and (sys.stderr if err else sys.stdout).isatty() and not clean.startswith(("{", "[")):
        width = shutil.get_terminal_size().columns
        clean = "\n".join(_wrap(line, width, indent) for line in clean.split("\n"))
    click.echo(clean, err=err, nl=nl)


def echo_marked(mark: str, text: str) -> None:
    """Print a line that begins with a colored word; on a terminal it continues below its text."""
    line = f"  {mark:<7} {strip_control(text)}"
    if sys.stdout.isatty():
        line = _wrap(line, shutil.get_terminal_size().columns, indent=10)
    click.echo(line.replace(mark, color_word(mark), 1))


def _wrap(line: str, width: int, indent: int | None) -> str:
    if len(line) <= width:
        return line
    spaces = " " * (len(line) - len(line.lstrip()) + 2 if indent is None else indent)
    return textwrap.fill(
        line, width, subsequent_indent=spaces, break_on_hyphens=False, break_long_words=False, replace_whitespace=False
    )


def make_console() -> "Console":
    """Return a console for standard output; in a file or a pipe, lines are as long as they need to be."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=_PIPE_WIDTH)


def check_trusted(folders: Iterable[Path], *, trust: bool) -> None:
    """Ask before the code in folders of tasks runs that the user has not allowed before; it is asked once a folder."""
    from assay.core.trusted_folders import find_untrusted, trust_folders

    for folder in find_untrusted(folders):
        ask_for_trust(str(folder), (f"run the code of the tasks in {folder} on this machine",), trust=trust)
        trust_folders([folder])


def ask_for_trust(file: str, risks: tuple[str, ...], *, trust: bool) -> None:
    """Ask on the terminal whether a stranger's file may do what it says; without one, only `--trust` allows it."""
    listed = "\n".join(f"  - {one_line(risk)}" for risk in risks)
    if trust:
        echo(f"{one_line(file)} is trusted to\n{listed}", err=True)
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        from assay.runs.planned import refuse

        refuse(file, risks)
    echo(f"{one_line(file)} would\n{listed}", err=True)
    if not click.confirm("Do you trust it?", err=True):
        raise UsageError(f"{one_line(file)} is not trusted")


def open_registry(folders: Sequence[Path]) -> "Registry":
    """Return the suites of Assay, of the user's configuration and those given with `--tasks`."""
    from assay.tasks import Registry

    registry = Registry(folders)
    for reason in registry.skipped.values():
        echo(f"warning: skipping a suite of your configuration: {reason}", err=True)
    return registry


def load_data(home: "Home", task: "Task", edition: str | None, variant: str | None) -> "Prepared":
    """Return the prepared data of a task; without a variant, the only one that is prepared is used, and named."""
    from assay.data.store import choose_variant, load_prepared

    chosen = choose_variant(home, task, edition, variant)
    if variant is None and chosen != "real":
        echo(f"Using {chosen} data of {task.id}, the only variant that is prepared.", err=True)
    return load_prepared(home, task, edition, chosen)


def read_size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Read the value of an option that is a size, such as `4GB`."""
    from assay.core.quantities import parse_size

    try:
        return None if value is None else parse_size(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def choose_progress(hidden: bool) -> "Progress":
    """Return what shows the progress of long work: bars, or nothing."""
    from assay.core.progress import NoProgress, ProgressBars

    return NoProgress() if hidden else ProgressBars()


def echo_json(format: str, /, **content: Any) -> None:
    """Print an object as JSON; `format` is its name and number."""
    from assay.core.table import to_plain

    echo(json.dumps({"format": format} | to_plain(content) | {"format": format}, indent=2, allow_nan=False))


def show_table(table: "Table", json_: bool, format: str) -> None:
    """Print a table, or with `--json` its content as JSON of this format."""
    if json_:
        echo(json.dumps({"format": format, **table.to_dict()}, indent=2, allow_nan=False))
    else:
        print_tables([table])


def print_tables(tables: "Iterable[Table]") -> None:
    """Print tables one below the other, in the width and the colors of the terminal; in a pipe every cell is whole."""
    for number, table in enumerate(tables):
        if number:
            echo()
        for line, style in table.to_lines(terminal_width()):
            safe = strip_control(line)
            if style in _STYLES and uses_color():
                echo_styled(click.style(safe, **_STYLES[style]))
            else:
                echo_styled("  ".join(map(color_word, safe.split("  "))))


def print_markdown(text: str) -> None:
    """Print a document: laid out on a terminal, as it is written in a file or a pipe."""
    if not sys.stdout.isatty():
        echo(text)
        return
    from rich.markdown import Markdown

    make_console().print(Markdown(strip_control(text), hyperlinks=False))


def terminal_width() -> int | None:
    """Return the width of the terminal that standard output goes to; None for a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def uses_color() -> bool:
    """Whether to print in color: on a terminal, unless NO_COLOR is set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def color_word(text: str) -> str:
    """Return a state such as `ok` or `failed: out of time` in the color that it has everywhere."""
    color = _COLORS.get(text.strip().partition(":")[0])
    return click.style(text, fg=color) if color and uses_color() else text


def echo_styled(text: str) -> None:
    """Print text that is safe already and may have colors."""
    click.echo(text)
