"""Arguments that name runs and trials: by their folder, or trials by a part of their id; and options in groups."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from assay.cli.complete import complete_runs, complete_trials
from assay.core.quantities import parse_duration

_LISTED = 3


class RunPath(click.ParamType[Path]):
    """A run folder or a file of `assay export`; an error names the newest runs."""

    name = "run"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path, which exists."""
        path = Path(value)
        if not path.exists():
            raise click.UsageError(f"{value} does not exist{_name_newest(_newest_runs())}", ctx)
        return path

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete run folders and exported runs."""
        return complete_runs(ctx, param, incomplete)


class TrialPath(click.ParamType[Path]):
    """A trial: its folder, or the start or end of its id in the newest run that has such a trial.

    `runs/first/digits-automl-1` looks only in `runs/first`. With `or_run`, the folder of a run is accepted as well.
    """

    name = "trial"

    def __init__(self, *, or_run: bool = False) -> None:
        self._or_run = or_run

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the folder of the trial."""
        path = Path(value)
        if (path / "trial.json").exists() or (self._or_run and path.is_dir()):
            return path
        if path.exists():
            self.fail(f"{value} is not a trial: it has no trial.json", param, ctx)
        named = path.parent.parent if path.parent.name == "trials" else path.parent
        runs = [named] if (named / "run.json").exists() else _newest_runs() if path.parent == Path() else []
        for run in runs:
            matches = match_trials(run, path.name)
            if len(matches) > 1:
                self.fail(f"{count_matches(matches)} of {run} match {path.name}; give more of the id", param, ctx)
            if matches:
                return matches[0]
        if self._or_run:
            raise click.UsageError(f"{value} does not exist{_name_newest(_newest_runs())}", ctx)
        newest = [trial.name for run in runs[:1] for trial in sorted((run / "trials").glob("*-*"))]
        raise click.UsageError(f"no trial matches {value}{_name_newest(newest, 'trials')}", ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete run folders and the folders of their trials."""
        return complete_trials(ctx, param, incomplete)


def match_trials(run: Path, part: str) -> list[Path]:
    """Return the trials of a run whose id is `part`, or else those whose id starts or ends with it."""
    folders = [file.parent for file in sorted(run.glob("trials/*/trial.json"))]
    exact = [folder for folder in folders if folder.name == part]
    return exact or [folder for folder in folders if folder.name.startswith(part) or folder.name.endswith(part)]


def count_matches(matches: list[Path]) -> str:
    """Return how many trials match, with the first of them."""
    listed = ", ".join(folder.name for folder in matches[:_LISTED])
    return f"{len(matches)} trials ({listed}{', …' if len(matches) > _LISTED else ''})"


def _newest_runs() -> list[Path]:
    from assay.records import list_newest_runs

    return list(list_newest_runs(Path()))


def _name_newest(names: Iterable[object], what: str = "runs") -> str:
    listed = [str(name) for name in names][:_LISTED]
    return f"; the newest {what}: {', '.join(listed)}" if listed else f"; there are no {what} below this folder"


def read_duration(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """Return the seconds of a duration such as `5m`; a number without a unit is an error."""
    if value is not None and value.replace(".", "", 1).isdigit():
        raise click.BadParameter(f"{value} has no unit; write {value}s, {value}m or {value}h")
    try:
        return None if value is None else parse_duration(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


class Count(click.IntRange):
    """A number of at least one."""

    def __init__(self) -> None:
        super().__init__(1)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number; an error says what one looks like."""
        try:
            return int(super().convert(value, param, ctx))
        except click.BadParameter:
            self.fail(f"{value!r} is not an integer of at least 1, such as 3", param, ctx)


def name_numbers(command: click.Command) -> click.Command:
    """Show the values of numeric options as `N` and call them numbers in errors, not ranges; return the command."""
    for parameter in command.params:
        if isinstance(parameter.type, click.IntRange | click.FloatRange):
            parameter.metavar = parameter.metavar or "N"
            parameter.type.name = "integer" if isinstance(parameter.type, click.IntRange) else "number"
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        name_numbers(inner)
    return command


class GroupedCommand(click.Command):
    """A command whose help lists its options in named groups; those of no group come last."""

    groups: Mapping[str, tuple[str, ...]] = {}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, each group under its title."""
        records = {
            parameter.name: record
            for parameter in self.get_params(ctx)
            if isinstance(parameter, click.Option) and (record := parameter.get_help_record(ctx))
        }
        for title, names in self.groups.items():
            if listed := [records.pop(name) for name in names if name in records]:
                with formatter.section(title):
                    formatter.write_dl(listed)
        with formatter.section("Other options"):
            formatter.write_dl(list(records.values()))
