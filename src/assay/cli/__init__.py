"""The command line: parse, call the library, print. Each command's module is imported only when it is called."""

import errno
import gc
import importlib
import os
import sys
from pathlib import Path

import click

from assay import __version__
from assay.core.errors import AssayError

# Pydantic would look through every installed package for plugins, which takes longer than a small command.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

_DISK_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.ESTALE)

COMMANDS = {
    "tasks": ("tasks", "List suites and tasks, and which are prepared."),
    "show": ("tasks", "Show all about one task."),
    "prepare": ("prepare", "Make tasks ready: fetch raw data, split off the answers."),
    "check": ("check", "Examine prepared tasks: are they gradable, and does nothing give the answers away?"),
    "lab": ("lab", "Build the labs' environments; examine what this machine can enforce."),
    "agents": ("agents", "List agents and their settings."),
    "plan": ("plan", "Show what a run would do, without doing it."),
    "run": ("run", "Let agents work on tasks, and grade what they hand in."),
    "resume": ("run", "Go on with a run after any interruption."),
    "status": ("status", "Show how far a run has come, also while it goes on."),
    "validate": ("grade", "Check the form of a submission, without a score."),
    "grade": ("grade", "Grade a submission."),
    "aggregate": ("aggregate", "Add up grading reports over seeds: medal rates, standard errors, pass@k."),
    "report": ("report", "Show the results of a run: table, CSV, JSON or HTML."),
    "verify": ("verify", "Check a run's records: recompute, grade again, say what does not match."),
    "sign": ("verify", "Print the head of a run, a hash over all of its records, to be published."),
    "export": ("export", "Pack a run into one file for a leaderboard."),
    "panel": ("panel", "Measure a task's reference solutions again."),
}


class Commands(click.Group):
    """Finds commands by name without importing the others."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which one needs them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the one command that was asked for."""
        if cmd_name not in COMMANDS:
            return None
        gc.disable()  # What modules hold is there to stay: looking through it for garbage only costs time.
        module = importlib.import_module(f"assay.cli.{COMMANDS[cmd_name][0]}")
        gc.freeze()
        gc.enable()
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table above, importing none."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="assay")
@click.option(
    "--tasks",
    "folders",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder with a suite of your own; may be given several times.",
)
@click.pass_context
def assay(ctx: click.Context, folders: tuple[Path, ...]) -> None:
    """Measure how well AI agents do machine-learning engineering.

    \b
    Example:
      assay prepare pocket
      assay run pocket --agent starter --agent automl --seeds 3 --time 60s --out runs/first
      assay report runs/first
    """
    ctx.obj = tuple(folder.absolute() for folder in folders)


def main() -> None:
    """Run the command line; every foreseen fault ends in one sentence and its exit code."""
    try:
        code = assay.main(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except AssayError as error:
        click.echo(f"assay: {error}", err=True)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        click.echo("assay: stopped", err=True)
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output has gone; Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        if error.errno not in _DISK_FAULTS:
            raise
        click.echo(f"assay: {error}; mend that and call again: nothing that is finished is lost", err=True)
        sys.exit(1)
