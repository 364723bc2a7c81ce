"""`assay check`."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from assay.cli.complete import complete_tasks
from assay.cli.output import as_json, echo, echo_marked, edition, load_data, open_registry, variant
from assay.core.errors import AssayError
from assay.core.home import Home
from assay.core.text import plural

_MARKS = {True: "ok", False: "FAILED", None: "-"}


@click.command("check")
@click.argument("names", nargs=-1, required=True, metavar="TASK|SUITE|SPLIT…", shell_complete=complete_tasks)
@edition
@variant
@as_json
@click.pass_obj
def check_command(
    folders: tuple[Path, ...], names: tuple[str, ...], edition: str | None, variant: str | None, json_: bool
) -> None:
    """Check that prepared tasks can be graded and do not leak answers.

    Ids are unique, train and test are disjoint, the sample submission is valid and wins no medal, the answers win gold,
    no public table or file holds the answers, and no property of a test file (inode, time, size, links, name) reveals
    its label. Large tables are read up to a limit, which the result states.

    \b
    Examples:
      assay check pocket
      assay check mlebench:low --variant synthetic-0 --edition fixed
    """
    from assay.audit.task_check import check_task

    home, results, failed = Home.default(), [], []
    for task in open_registry(folders).select_all(names):
        data = load_data(home, task, edition, variant)
        findings = check_task(data, home)
        if any(finding.passed is False for finding in findings):
            failed.append(task.id)
        results.append(
            {
                "task": task.id,
                "edition": data.edition,
                "variant": data.variant,
                "findings": [asdict(finding) for finding in findings],
            }
        )
        if not json_:
            echo(f"{task.id}, edition {data.edition}, {data.variant} data")
            for finding in findings:
                echo_marked(_MARKS[finding.passed], f"{finding.check}: {finding.detail}")
    if json_:
        echo(json.dumps(results, indent=2))
    else:
        checks = sum(len(result["findings"]) for result in results)
        echo(f"Checked {plural(len(results), 'task')} ({plural(checks, 'check')}): {len(failed)} failed.")
    if failed:
        raise AssayError(f"{len(failed)} of {len(results)} tasks failed: {', '.join(failed)}")
