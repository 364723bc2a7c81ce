"""`assay new`."""

import re
from contextlib import nullcontext
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.cli.output import as_json, choose_progress, echo, echo_json, quiet, sandbox
from assay.core.disk import atomic_write
from assay.core.errors import AssayError, UsageError

if TYPE_CHECKING:
    from assay.lab.interface import SandboxName


class _Templates(click.Group):
    """Finds `assay new panel`, whose module is imported only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return what can be created."""
        return [*super().list_commands(ctx), "panel"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command that creates it."""
        if cmd_name == "panel":
            from assay.cli.panel import panel_command

            return panel_command
        return super().get_command(ctx, cmd_name)


@click.group("new", cls=_Templates)
def new_command() -> None:
    """Create a task from your data; or a suite, an agent, a metric or a study from a template; measure a task's
    reference solutions; or create a key to sign with.

    \b
    Examples:
      assay new task prices --from houses.csv --target price
      assay new agent my_agent
      assay new panel pocket/house-price
      assay new key team
    """


_OUT = click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    metavar="DIR",
    help="Folder to write to.  [default: this one]",
)
_SUITE_FOLDER = click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder of the suite; pass it to other commands as --tasks DIR.  [default: one that is always found]",
)
_DAY = click.DateTime(["%Y-%m-%d"])


@new_command.command("task")
@click.argument("name", metavar="[SUITE/]NAME")
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="A table (CSV, TSV, Parquet, JSON Lines), or a folder of images or texts with a subfolder for each class.",
)
@click.option(
    "--raw",
    type=click.Path(path_type=Path),
    metavar="ARCHIVE",
    help="Instead of --from: a competition's archive or folder with train, test and sample submission. Target and "
    "metric are guessed.",
)
@click.option(
    "--labels",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="TABLE",
    help="With a folder: the table that names its files and their labels.",
)
@click.option("--target", metavar="COLUMN", help="The column to predict.  [default: label, for folders]")
@click.option(
    "--metric",
    metavar="NAME",
    help="rmse, mae, rmsle, accuracy, macro_f1, roc_auc, log_loss, …, or your own as path.py:name.  [default: rmse or "
    "accuracy]",
)
@click.option("--group", metavar="COLUMN", help="Keep rows with the same value on one side, e.g. those of a patient.")
@click.option("--time", metavar="COLUMN", help="Test on the latest rows.")
@click.option("--id", "id_", metavar="COLUMN", help="The column that names a row; it is replaced by new ids.")
@click.option("--drop", multiple=True, metavar="COLUMN", help="Exclude a column, e.g. one recorded after the outcome.")
@click.option("--test", type=float, default=0.3, show_default=True, metavar="SHARE", help="Share of test rows.")
@click.option("--seed", type=click.IntRange(0), help="Seed of the split.  [default: a random one]")
@click.option("--title", help="Title of the task.")
@click.option("--license", default="private", show_default=True, help="License of the data.")
@click.option("--published", type=_DAY, metavar="DATE", help="When the data became public, for studies of cutoffs.")
@click.option("--closed", type=_DAY, metavar="DATE", help="When the competition closed, for studies of cutoffs.")
@click.option("--link", is_flag=True, help="Refer to the table where it is, by its hash, instead of copying it.")
@click.option("--replace", is_flag=True, help="Replace a task of this name.")
@click.option("--seeds", type=click.IntRange(1), default=3, show_default=True, help="Runs of the starter.")
@click.option(
    "--panel-seeds",
    type=click.IntRange(0),
    default=2,
    show_default=True,
    help="Runs of each reference solution; 0 measures none.",
)
@_SUITE_FOLDER
@sandbox
@quiet
@as_json
def new_task_command(
    name: str,
    source: Path | None,
    raw: Path | None,
    labels: Path | None,
    sandbox: "SandboxName",
    out: Path | None,
    link: bool,
    replace: bool,
    seeds: int,
    panel_seeds: int,
    quiet: bool,
    json_: bool,
    **wishes: Any,
) -> None:
    """Make a task from your own data: split, description, starter, reference solutions, all measured and checked.

    Test rows get new ids, equal rows stay on one side of the split, and the answers never enter a lab. The raw data is
    copied into the task's folder, which only you can read. A column, metric or split that does not work is an error
    before anything is written.

    \b
    Examples:
      assay new task prices --from houses.csv --target price --metric mae
      assay new task visits --from visits.csv --target returned --group patient
      assay new task leaves --from photos
      assay new task titanic --raw titanic.zip
    """
    from assay.authoring import Wishes, create_task, describe_new_task, read_archive, read_own_data
    from assay.core.home import Home

    if (source is None) == (raw is None):
        raise UsageError("No data given; pass --from PATH or --raw ARCHIVE" if raw is None else "Pass --from or --raw")
    days = {key: wishes[key].date() for key in ("published", "closed") if wishes[key]}
    chosen = Wishes(**{key: value for key, value in wishes.items() if key != "id_"} | days | {"id": wishes["id_"]})
    progress = choose_progress(quiet or json_)
    with read_archive(raw, progress, chosen.target) if raw else nullcontext(read_own_data(source, labels)) as data:
        new = create_task(
            name, data, chosen, Home.default(), out=out, link=link, replace=replace, sandbox=sandbox, seeds=seeds,
            panel_seeds=panel_seeds, progress=progress,
        )  # fmt: skip
    task = new.prepared.task
    if json_:
        problems = {
            "problems": new.problems,
            "warnings": new.warnings,
            "guessed": new.draft.guessed,
            "seconds": round(new.seconds, 1),
        }
        echo_json(
            "new-task/1",
            task=task.id,
            folder=str(task.folder),
            measured=new.measured.model_dump(mode="json"),
            **problems,
        )
    else:
        echo(f"Wrote {task.folder} in {new.seconds:.0f} seconds")
        for line in describe_new_task(new):
            echo(f"  {line}", indent=4)
        where = f"--tasks {out} " if out else ""
        echo(f"To run agents on it, run: assay {where}run {task.id} --agent starter --agent automl,evaluations=3")
    if new.problems:
        raise AssayError(
            "The task is complete, but it has problems: " + "; ".join(new.problems)
            + ". Try again with --replace and "
            + ("--labels with --group" if new.draft.kind.startswith("image") else "--drop, --group or --time COLUMN")
        )  # fmt: skip


@new_command.command("suite")
@click.argument("name")
@_SUITE_FOLDER
def new_suite_command(name: str, out: Path | None) -> None:
    """Create an empty suite, for `assay new task SUITE/NAME`.

    \b
    Examples:
      assay new suite clinic
      assay new suite clinic --out clinic-tasks
    """
    from assay.authoring import create_suite

    echo(f"Wrote {create_suite(name, out) / 'suite.toml'}")


@new_command.command("metric")
@click.argument("name")
@_OUT
def new_metric_command(name: str, out: Path) -> None:
    """Create a metric that works: a pure function of two arrays.

    \b
    Examples:
      assay new metric median_error
    """
    _write_template(name, "new_metric.txt", "metric", out)
    echo(f"To use it, run: assay new task NAME --from FILE --target COLUMN --metric {out / name}.py:{name}")


@new_command.command("study")
@click.argument("name")
@_OUT
def new_study_command(name: str, out: Path) -> None:
    """Create a study that works: a question about finished runs.

    \b
    Examples:
      assay new study hardest_tasks
    """
    _write_template(name, "new_study.txt", "study", out)
    echo(f"To use it, run: assay study {out / name}.py:STUDY RUN")


def _write_template(name: str, template: str, noun: str, out: Path) -> None:
    _check_name(name, noun)
    if (out / f"{name}.py").exists():
        raise UsageError(f"{out / name}.py exists already; choose another name, or remove it")
    out.mkdir(parents=True, exist_ok=True)
    atomic_write(out / f"{name}.py", _template(template).replace("NAME", name), mode=None)
    echo(f"Wrote {out / name}.py")


def _check_name(name: str, noun: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        article = "an" if noun == "agent" else "a"
        raise UsageError(f"{name!r} cannot be the name of {article} {noun}; use a-z, 0-9 and _, e.g. my_{noun}")


@new_command.command("agent")
@click.argument("name")
@click.option("--profile", is_flag=True, help="A profile for a command-line agent instead of a Python class.")
@_OUT
def new_agent_command(name: str, profile: bool, out: Path) -> None:
    """Create an agent that works: a Python class, or with --profile a command-line agent and how to run it.

    \b
    Examples:
      assay new agent my_agent
      assay new agent my_agent --profile
    """
    _check_name(name, "agent")
    if profile:
        new = {
            f"{name}.toml": _template("new_profile.toml").replace("NAME", name),
            f"{name}_agent.py": _template("new_command.txt"),
        }
        agent = f"external,profile={out / name}.toml"
    else:
        class_name = "".join(map(str.capitalize, name.split("_")))
        text = _template("new_agent.txt").replace("{file}", f"{name}.py").replace("{name}", class_name)
        new = {f"{name}.py": text}
        agent = f"{out / name}.py:{class_name}"
    if existing := next((file for file in new if (out / file).exists()), None):
        raise UsageError(f"{out / existing} exists already; choose another name, or remove it")
    out.mkdir(parents=True, exist_ok=True)
    for file, text in new.items():
        atomic_write(out / file, text, mode=None)
        echo(f"Wrote {out / file}")
    echo(f"To try it, run: assay run pocket/digits --agent {agent} --seeds 1")


@new_command.command("key")
@click.argument("path", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
def new_key_command(path: Path) -> None:
    """Create an Ed25519 key to sign runs with: FILE, to be kept secret, and FILE.pub, to be published.

    \b
    Examples:
      assay new key team
    """
    from assay.records.keys import create_key, fingerprint, path_of_public

    public = create_key(path)
    echo(f"Wrote {path} (keep it secret) and {path_of_public(path)} (publish it): {fingerprint(public)}")
    echo(f"To sign a run, run: assay export --sign RUN --key {path}")


def _template(name: str) -> str:
    return files("assay.agents").joinpath("templates", name).read_text("utf-8")
