"""The command line: parse, call the library, print.

Start reading at `main` below. Each command has a module, which is imported only when the command is called.
"""

import errno
import importlib
import os
import sys
from pathlib import Path

import click

from assay import __version__
from assay.core.errors import AssayError
from assay.core.garbage import pause_garbage_collection

__all__ = ["COMMANDS", "GROUPS", "assay", "main", "show_error"]

# Pydantic would search every installed package for plugins, which takes longer than a small command.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 120}
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.ESTALE)

GROUPS = {
    "Tasks": {
        "tasks": ("tasks", "List suites and tasks, or show details of a task."),
        "prepare": ("prepare", "Download the data of tasks and split off the answers."),
        "audit": ("audit", "Check that tasks can be graded; search them or your data for leaks."),
        "new": ("new", "Create a task from your data, or an agent, suite, metric, study, panel or key."),
    },
    "Run": {
        "agents": ("agents", "List agents and their settings."),
        "try": ("try_agent", "Try a changed agent on a quick set of tasks, and compare it with the version before."),
        "plan": ("plan", "Show what a run would do, its maximum time and cost."),
        "run": ("run", "Run agents on tasks and grade their submissions."),
        "resume": ("run", "Resume an interrupted run or trial."),
        "clean": ("clean", "Remove trials or runs from the disk."),
    },
    "Look": {
        "ls": ("runs", "List runs."),
        "status": ("status", "Show the progress of a run."),
        "view": ("view", "Show runs in the browser, live while they are in progress."),
        "logs": ("runs", "Show what an agent did in a trial."),
        "report": ("report", "Show the results of runs as tables, CSV, JSON, LaTeX, HTML or PDF."),
    },
    "Compare": {
        "compare": ("compare", "Compare agents: paired differences with intervals, tests and power."),
        "study": ("study", "Study results beyond scores: scaling, violations, power, subsets, …"),
        "grade": ("grade", "Grade a submission, a list of submissions, or each step of a trial."),
    },
    "Share": {
        "verify": ("verify", "Verify the records of a run and regrade its submissions."),
        "export": ("export", "Export a run as a zip file, reports, Inspect logs or Harbor tasks; sign it."),
        "board": ("board", "Keep a leaderboard of verified runs, and build it as a static site."),
    },
    "Machine": {
        "doctor": ("machine", "Check this machine: extras, environments, API keys, sandbox."),
        "config": ("machine", "Show the settings that apply to every run; complete commands in the shell."),
        "lab": ("lab", "Build and check the Python environments of labs."),
    },
}
"""The sections of the help in the order in which a user needs them: the module and the summary of each command."""

_READING = ("tasks", "agents", "ls", "logs", "config", "doctor")
"""Commands that run no code of a task."""

COMMANDS = {name: module for group in GROUPS.values() for name, (module, _) in group.items()}


class Commands(click.Group):
    """Finds commands by name without importing the others."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which a user needs them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of one command."""
        if cmd_name not in COMMANDS:
            return None
        with pause_garbage_collection(keep=True):
            from assay.cli.arguments import name_numbers

            module = importlib.import_module(f"assay.cli.{COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return name_numbers(command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an unknown one is an error with a suggestion."""
        if args and not ctx.resilient_parsing and args[0] not in COMMANDS and not args[0].startswith("-"):
            from assay.core.text import suggest

            close = suggest(args[0], COMMANDS)
            hint = f" Did you mean '{close}'?" if close else ""
            raise click.UsageError(f"No such command '{args[0]}'.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table above, importing none."""
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, summary) for name, (_, summary) in commands.items()])


@click.group(cls=Commands, context_settings=_CONTEXT, invoke_without_command=True)
@click.version_option(__version__, prog_name="assay")
@click.option(
    "--tasks",
    "folders",
    multiple=True,
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with a suite of your own. Can be repeated.",
)
@click.option("--trust", is_flag=True, help="Allow the code in the folders of --tasks to run, now and later.")
@click.pass_context
def assay(ctx: click.Context, folders: tuple[Path, ...], trust: bool) -> None:
    """Measure how well AI agents do machine learning engineering.

    \b
    Examples:
      assay run pocket:quick --agent starter --agent automl,evaluations=3
      assay compare
      assay view
    """
    ctx.obj = tuple(folder.absolute() for folder in folders)
    if folders and ctx.invoked_subcommand not in (None, *_READING) and not ctx.resilient_parsing:
        from assay.cli.output import check_trusted

        check_trusted(ctx.obj, trust=trust)
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main() -> None:
    """Run the command line; the exit code is 0 (done), 1 (failed), 2 (wrong usage) or 130 (interrupted)."""
    if sys.stdout is None:  # the caller closed it
        sys.exit(_print_error("Cannot write to standard output: it is closed", 1))
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # an encoding without, for example, ± prints a question mark
    try:
        code = assay.main(prog_name="assay", standalone_mode=False)
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - unexpected errors are raised again
        sys.exit(show_error(error))
    sys.exit(code if isinstance(code, int) else 0)


def show_error(error: BaseException) -> int:
    """Print an expected error as one sentence and return its exit code; raise any other error again."""
    if isinstance(error, click.UsageError):
        command = error.ctx.command_path if error.ctx else "assay"
        return _print_error(f"{error.format_message()}\nTry '{command} --help' for help.", error.exit_code)
    if isinstance(error, click.ClickException):
        return _print_error(error.format_message(), error.exit_code)
    if isinstance(error, AssayError):
        return _print_error(str(error), error.exit_code)
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return _print_error("interrupted", 130)
    if isinstance(error, OSError):
        _drop_unwritable_output()
    if isinstance(error, BrokenPipeError):  # the reader of our output is gone, so a message would not be read either
        return 1
    if isinstance(error, OSError) and error.errno in _DISK_ERRORS:
        return _print_error(f"{error}; fix this and rerun: finished work is preserved", 1)
    if isinstance(error, OSError) and error.filename is not None:
        return _print_error(f"Cannot access {error.filename}: {error.strerror}", 1)
    raise error


def _drop_unwritable_output() -> None:
    """Discard output that cannot be written; otherwise Python would complain again when it flushes at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_error(message: str, exit_code: int) -> int:
    from assay.cli.output import echo

    echo(f"error: {message}", err=True)
    return exit_code
