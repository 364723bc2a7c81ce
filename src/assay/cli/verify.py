"""`assay verify` and `assay sign`."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.cli.output import as_json, choose_progress, echo, open_registry, open_run, quiet, run_argument, sandbox
from assay.core.errors import AssayError
from assay.core.home import Home
from assay.core.text import one_line, plural
from assay.records import RunFolder

if TYPE_CHECKING:
    from assay.lab.interface import SandboxName
    from assay.records.verify import RecordFinding

_MAX_LENGTH = 1000


@click.command("verify")
@run_argument
@click.option(
    "--digest", "expected", metavar="DIGEST", default=None, help="Digest of the run as it was published by assay sign."
)
@click.option(
    "--key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    default=None,
    metavar="FILE",
    help="Key that the run was signed with.",
)
@click.option("--no-regrade", is_flag=True, help="Check the records only; do not regrade submissions.")
@sandbox
@quiet
@as_json
@click.pass_obj
def verify_command(
    folders: tuple[Path, ...],
    folder: Path,
    expected: str | None,
    key: Path | None,
    no_regrade: bool,
    sandbox: "SandboxName",
    quiet: bool,
    json_: bool,
) -> None:
    """Verify the records of a run: recompute every hash and regrade every submission.

    Detects any change to a score, submission, log or setting. A log that was rewritten as a whole can only be detected
    with the digest of the run (see assay sign). The exit code is 1 if anything does not match.

    \b
    Examples:
      assay verify runs/first
      assay verify runs/first --digest 5f1d…
    """
    from assay.records.signature import run_digest_if_intact
    from assay.results.verification import verify_run

    run = open_run(folder)
    digest = run_digest_if_intact(run)
    findings = verify_run(
        run,
        digest,
        open_registry(folders),
        Home.default(),
        expected=expected,
        key=key,
        sandbox=sandbox,
        regrade=not no_regrade,
        progress=choose_progress(quiet or json_),
    )
    mismatches = [finding for finding in findings if finding.level == "error"]
    if json_:
        content = {"run": str(folder), "digest": digest, "findings": [asdict(finding) for finding in findings]}
        echo(json.dumps(content, indent=2))
    else:
        print_findings(findings)
        if not mismatches:
            echo(_summarize(run, findings, regraded=not no_regrade))
            echo(f"Run digest: {digest}")
    if mismatches:
        raise AssayError(f"{plural(len(mismatches), 'mismatch')} in {folder}")


def _summarize(run: RunFolder, findings: "list[RecordFinding]", *, regraded: bool) -> str:
    """Say what was verified: only a finished run whose scores were recomputed matches as a whole."""
    from assay.records.verify import UNFINISHED

    trials = plural(len(run.file.trials), "trial")
    unfinished = {finding.trial for finding in findings if finding.part == UNFINISHED}
    unverified = {finding.trial for finding in findings if finding.part in ("grade", "task")} - unfinished
    count = len(run.file.trials) - len(unfinished) if not regraded else len(unverified)
    removed = len(run.file.removed)
    if not unfinished and not count and not removed:
        return f"{trials}: everything matches."
    problems = [f"{removed:,} REMOVED"] if removed else []
    if unfinished:
        problems.append(f"{len(unfinished):,} NOT FINISHED")
    if count:
        problems.append(f"{count:,} with a score that was NOT VERIFIED")
    return f"{trials}: the records match, but the run is not verified: {', '.join(problems)}."


def print_findings(findings: "Sequence[RecordFinding]") -> None:
    """Print each mismatch, and remarks with how many trials they are about."""
    for finding in findings:
        if finding.level == "error":
            echo(one_line(f"{finding.trial}: {finding.part}: {finding.message}", _MAX_LENGTH))
    notes = Counter((finding.part, finding.message) for finding in findings if finding.level == "remark")
    for (part, says), count in notes.items():
        echo(one_line(f"Note on {plural(count, 'trial')}: {part}: {says}", _MAX_LENGTH))


@click.command("sign")
@run_argument
@click.option(
    "--key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    default=None,
    metavar="FILE",
    help="File with a shared secret; anyone who has it can check who signed the run.",
)
@as_json
def sign_command(folder: Path, key: Path | None, json_: bool) -> None:
    """Print the digest of a run's records, and store it in the run folder.

    Publish it where it cannot be changed later: with it, assay verify --digest detects even a log that was rewritten
    as a whole.

    \b
    Examples:
      assay sign runs/first
      assay sign runs/first --key team.key
    """
    from assay.records.signature import sign

    signature = sign(open_run(folder), key)
    echo(signature.model_dump_json(indent=2) if json_ else signature.digest)
