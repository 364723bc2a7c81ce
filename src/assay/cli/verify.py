"""`assay verify`."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.cli.output import (
    as_json,
    choose_progress,
    echo,
    open_registry,
    open_run,
    quiet,
    run_argument,
    sandbox,
    trusted_keys,
)
from assay.core.errors import AssayError
from assay.core.home import Home
from assay.core.text import one_line, plural

if TYPE_CHECKING:
    from assay.lab.interface import SandboxName
    from assay.records.verify import RecordFinding
    from assay.verification.run import Verification

_MAX_LENGTH = 1000


@click.command("verify")
@run_argument
@click.option(
    "--digest",
    "expected",
    metavar="DIGEST",
    default=None,
    help="Digest that assay export --sign printed.",
)
@trusted_keys
@click.option("--no-regrade", is_flag=True, help="Check the records only; do not regrade submissions.")
@sandbox
@quiet
@as_json
@click.pass_obj
def verify_command(
    folders: tuple[Path, ...],
    folder: Path,
    expected: str | None,
    trusted: tuple[str, ...],
    no_regrade: bool,
    sandbox: "SandboxName",
    quiet: bool,
    json_: bool,
) -> None:
    """Verify the records of a run: recompute every hash and regrade every submission.

    Finds a change to a score, submission, log or setting, and records that contradict themselves. Says what was
    established and what was not, as a grade: consistent, reproduced (submitted code ran again and scored the same) or
    witnessed (signed with a trusted key). The exit code is 1 if anything does not match.

    \b
    Examples:
      assay verify runs/first
      assay verify runs/first --digest 5f1d…
      assay verify runs/first --trust team.pub
    """
    from assay.records.keys import load_trusted_keys
    from assay.records.signature import run_digest_if_intact
    from assay.verification.run import verify_run

    run = open_run(folder)
    verification = verify_run(
        run,
        run_digest_if_intact(run),
        open_registry(folders),
        Home.default(),
        expected=expected,
        trusted=load_trusted_keys(trusted),
        sandbox=sandbox,
        regrade=not no_regrade,
        progress=choose_progress(quiet or json_),
    )
    if json_:
        content = {
            "run": str(folder),
            "digest": verification.digest,
            "grade": verification.grade,
            "established": verification.established,
            "not_established": verification.not_established,
            "findings": [asdict(finding) for finding in verification.findings],
        }
        echo(json.dumps(content, indent=2))
    else:
        print_findings(verification.findings)
        if not verification.errors:
            _print_verification(verification)
    if verification.errors:
        raise AssayError(f"{plural(len(verification.errors), 'mismatch')} in {folder}")


def _print_verification(verification: "Verification") -> None:
    """Say what was verified: only a finished run whose scores were recomputed matches as a whole."""
    trials = plural(verification.trials, "trial")
    unfinished = {finding.trial for finding in verification.unfinished}
    scores = verification.scored - verification.regraded
    others = {finding.trial for finding in verification.unverified} - scores - unfinished
    problems = {
        "REMOVED": verification.removed,
        "NOT FINISHED": len(unfinished),
        "with a score that was NOT VERIFIED": len(scores),
        "with an origin that was NOT VERIFIED": len(others),
    }
    if any(problems.values()):
        listed = ", ".join(f"{count:,} {problem}" for problem, count in problems.items() if count)
        echo(f"{trials}: the records match, but the run is not verified: {listed}.")
    else:
        echo(f"{trials}: everything matches.")
    echo(f"Run digest: {verification.digest}")
    echo(f"Grade: {verification.grade or 'none'}")
    for heading, sentences in (
        ("Established", verification.established),
        ("Not established", verification.not_established),
    ):
        echo(f"{heading}:")
        for sentence in sentences:
            echo(f"  {sentence}")


def print_findings(findings: "Sequence[RecordFinding]") -> None:
    """Print each mismatch, and remarks with how many trials they are about."""
    for finding in findings:
        if finding.level == "error":
            echo(one_line(f"{finding.trial}: {finding.part}: {finding.message}", _MAX_LENGTH))
    notes = Counter((finding.part, finding.message) for finding in findings if finding.level != "error")
    for (part, says), count in notes.items():
        echo(one_line(f"Note on {plural(count, 'trial')}: {part}: {says}", _MAX_LENGTH))
