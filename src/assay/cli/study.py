"""`assay study`: a command for each study, whose options are its settings."""

import importlib
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

import click
from click.core import ParameterSource
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from assay.cli.arguments import RunPath, name_numbers
from assay.cli.complete import complete_tasks
from assay.cli.output import (
    as_json,
    choose_progress,
    echo,
    find_newest_run,
    open_registry,
    open_run,
    print_tables,
    quiet,
)
from assay.cli.planning import make_plan, study_options
from assay.core.disk import atomic_write
from assay.core.errors import UsageError
from assay.core.home import Home
from assay.core.progress import use_progress
from assay.core.text import did_you_mean, plural, suggest
from assay.records import RunFolder
from assay.studies.study import STUDIES, Study, StudyInput, StudyResult, StudySettings
from assay.studies.trials import describe_runs

if TYPE_CHECKING:
    from assay.core.table import Table

Decorator = Callable[[Callable[..., None]], Callable[..., None]]
_PREFIX = "study_"
"""Before the names of settings, so that they are none of the plan's."""
_OUTPUTS = (
    as_json,
    click.option("--csv", "csv_", is_flag=True, help="Print a table as CSV."),
    click.option("--markdown", is_flag=True, help="Print Markdown."),
    click.option("--table", metavar="NAME", default=None, help="The table of --csv.  [default: the first]"),
    click.option(
        "--figure",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE.svg|FILE.png",
        default=None,
        help="Draw a figure.",
    ),
    click.option(
        "--html",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        default=None,
        help="Write a self-contained page.",
    ),
    quiet,
)
_ARGUMENTS = {
    "runs": click.argument("names", nargs=-1, metavar="[RUN]…", type=RunPath()),
    "optional runs": click.argument("names", nargs=-1, metavar="[RUN]…", type=RunPath()),
    "tasks": click.argument("names", nargs=-1, metavar="[TASK|SUITE]…", shell_complete=complete_tasks),
}


_TOOLS = {
    "power": "How many tasks and seeds find a difference between agents.",
    "subset": "The fewest tasks that rank agents like all tasks do.",
    "aggregate": "Medal rates, standard errors and pass@k of grading reports, also published ones.",
    "selftest": "Simulations: do intervals cover, do tests hold, are promises of power kept?",
}


class _Studies(click.Group):
    """Finds studies by name, as `path.py:NAME` those of any file."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all studies that are registered, and of the tools."""
        return [*STUDIES.names(), *_TOOLS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one study, or the module of a tool."""
        if cmd_name in _TOOLS:
            tool: click.Command = getattr(importlib.import_module(f"assay.cli.{cmd_name}"), f"{cmd_name}_command")
            return name_numbers(tool)
        if (close := suggest(cmd_name, _TOOLS)) and suggest(cmd_name, STUDIES.names()) is None:
            raise UsageError(f"no study is called {cmd_name!r}; did you mean {close}?")
        return name_numbers(make_command(STUDIES.load(cmd_name)))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List studies, which read runs, apart from tools of experimenters."""
        with formatter.section("Studies"):
            formatter.write_dl([(name, STUDIES.load(name).summary) for name in STUDIES.names()])
        with formatter.section("Design and statistics"):
            formatter.write_dl(list(_TOOLS.items()))


@click.group("study", cls=_Studies)
def study_command() -> None:
    """Study the results of runs beyond their scores, and plan how many tasks and seeds a comparison needs.

    A study of your own is named as path.py:NAME; see docs/studies.md.

    \b
    Examples:
      assay study scaling runs/first --over time
      assay study familiarity --model local/smollm2 --positions 20 --length 100
      assay study obfuscation runs/both
      assay study cutoff runs/aide --date 2023-10-01
      assay study similarity runs/first --against notebooks
      assay study violations runs/first
      assay study leaderboard runs/mine
      assay study power --difference 10
      assay study path/to/own.py:STUDY runs/first --json
    """


def make_command(study: Study[Any]) -> click.Command:
    """Return the command of a study."""

    @click.pass_context
    def command(ctx: click.Context, /, **_: Any) -> None:
        settings = _read_settings(ctx, study)
        result = _run(ctx, study, settings)
        _show(ctx, study, settings, result)
        if result.failed:
            raise click.exceptions.Exit(1)

    options = [_make_option(name, field) for name, field in study.settings.model_fields.items()]
    decorated: Callable[..., None] = command
    decorators: list[Decorator] = [_ARGUMENTS.get(study.reads, study_options), *options, *_OUTPUTS]
    for decorate in reversed(decorators):
        decorated = decorate(decorated)
    lines = [
        study.summary,
        study.description,
        "\n".join(["\b", "Examples:", *(f"  {line}" for line in study.examples)]),
    ]
    return click.command(study.name, help="\n\n".join(filter(None, lines)), short_help=study.summary)(decorated)


def _make_option(name: str, field: FieldInfo) -> Decorator:
    """Return the option of a setting; values are checked by the model of the settings."""
    options: dict[str, Any] = {"help": field.description, "default": None, "required": field.is_required()}
    kinds = list(_find_kinds(field.annotation))
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    if kinds == [bool]:
        return click.option(_flag(name, field), _PREFIX + name, is_flag=True, help=field.description)
    if all(get_origin(kind) is Literal for kind in kinds):
        options["type"] = click.Choice([value for kind in kinds for value in get_args(kind)])
    elif extra.get("metavar"):
        options["metavar"] = extra["metavar"]
    if get_origin(kinds[0]) is tuple:
        options["multiple"] = True
        options["default"] = ()
    elif field.default is not None and not field.is_required():
        options["help"] = f"{field.description}  [default: {field.default}]"
    return click.option(_flag(name, field), _PREFIX + name, **options)


def _find_kinds(annotation: Any) -> Iterator[Any]:
    """Yield the parts of a union without None."""
    if get_origin(annotation) in (Union, UnionType):
        for part in get_args(annotation):
            yield from _find_kinds(part)
    elif annotation is not type(None):
        yield annotation


def _flag(name: str, field: FieldInfo) -> str:
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    return str(extra.get("flag") or f"--{name.replace('_', '-')}")


def _read_settings(ctx: click.Context, study: Study[Any]) -> StudySettings:
    fields = study.settings.model_fields
    values = {
        name: ctx.params[_PREFIX + name]
        for name in fields
        if ctx.get_parameter_source(_PREFIX + name) == ParameterSource.COMMANDLINE
    }
    try:
        settings: StudySettings = study.settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        message = str(first["msg"]).removeprefix("Value error, ")
        hint = _flag(str(first["loc"][0]), fields[str(first["loc"][0])]) if first["loc"] else None
        raise click.BadParameter(message, ctx, param_hint=hint) if hint else click.UsageError(message, ctx) from None
    return settings


def _run(ctx: click.Context, study: Study[Any], settings: StudySettings) -> StudyResult:
    hidden = ctx.params["quiet"] or ctx.params["json_"]
    names: tuple[str, ...] = tuple(map(str, ctx.params["names"]))
    runs: list[RunFolder] = []
    if study.reads == "plan":
        runs = _find_or_make_runs(ctx, study, settings)
    elif study.reads != "tasks":
        paths = [Path(name) for name in names]
        if not paths and study.reads == "runs":
            paths = [find_newest_run()]
        runs = [open_run(path) for path in paths]
    with use_progress(choose_progress(hidden)):
        result = study.run(StudyInput(tuple(runs), names, open_registry(ctx.obj), Home.default()), settings)
    return replace(result, sentences=[*result.sentences, *describe_runs(runs)]) if runs else result


def _find_or_make_runs(ctx: click.Context, study: Study[Any], settings: StudySettings) -> list[RunFolder]:
    """Return finished runs, or run a plan with everything that the study varies."""
    paths = [Path(name) for name in ctx.params["names"]]
    finished = [path for path in paths if (path / "run.json").exists() or path.suffix == ".zip"]
    if finished:
        if len(finished) < len(paths):
            raise UsageError("Pass either finished runs, or tasks and a plan to run")
        return [open_run(path) for path in finished]
    from assay.cli.run import run_unfinished
    from assay.runs.execute import Reporting, add_trials, check_infrastructure, choose_run_folder

    hidden = ctx.params["quiet"]
    plan, config = make_plan(ctx)
    plans = study.vary(plan, settings, config.on in (None, "local")) if study.vary else [plan]
    run = choose_run_folder(config)
    add_trials(run, plans, config, Home.default(), Reporting(choose_progress(hidden), partial(echo, err=True)))
    unstarted = run_unfinished(run, config, hidden)
    echo(f"Run folder: {run.path}", err=True)
    if unstarted:
        raise UsageError(f"{plural(unstarted.trials, 'trial')} not started because {unstarted.why}; repeat the command")
    check_infrastructure(run)
    return [run]


def _show(ctx: click.Context, study: Study[Any], settings: StudySettings, result: StudyResult) -> None:
    params = ctx.params
    chosen = [
        flag for flag, name in (("--json", "json_"), ("--csv", "csv_"), ("--markdown", "markdown")) if params[name]
    ]
    if len(chosen) > 1:
        raise UsageError(f"Pass only one of {' and '.join(chosen)}")
    if params["figure"]:
        if not result.figures:
            raise UsageError(f"The study {study.name} has no figure of these results")
        figure, path = result.figures[0], params["figure"]
        _write(path, figure.to_png() if path.suffix == ".png" else figure.to_svg())
    if params["html"]:
        from assay.web.study_page import render_study

        title = ", ".join(Path(name).resolve().name for name in params["names"]) or study.name
        _write(params["html"], render_study(study.name, title, result, datetime.now(UTC)))
    if params["json_"]:
        echo(json.dumps(result.to_dict(study.name, settings), indent=2, allow_nan=False))
    elif params["csv_"]:
        echo(_choose_table(result, params["table"]).to_csv(), nl=False)
    elif params["markdown"]:
        echo(result.to_markdown(), nl=False)
    else:
        for sentence in result.sentences:
            echo(sentence)
        echo()
        print_tables(table for table in result.tables if table.rows or table.notes)


def _choose_table(result: StudyResult, name: str | None) -> "Table":
    names = [table.name for table in (*result.tables, *result.more)]
    if name is not None and name not in names:
        raise UsageError(f"There is no table {name!r}; {did_you_mean(name, names)}")
    return result.table(name or names[0])


def _write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, content, mode=None)
    echo(f"Wrote {path}", err=True)
