"""`assay board`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.cli.output import as_json, choose_progress, echo, open_registry, quiet, sandbox, show_table, trusted_keys
from assay.core.table import Column, Kind, Table
from assay.core.text import plural

if TYPE_CHECKING:
    from assay.lab.interface import SandboxName

_BOARD = click.Path(file_okay=False, path_type=Path)


@click.group("board")
def board_command() -> None:
    """Keep a leaderboard of verified runs, and build it as a static site.

    \b
    Examples:
      assay export runs/first --out first.zip --submissions
      assay board add first.zip --to board --by "Example Lab"
      assay board build board --out site
    """


@board_command.command("add")
@click.argument("bundle", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="BUNDLE")
@click.option("--to", "folder", required=True, type=_BOARD, metavar="DIR", help="Folder of the board.")
@click.option("--by", help="Who ran it.")
@click.option("--model-version", help="Exact version of the model.")
@click.option("--cutoff", help="Knowledge cutoff of the model.")
@click.option("--agent-tools", help="Tools the agent had beyond the record, such as web search.")
@click.option("--selection", help="Rule by which these trials were selected among others.")
@click.option("--link", help="Where to read more.")
@click.option("--digest", "expected", metavar="DIGEST", help="Digest that assay export --sign printed.")
@trusted_keys
@click.option("--allow-unverified", is_flag=True, help="Add it with a mark if scores cannot be regraded here.")
@sandbox
@quiet
@as_json
@click.pass_obj
def add_command(
    folders: tuple[Path, ...],
    bundle: Path,
    folder: Path,
    by: str | None,
    model_version: str | None,
    cutoff: str | None,
    agent_tools: str | None,
    selection: str | None,
    link: str | None,
    expected: str | None,
    trusted: tuple[str, ...],
    allow_unverified: bool,
    sandbox: "SandboxName",
    quiet: bool,
    json_: bool,
) -> None:
    """Verify an exported run and add it to a board.

    Recomputes every hash, checks the chain of every log, and regrades every submission. A bundle in which anything does
    not match is refused, and so are one whose scores cannot be regraded here and a copy of another entry.

    \b
    Examples:
      assay board add first.zip --to board --model-version gpt-5-2026-08-07
      assay board add first.zip --to board --trust team.pub
    """
    from pydantic import ValidationError

    from assay.cli.verify import print_findings
    from assay.core.errors import UsageError
    from assay.core.home import Home
    from assay.core.text import describe_validation_error
    from assay.records.keys import load_trusted_keys
    from assay.results.board import BoardFolder, BundleRefused, RunInfo

    try:
        info = RunInfo(
            by=by,
            model_version=model_version,
            knowledge_cutoff=cutoff,
            tools=agent_tools,
            selection=selection,
            link=link,
        )
    except ValidationError as error:
        raise UsageError(describe_validation_error(error)) from None
    try:
        entry = BoardFolder(folder).add(
            bundle,
            info,
            open_registry(folders),
            Home.default(),
            expected=expected,
            trusted=load_trusted_keys(trusted),
            sandbox=sandbox,
            allow_unverified=allow_unverified,
            progress=choose_progress(quiet or json_),
        )
    except BundleRefused as refusal:
        print_findings(refusal.findings)
        raise
    if json_:
        echo(json.dumps(entry.model_dump(mode="json"), indent=2))
    else:
        echo(f"Added {plural(entry.trials, 'trial')}, {entry.regraded} regraded, as {entry.name}: {entry.trust}")


@board_command.command("build")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR")
@click.option(
    "--out", required=True, type=_BOARD, metavar="SITE", help="Folder of the site; an older site is replaced."
)
@click.option("--title", default="Assay board", show_default=True, help="Title of the site.")
@quiet
@click.pass_obj
def build_command(folders: tuple[Path, ...], folder: Path, out: Path, title: str, quiet: bool) -> None:
    """Build a board as a static site that any web server can host.

    Results are grouped by what is comparable: suite, split, edition, data, time, hardware, network and feedback. Links
    are relative, and nothing is loaded from elsewhere.

    \b
    Examples:
      assay board build board --out site
      assay board build board --out site --title "ML engineering board"
    """
    from assay.results.board import BoardFolder
    from assay.web.board import build_site

    pages = build_site(BoardFolder(folder), out, open_registry(folders), title=title, progress=choose_progress(quiet))
    echo(f"Wrote {plural(pages, 'page')}: open {(out / 'index.html').resolve().as_uri()}")


@board_command.command("ls")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR")
@as_json
def list_command(folder: Path, json_: bool) -> None:
    """List the entries of a board.

    \b
    Examples:
      assay board ls board
    """
    from assay.results.board import BoardFolder

    columns = ("entry", "added", "by", "trials", "regraded", "grade")
    rows = [
        (entry.name, entry.added_at, entry.info.by, entry.trials, entry.regraded, entry.trust)
        for entry in BoardFolder(folder).entries()
    ]
    kinds: dict[str, Kind] = {"trials": "integer", "regraded": "integer"}
    table = Table("entries", tuple(Column(name, kind=kinds.get(name, "text")) for name in columns), tuple(rows))
    show_table(table, json_, "board/1")


@board_command.command("withdraw")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR")
@click.argument("entry")
@click.option("--reason", required=True, help="Why; it stays in the history of the board.")
def withdraw_command(folder: Path, entry: str, reason: str) -> None:
    """Take an entry off a board. Its history keeps when and why, and its files are kept.

    \b
    Examples:
      assay board withdraw board 3f2a --reason "the agent had the answers"
    """
    from assay.results.board import BoardFolder

    withdrawn = BoardFolder(folder).withdraw(entry, reason)
    echo(f"Withdrew {withdrawn.name}: {reason}")


@board_command.command("history")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR")
@as_json
def history_command(folder: Path, json_: bool) -> None:
    """Show what was added to a board and withdrawn from it, and why.

    \b
    Examples:
      assay board history board
    """
    from assay.results.board_history import make_history_table, read_history

    show_table(make_history_table(read_history(folder)), json_, "board-history/1")
