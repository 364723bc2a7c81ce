"""`assay board`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.cli.output import as_json, choose_progress, echo, open_registry, quiet, sandbox, show_table, trusted_keys
from assay.core.table import Column, Kind, Table
from assay.core.text import plural

if TYPE_CHECKING:
    from assay.audit.agent_scan import AgentFinding
    from assay.lab.interface import SandboxName
    from assay.tasks import Registry

_BOARD = click.Path(file_okay=False, path_type=Path)


@click.group("board")
def board_command() -> None:
    """Keep a leaderboard of verified runs, and build it as a static site.

    \b
    Examples:
      assay export runs/first --out first.zip --submissions
      assay board add first.zip --to board --by "Example Lab"
      assay board serve board
    """


@board_command.command("add")
@click.argument("bundle", type=click.Path(exists=True, path_type=Path), metavar="BUNDLE|RESULTS")
@click.option("--to", "folder", required=True, type=_BOARD, metavar="DIR", help="Folder of the board.")
@click.option("--by", help="Who ran it.")
@click.option("--model-version", help="Exact version of the model.")
@click.option("--cutoff", help="Knowledge cutoff of the model.")
@click.option("--agent-tools", help="Tools the agent had beyond the record, such as web search.")
@click.option("--selection", help="Rule by which these trials were selected among others.")
@click.option("--link", help="Where to read more.")
@click.option("--digest", "expected", metavar="DIGEST", help="Digest that assay export --sign printed.")
@trusted_keys
@click.option(
    "--agent-code",
    "agent",
    type=click.Path(exists=True, path_type=Path),
    metavar="PATH",
    help="The agent's own code: added only if assay board scan finds nothing in it.",
)
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
    agent: Path | None,
    allow_unverified: bool,
    sandbox: "SandboxName",
    quiet: bool,
    json_: bool,
) -> None:
    """Verify an exported run and add it to a board.

    Results of other harnesses, such as a job folder of Harbor, are added as they are and marked as not verified.

    Recomputes every hash, checks the chain of every log, and regrades every submission. A bundle in which anything does
    not match is refused, and so are one whose scores cannot be regraded here and a copy of another entry.

    \b
    Examples:
      assay board add first.zip --to board --model-version gpt-5-2026-08-07
      assay board add first.zip --to board --trust team.pub
      assay board add harbor-jobs --to board --by "Example Lab"
    """
    from pydantic import ValidationError

    from assay.board.folder import BoardFolder, BundleRefused, RunInfo
    from assay.cli.verify import print_findings
    from assay.core.errors import AssayError, UsageError
    from assay.core.home import Home
    from assay.core.text import describe_validation_error
    from assay.records.keys import load_trusted_keys

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
    registry = open_registry(folders)
    if agent and (findings := _scan(agent, registry)):
        show_table(_findings_table(findings), False, "agent-scan/1")
        raise AssayError(f"{agent} has {plural(len(findings), 'finding')}; a board takes no such agent")
    if bundle.is_dir() or bundle.suffix != ".zip":
        from assay.interop.importers import read_results

        unverified = BoardFolder(folder).add_unverified(read_results([bundle], registry).frame, info)
        echo(f"Added {plural(unverified.trials, 'trial')} as {unverified.name}: not verified")
        return
    try:
        entry = BoardFolder(folder).add(
            bundle,
            info,
            registry,
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
    from assay.board.folder import BoardFolder
    from assay.web.board import build_site

    pages = build_site(BoardFolder(folder), out, open_registry(folders), title=title, progress=choose_progress(quiet))
    echo(f"Wrote {plural(pages, 'page')}: open {(out / 'index.html').resolve().as_uri()}")


@board_command.command("serve")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR")
@click.option("--port", default=8000, show_default=True, help="Port on this machine.")
@click.option("--title", default="Assay board", show_default=True, help="Title of the site.")
@quiet
@click.pass_obj
def serve_command(folders: tuple[Path, ...], folder: Path, port: int, title: str, quiet: bool) -> None:
    """Build a board and serve its site on this machine, until interrupted.

    \b
    Examples:
      assay board serve board
    """
    import tempfile

    from assay.board.folder import BoardFolder
    from assay.web.board import build_site
    from assay.web.server import serve_files

    with tempfile.TemporaryDirectory(prefix="assay-board-") as name:
        site = Path(name) / "site"
        build_site(BoardFolder(folder), site, open_registry(folders), title=title, progress=choose_progress(quiet))
        serve_files(site, port, lambda address: echo(f"Serving {folder} at {address} (Ctrl-C to end)"))


@board_command.command("scan")
@click.argument("agent", type=click.Path(exists=True, path_type=Path), metavar="PATH")
@as_json
@click.pass_obj
def scan_command(folders: tuple[Path, ...], agent: Path, json_: bool) -> None:
    """Scan an agent, a file or folder, for answers that it ships, names of tasks, and look-ups.

    Its files are compared with the answers of all tasks that are prepared here, also where they are packed or encoded;
    none of it is run. Exits with 1 if anything was found.

    \b
    Examples:
      assay board scan submitted/agent
    """
    findings = _scan(agent, open_registry(folders))
    if findings or json_:
        show_table(_findings_table(findings), json_, "agent-scan/1")
    else:
        echo("Nothing found.")
    if findings:
        raise SystemExit(1)


def _scan(agent: Path, registry: "Registry") -> "list[AgentFinding]":
    from assay.audit.agent_scan import AnswerSheet, scan_agent
    from assay.core.errors import NotPrepared
    from assay.core.home import Home
    from assay.data.store import list_variants, load_prepared

    home, sheets, names = Home.default(), list[AnswerSheet](), list[str]()
    for task in registry.tasks():
        names.append(task.id)
        for edition in task.editions:
            for variant in list_variants(home, task, edition):
                try:
                    sheet = AnswerSheet.read(load_prepared(home, task, edition, variant))
                except NotPrepared:
                    continue  # stale data: nobody can be graded on it either
                sheets += [sheet] if sheet else []
    echo(f"Compared with the answers of {plural(len({sheet.task for sheet in sheets}), 'prepared task')}.", err=True)
    return scan_agent(agent, sheets, names)


def _findings_table(findings: "list[AgentFinding]") -> Table:
    columns = (Column("file"), Column("kind"), Column("detail", kind="prose", min_width=40))
    return Table("findings", columns, tuple((each.file, each.kind, each.detail) for each in findings))


@board_command.command("rescore")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR")
@click.argument("entry")
@click.option("--reason", required=True, help="Why; it stays in the history of the board.")
@sandbox
@click.pass_obj
def rescore_command(folders: tuple[Path, ...], folder: Path, entry: str, reason: str, sandbox: "SandboxName") -> None:
    """Grade the submissions of an entry again, after a grader or a task was repaired.

    The bundle stays as it was; the site shows the new scores, and the history how many changed and why.

    \b
    Examples:
      assay board rescore board 3f2a --reason "ties are ranked by their mean now"
    """
    from assay.board.folder import BoardFolder
    from assay.core.home import Home

    changes = BoardFolder(folder).rescore(entry, reason, open_registry(folders), Home.default(), sandbox=sandbox)
    for trial, (before, after) in changes.items():
        echo(f"{trial}: {before} -> {after}")
    echo(f"{plural(len(changes), 'score')} changed." if changes else "No score changed; nothing was recorded.")


@board_command.command("seal")
@click.argument("folder", type=_BOARD, metavar="DIR")
@click.option("--seeds", "count", default=3, show_default=True, type=click.IntRange(1, 100), help="How many.")
def seal_command(folder: Path, count: int) -> None:
    """Choose secret seeds of miniatures to test agents on, and publish their hash in the history.

    Keep the file sealed.json to yourself. Runs on these seeds can be added once they are revealed.

    \b
    Examples:
      assay board seal board --seeds 5
    """
    from assay.board.seeds import seal_seeds

    sealed = seal_seeds(folder, count)
    echo(f"Sealed {plural(count, 'seed')} in {folder / 'sealed.json'}; published SHA-256: {sealed.digest}")


@board_command.command("reveal")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR")
def reveal_command(folder: Path) -> None:
    """Publish the sealed seeds in the history; everybody can compare them with the hash.

    \b
    Examples:
      assay board reveal board
    """
    from assay.board.seeds import reveal_seeds

    sealed = reveal_seeds(folder)
    echo(f"Revealed {', '.join(map(str, sealed.seeds))} with the salt {sealed.salt}.")


@board_command.command("ls")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR")
@as_json
def list_command(folder: Path, json_: bool) -> None:
    """List the entries of a board.

    \b
    Examples:
      assay board ls board
    """
    from assay.board.folder import BoardFolder

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
    from assay.board.folder import BoardFolder

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
    from assay.board.history import make_history_table, read_history

    show_table(make_history_table(read_history(folder)), json_, "board-history/1")
