"""Make a task from data: draft it, write its folder, prepare it, measure its panel, check and audit it."""

import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from assay.authoring import write
from assay.authoring.draft import Draft, Wishes, check_folder, draft_task
from assay.authoring.own_data import OwnData
from assay.core.disk import atomic_write, hash_file, hash_tree, make_private_folder
from assay.core.errors import UsageError
from assay.core.home import Home, find_user_config
from assay.core.plugins import split_path
from assay.core.progress import Progress
from assay.core.text import plural
from assay.core.trusted_folders import trust_folders
from assay.core.untrusted import is_plain_name
from assay.data import files
from assay.data.store import Prepared, PrepareOptions, prepare, remove_prepared
from assay.lab.environments import build_environment
from assay.lab.interface import SandboxName
from assay.tasks import Measured, Registry, load_suite, load_task

if TYPE_CHECKING:
    from assay.audit.task_audit import TaskAudit
    from assay.audit.task_check import CheckResult

SUITE = "own"
"""The suite of tasks whose name has no suite."""
STARTER_SEEDS, PANEL_SEEDS = 3, 2
_TASKS = re.compile(r"^tasks\s*=\s*\[(?P<names>[^\]]*)\]", re.MULTILINE)


@dataclass(frozen=True)
class NewTask:
    """A task that was made: what was decided, and what was measured and found."""

    draft: Draft
    prepared: Prepared
    measured: Measured
    checks: "tuple[CheckResult, ...]"
    audit: "TaskAudit"
    seconds: float

    @property
    def problems(self) -> list[str]:
        """What is wrong with the task, a line each: failed checks and serious findings."""
        failed = [f"{result.check}: {result.detail}" for result in self.checks if result.passed is False]
        serious = [f"{defect.check}: {defect.text}" for defect in self.audit.defects() if defect.severity == "high"]
        return list(dict.fromkeys([*failed, *serious]))

    @property
    def warnings(self) -> list[str]:
        """What the audit found that is not serious in every task, such as groups on both sides, a line each."""
        return [f"{defect.check}: {defect.text}" for defect in self.audit.defects() if defect.severity == "medium"]


def create_task(
    name: str,
    data: OwnData,
    wishes: Wishes,
    home: Home,
    *,
    out: Path | None = None,
    link: bool = False,
    replace: bool = False,
    sandbox: SandboxName = "auto",
    seeds: int = STARTER_SEEDS,
    panel_seeds: int = PANEL_SEEDS,
    progress: Progress,
) -> NewTask:
    """Make a task; nothing is written before everything that was asked for is checked.

    Args:
        name: The task's name, or `SUITE/NAME`.
        data: What it is made from.
        wishes: What the user says about it.
        home: Where its data is prepared.
        out: The folder of the suite; by default a folder in `suites` of the user's configuration.
        link: Whether to refer to the data where it is, by its hash, instead of copying it.
        replace: Whether to replace a task of this name, once everything is checked.
        sandbox: Where reference solutions run.
        seeds: Runs of the starter.
        panel_seeds: Runs of each reference solution; with 0, none is measured.
        progress: Shown the stages.
    """
    from assay.audit.reference_panel import keep_measurements, measure_panel, save_measurements
    from assay.audit.task_audit import audit_task
    from assay.audit.task_check import check_task

    started = time.monotonic()
    suite_name, _, task_name = name.rpartition("/")
    folder = find_suite(suite_name or (out.name if out else SUITE), out)
    if not (replace and (folder / task_name / "task.toml").is_file()):
        check_folder(folder / task_name)
    for path in (data.content, data.folder):
        if isinstance(path, Path) and path.resolve().is_relative_to((folder / task_name).resolve()):
            raise UsageError(f"{path} is part of the task that is replaced; copy it elsewhere first")
    if link and (data.files or isinstance(data.content, bytes)):
        raise UsageError("--link is for a table in a file; other data is copied into the task's folder")
    draft = draft_task(task_name, data, wishes)
    created = create_suite(suite_name or (out.name if out else SUITE), out, exist_ok=True)
    task = None
    if (folder / task_name).exists():
        remove_prepared(home, load_task(folder / task_name, load_suite(created)))
        shutil.rmtree(folder / task_name)
    try:
        _write_folder(folder / task_name, draft, data, wishes, link)
        task = load_task(folder / task_name, load_suite(created))
        prepared = prepare(home, task, progress=progress, options=PrepareOptions())
        atomic_write(folder / task_name / "description.md", write.write_description(draft, prepared, data), mode=None)
        build_environment(home, task.environment, progress)
        measured = measure_panel(
            home, task, sandbox=sandbox, seeds=seeds, panel_seeds=panel_seeds,
            solutions=None if panel_seeds else (), progress=progress,
        )  # fmt: skip
    except BaseException:
        if task:
            remove_prepared(home, task)
        shutil.rmtree(folder / task_name, ignore_errors=True)
        raise
    keep_measurements(home, task, measured)
    save_measurements(task, measured)
    _list_task(created / "suite.toml", task_name)
    checks = tuple(check_task(prepared, home))
    audit = audit_task(prepared, home, progress=progress, max_seconds=60)
    return NewTask(draft, prepared, measured, checks, audit, time.monotonic() - started)


def find_suite(name: str, out: Path | None = None) -> Path:
    """Return the folder of a suite of the user, whether it exists or not."""
    if not is_plain_name(name) or not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", name):
        raise UsageError(f"{name!r} cannot be the name of a suite; use a-z, 0-9, - and _, e.g. my-suite")
    return (out or find_user_config().parent / "suites" / name).absolute()


def create_suite(name: str, out: Path | None = None, *, exist_ok: bool = False) -> Path:
    """Create an empty suite and return its folder."""
    folder = find_suite(name, out)
    if (folder / "suite.toml").is_file():
        if not exist_ok:
            raise UsageError(f"{folder} is a suite already; choose another name")
        return folder
    if out is None and name in Registry().suites:
        raise UsageError(f"there is a suite {name} already; choose another name, or a folder with --out")
    title = f"Tasks of {name}." if name != SUITE else "My own tasks."
    lines = ['format = "suite/1"', f'name = "{name}"', f'title = "{title}"', 'editions = ["v1"]', "tasks = []", ""]
    folder.mkdir(parents=True, exist_ok=True)
    atomic_write(folder / "suite.toml", "\n".join(lines), mode=None)
    trust_folders([folder])
    return folder


def _write_folder(folder: Path, draft: Draft, data: OwnData, wishes: Wishes, link: bool) -> None:
    """Write everything but the description; the raw data is readable only by its owner."""
    folder.mkdir(parents=True)
    raw, table = folder / "raw", f"table{data.suffix}"
    digests, paths = {}, {table: f"raw/{table}"}
    if link and isinstance(data.content, Path):
        digests[table], paths[table] = hash_file(data.content), str(data.content.absolute())
    else:
        make_private_folder(raw)
        content = data.content if isinstance(data.content, bytes) else data.content.read_bytes()
        atomic_write(raw / table, content)
        digests[table] = hash_file(raw / table)
    if data.files and data.folder:
        used = sorted(set(data.table[data.files]))
        files.copy((data.folder / name, raw / "files" / name) for name in used)
        digests["files"], paths["files"] = hash_tree(raw / "files"), "raw/files"
    if own_metric := split_path(draft.metric):
        shutil.copyfile(own_metric[0], folder / "metric.py")
    dates = {"published": wishes.published, "closed": wishes.closed}
    summary = f"Predict {draft.target} from {'images' if data.files else 'a table'}."
    texts = {
        "task.toml": write.write_task_file(draft, data, digests, paths, wishes.license, dates, summary),
        "prepare.py": write.write_prepare(draft, data),
        **write.write_code(draft),
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        atomic_write(folder / name, text, mode=None)


def _list_task(path: Path, name: str) -> None:
    """Add a task to the list in `suite.toml`, leaving everything else of the file as it is."""
    text = path.read_text("utf-8")
    match = _TASKS.search(text)
    if match is None:
        raise UsageError(f"{path} has no list `tasks = […]`; add {name!r} to it")
    names = dict.fromkeys([*re.findall(r'"([^"]+)"', match["names"]), name])
    listed = "".join(f'\n  "{known}",' for known in names)
    atomic_write(path, f"{text[: match.start()]}tasks = [{listed}\n]{text[match.end() :]}", mode=None)
    load_suite(path.parent)


def describe_new_task(new: NewTask) -> list[str]:
    """Return what was made, measured and found, a sentence a line."""
    draft, measured = new.draft, new.measured
    sides = (pl.read_csv(new.prepared.public / f"{side}.csv", infer_schema=False) for side in ("train", "test"))
    train, test = (table.height for table in sides)
    how = "at random, equal rows on one side"
    how = f"by {draft.group}, each on one side" if draft.group else how
    how = f"by {draft.time}, the latest rows for test" if draft.time else how
    guess = " (guessed)" if "metric" in draft.guessed else ""
    panel = f"; {measured.panel[-1].name} {measured.panel[-1].score:.5g}" if measured.panel else ""
    checked = sum(result.passed is True for result in new.checks)
    excluded = [f"{column} ({reason})" for column, reason in draft.drop.items()]
    return [
        f"{draft.kind}: {draft.target}, scored by {draft.function.title}, {draft.function.direction} is better{guess}",
        f"{train:,} training and {test:,} test rows, split {how}",
        *([f"excluded columns: {', '.join(excluded)}"] if excluded else []),
        *draft.notes,
        f"starter {measured.baseline:.5g} ± {measured.baseline_spread:.2g}{panel}",
        f"{plural(checked, 'check')} passed, {plural(len(new.problems), 'problem')} found",
        *(f"warning: {warning}" for warning in new.warnings),
    ]
