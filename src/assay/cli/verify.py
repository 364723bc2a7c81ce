"""`assay verify` and `assay sign`."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.cli.output import as_json, quiet, registry, sandbox
from assay.core.errors import AssayError, RecordError
from assay.core.home import Home
from assay.core.progress import NoProgress, Progress, ProgressBars
from assay.records import RunFolder

if TYPE_CHECKING:
    from assay.lab.interface import SandboxName
    from assay.records.verify import Finding

_NOT_READABLE = ("run.json", "trial.json", "folder")
_folder = click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="RUN")


@click.command("verify")
@_folder
@click.option("--head", metavar="HASH", default=None, help="The head of the run as it was published.")
@click.option(
    "--key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    default=None,
    help="The key the run was signed with.",
)
@click.option("--no-regrade", is_flag=True, help="Check the records alone; grade nothing again.")
@sandbox
@quiet
@as_json
@click.pass_obj
def verify_command(
    folders: tuple[Path, ...],
    folder: Path,
    head: str | None,
    key: Path | None,
    no_regrade: bool,
    sandbox: "SandboxName",
    quiet: bool,
    json_: bool,
) -> None:
    """Check a run's records: recompute every hash, grade every submission again, and say what does not match.

    Any change to a score, a submission, a log or a setting is found, unless somebody rewrote a whole log; that is found
    too by whoever kept the head of the run (see assay sign). Exits with 1 if anything does not match.

    \b
    Example:
      assay verify runs/first
      assay verify runs/first --head 5f1d…
    """
    from assay.records.signature import check_head, head_if_whole
    from assay.records.verify import check_run
    from assay.results.wording import counted, plain

    run = RunFolder(folder)
    progress = NoProgress() if quiet or json_ else ProgressBars()
    found = head_if_whole(run)
    findings = [*check_run(run), *check_head(run, found, head=head, key=key)]
    findings += _recheck(run, folders, findings, sandbox, not no_regrade, progress)
    wrong = [finding for finding in findings if finding.level == "wrong"]
    if json_:
        listed = [asdict(finding) for finding in findings]
        click.echo(json.dumps({"run": str(run.path), "head": found, "findings": listed}, indent=2))
    else:
        for finding in wrong:
            click.echo(plain(f"{finding.where}: {finding.part}: {finding.says}", limit=1000))
        remarks = Counter((finding.part, finding.says) for finding in findings if finding.level == "remark")
        for (part, says), times in remarks.items():
            click.echo(plain(f"Note on {counted(times, 'trial')}: {part}: {says}", limit=1000))
        if not wrong:
            click.echo(f"{counted(len(run.file.trials), 'trial')}: everything matches. The head of the run is {found}")
    if wrong:
        raise AssayError(
            f"{counted(len(wrong), 'thing')} in {run.path} {'does' if len(wrong) == 1 else 'do'} not match"
        )


def _recheck(
    run: RunFolder,
    folders: tuple[Path, ...],
    findings: "list[Finding]",
    sandbox: "SandboxName",
    regrade: bool,
    progress: Progress,
) -> "Iterator[Finding]":
    """Compare with this machine every trial whose record can be read."""
    from assay.results.regrade import recheck

    known, home = registry(folders), Home.default()
    skipped = {finding.where for finding in findings if finding.level == "wrong" and finding.part in _NOT_READABLE}
    trials = [trial for trial in run.trials() if trial.path.name not in skipped]
    with progress.stage("grading again" if regrade else "comparing", total=len(trials)) as advance:
        for trial in trials:
            with suppress(RecordError):  # a file of it that cannot be read is among the findings already
                yield from recheck(trial, known, home, sandbox=sandbox, regrade=regrade)
            advance(1)


@click.command("sign")
@_folder
@click.option(
    "--key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    default=None,
    help="A file with a secret: whoever has it can check that the head was written by one who has it too.",
)
@as_json
def sign_command(folder: Path, key: Path | None, json_: bool) -> None:
    """Print the head of a run, a hash over all of its records, and keep it in the run's folder.

    Publish it where nobody can change it later; assay verify --head then finds even a log that was rewritten whole.

    \b
    Example:
      assay sign runs/first
      assay sign runs/first --key team.key
    """
    from assay.records.signature import sign

    signature = sign(RunFolder(folder), key)
    if json_:
        click.echo(signature.model_dump_json(indent=2))
    else:
        click.echo(signature.head)
