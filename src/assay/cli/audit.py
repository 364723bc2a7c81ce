"""`assay audit`."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.cli.complete import complete_tasks
from assay.cli.output import (
    as_json,
    check_trusted,
    choose_progress,
    echo,
    echo_marked,
    edition,
    load_data,
    open_registry,
    quiet,
    variant,
)
from assay.cli.planning import trust_option
from assay.core.errors import AssayError
from assay.core.home import Home
from assay.core.text import plural

if TYPE_CHECKING:
    from assay.audit.subject import Subject
    from assay.audit.task_audit import TaskAudit
    from assay.tasks import Task

_LEVELS = ("high", "medium", "low")
_MARKS = {True: "ok", False: "FAILED", None: "-"}


@click.command("audit")
@click.argument("names", nargs=-1, required=True, metavar="TASK|SUITE|FOLDER…", shell_complete=complete_tasks)
@edition
@variant
@click.option(
    "--quick",
    is_flag=True,
    help="Only check that prepared tasks can be graded and do not leak answers; lists every check.",
)
@click.option("--only", multiple=True, metavar="CHECK", help="Run only checks with this prefix. Can be repeated.")
@click.option("--html", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Write a card per task.")
@click.option("--all", "all_", is_flag=True, help="Also list the checks that found nothing or were skipped.")
@click.option(
    "--fail-on",
    type=click.Choice([*_LEVELS, "never"]),
    default="high",
    show_default=True,
    help="Exit with 1 if something this serious is found.",
)
@click.option(
    "--max-time",
    type=click.FloatRange(0, min_open=True),
    default=900.0,
    show_default=True,
    metavar="SECONDS",
    help="Time limit per task; checks that would begin later are skipped.",
)
@click.option("--target", metavar="COLUMN", help="Folder: the column to predict.")
@click.option("--id", "id_", metavar="COLUMN", help="Folder: the column that names a row.")
@click.option(
    "--answers",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Folder: the true values of the test rows, kept outside of the folder.",
)
@trust_option("Allow a folder with a suite.toml or task.toml to run its code, now and later.")
@as_json
@quiet
@click.pass_obj
def audit_command(
    folders: tuple[Path, ...],
    names: tuple[str, ...],
    edition: str | None,
    variant: str | None,
    quick: bool,
    only: tuple[str, ...],
    html: Path | None,
    all_: bool,
    fail_on: str,
    max_time: float,
    target: str | None,
    id_: str | None,
    answers: Path | None,
    trust: bool,
    json_: bool,
    quiet: bool,
) -> None:
    """Search tasks, or a folder of data, for leaks and for faults of the grader.

    With --quick: ids are unique, train and test are disjoint, the sample submission is valid and wins no medal, the
    answers win gold, no public table or file holds the answers, and no property of a test file (inode, time, size,
    links, name) reveals its label. Large tables are read up to a limit, which the result states.

    Without it, also: duplicates and near-duplicates of rows, texts and images; columns, order and
    times that give labels away; groups on both sides of the split; metadata of images, sounds, DICOM, MATLAB and
    TFRecord files, also in archives; whether the split can be reproduced; whether a submission without a model wins;
    graders that can be gamed; leaderboards on which medals are noise. Large data is sampled, which each finding states.

    A folder needs no task: its tables train.* and test.* are found by name. The folder of a task or suite has code that
    an audit runs; it asks before, as it may be a stranger's.

    \b
    Examples:
      assay audit pocket --quick
      assay audit mlebench/random-acts-of-pizza --variant synthetic
      assay audit mlebench:low --variant synthetic --edition fixed --html cards
      assay audit data --target price --id row --answers hidden/answers.csv
    """
    from assay.audit.cards import write_card
    from assay.audit.task_audit import audit_folder, audit_task
    from assay.tasks import Task

    if quick:
        _check(folders, names, edition, variant, json_)
        return
    home, progress, audits = Home.default(), choose_progress(quiet), []
    for name in names:
        check_trusted(_find_suite(Path(name)), trust=trust)
    subjects = [subject for name in names for subject in _find_subjects(folders, name, target, id_, answers)]
    for number, subject in enumerate(subjects, 1):
        if isinstance(subject, Task):
            data = load_data(home, subject, edition, variant)
            label = f"auditing {subject.id} ({number} of {len(subjects)})"
            audit = audit_task(data, home, progress=progress, max_seconds=max_time, only=only, label=label)
        else:
            audit = audit_folder(subject, progress=progress, max_seconds=max_time, only=only)
        audits.append(audit)
        if html:
            write_card(audit, html)
        if not json_:
            _print(audit, all_)
    if json_:
        echo(json.dumps([audit.to_json() for audit in audits], indent=2))
    else:
        total: Counter[str] = Counter(finding.severity for audit in audits for finding in audit.findings)
        levels = ", ".join(f"{total[level]} {level}" for level in _LEVELS)
        echo(f"Audited {plural(len(audits), 'task')}: {levels}." + (f" Cards are in {html}." if html else ""))
    serious = _LEVELS[: _LEVELS.index(fail_on) + 1] if fail_on != "never" else ()
    failed = [audit.name for audit in audits if any(finding.severity in serious for finding in audit.findings)]
    if failed:
        raise AssayError(f"{len(failed)} of {len(audits)} tasks have findings: {', '.join(failed)}")


def _check(
    folders: tuple[Path, ...], names: tuple[str, ...], edition: str | None, variant: str | None, json_: bool
) -> None:
    """Print the result of every check of `--quick`."""
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


def _print(audit: "TaskAudit", all_: bool) -> None:
    where = f", edition {audit.edition}, {audit.variant} data" if audit.edition else ""
    echo(f"{audit.name}{where}")
    findings = [*audit.defects(), *(finding for finding in audit.findings if all_ and not finding.is_defect)]
    for finding in findings:
        echo(f"  {finding.severity:<7} {finding.check}: {finding.text}")
        for line in finding.evidence:
            echo(f"            {line}")
    if not findings:
        echo(f"  nothing found by {plural(audit.count('none'), 'check')}")


def _find_suite(folder: Path) -> list[Path]:
    """Return the folder of the suite that a folder is, or is a task of."""
    if (folder / "suite.toml").is_file():
        return [folder]
    return [folder.absolute().parent] if (folder / "task.toml").is_file() else []


def _find_subjects(
    folders: Sequence[Path], name: str, target: str | None, id: str | None, answers: Path | None
) -> "Sequence[Task | Subject]":
    """Return the tasks that a name stands for, those of a suite's or task's folder, or the data of any other folder."""
    from assay.audit.subject import Subject

    registry, path = open_registry(folders), Path(name)
    if name in registry.suites or not path.is_dir():
        return registry.select_all([name])
    if (path / "suite.toml").is_file():
        own = open_registry([*folders, path.absolute()])
        return own.select(next(suite.name for suite, folder in own.suites.values() if folder == path.absolute()))
    if (path / "task.toml").is_file():
        own = open_registry([*folders, path.absolute().parent])
        return [task for task in own.tasks() if task.folder == path.absolute()]
    return [Subject.of_folder(path, target, id, answers)]
