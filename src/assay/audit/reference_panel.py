"""Measure a task on this machine: the score of its starter, and of each solution of its reference panel."""

import json
import os
import platform
import statistics
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from assay import __version__
from assay.core.disk import write_json
from assay.core.errors import AssayError, UnsafePath, UsageError
from assay.core.home import Home
from assay.core.progress import Progress
from assay.grading.grade import grade_submission_async
from assay.lab import open_lab
from assay.lab.environments import find_environment
from assay.lab.interface import Completed, Limits, SandboxName, Setup
from assay.tasks import Measured, Solution, Task
from assay.tasks.model import MEASURED_FILES

if TYPE_CHECKING:
    from assay.data.store import Prepared

_NAMED_VERSIONS = ("numpy", "pandas", "scikit-learn", "lightgbm", "torch")


def measure_panel(
    home: Home,
    task: Task,
    *,
    edition: str | None = None,
    variant: str = "real",
    sandbox: SandboxName = "auto",
    seeds: int = 5,
    solutions: Collection[str] | None = None,
    progress: Progress,
) -> Measured:
    """Run the starter with several seeds and every panel solution with one, each in a fresh lab, and grade them all.

    Labs run one after the other, so that they do not slow each other down. With `solutions`, only these are run. A task
    without a `panel.py` has no solutions, only its starter.
    """
    from assay.data.store import load_prepared

    panel = _PanelLab(home, load_prepared(home, task, edition, variant), sandbox)
    return anyio.run(partial(_measure, panel, seeds, solutions, progress))


def save_measurements(task: Task, measured: Measured) -> Path:
    """Write the figures to the task's folder, where grading finds them on every machine."""
    if measured.variant not in ("real", "synthetic-0"):
        raise UsageError(
            f"--write is for real data and synthetic-0; figures of {measured.variant} stay on this machine"
        )
    name = MEASURED_FILES["measured" if measured.variant == "real" else "measured_miniature"]
    path = (task.in_edition(measured.edition).own_folder or task.folder) / name
    write_json(path, measured.model_dump(mode="json"), mode=None)
    return path


def keep_measurements(home: Home, task: Task, measured: Measured) -> Path:
    """Write the figures next to the prepared data, where grading on this machine finds them; return the path."""
    from assay.data.store import load_prepared

    path = load_prepared(home, task, measured.edition, measured.variant).folder / "measured.json"
    write_json(path, measured.model_dump(mode="json"), mode=None)
    return path


def panel_files(task: Task) -> dict[str, bytes]:
    """Return what runs a task's reference solutions in a lab: its `panel.py`, and the script that calls it."""
    path = _panel_path(task)
    if not path.is_file():
        raise AssayError(f"{task.id} has no panel.py, so there are no reference solutions to measure")
    return {"panel.py": path.read_bytes(), "run_panel.py": Path(__file__).with_name("run_panel.py").read_bytes()}


def _panel_path(task: Task) -> Path:
    """Return where the panel is: solutions for one edition's files do not fit another's."""
    return (task.own_folder or task.folder) / "panel.py"


async def _measure(panel: "_PanelLab", seeds: int, solutions: Collection[str] | None, progress: Progress) -> Measured:
    names = await panel.list_solutions()
    if solutions is not None:
        names = [name for name in names if name in solutions]
    with progress.stage(f"Measuring {panel.task.id}", seeds + len(names)) as advance:
        baselines = []
        for seed in range(seeds):
            baselines.append((await panel.run_starter(seed)).score)
            advance(1)
        measured = []
        for name in names:
            measured.append(await panel.run_solution(name))
            advance(1)
    return Measured(
        date=datetime.now(UTC).date(),
        edition=panel.prepared.edition,
        variant=panel.prepared.variant,
        versions=panel.versions(),
        baseline=round(statistics.fmean(baselines), 5),
        baseline_spread=round(statistics.stdev(baselines), 5) if seeds > 1 else 0.0,
        baseline_seeds=seeds,
        panel=tuple(measured),
    )


class _PanelLab:
    """Runs a task's starter and panel solutions, each in a fresh lab with the task's data."""

    def __init__(self, home: Home, prepared: "Prepared", sandbox: SandboxName) -> None:
        self.home = home
        self.task = prepared.task
        self.prepared = prepared
        self.sandbox: SandboxName = sandbox
        self.environment = find_environment(home, prepared.task.environment_for(prepared.variant))

    async def list_solutions(self) -> list[str]:
        """Return the names of the solutions in the panel's order; none if the task has no panel."""
        if not _panel_path(self.task).is_file():
            return []
        completed, _ = await self._run(panel_files(self.task), ["python", "run_panel.py", "--list"], seed=0)
        return completed.stdout.text.split()

    async def run_starter(self, seed: int) -> Solution:
        """Run the starter's script; a starter without one already is a submission."""
        files = self.task.starter
        if not files:
            raise AssayError(f"{self.task.id} has no starter code to measure")
        script = self.task.starter_script
        return await self._solve("starter", files, ["python", script] if script else ["true"], seed)

    async def run_solution(self, name: str) -> Solution:
        return await self._solve(name, panel_files(self.task), ["python", "run_panel.py", name], seed=0)

    def versions(self) -> dict[str, str]:
        """Return what the figures depend on: the lab's Python and packages, and the size of the machine."""
        facts = json.loads((self.environment / "environment.json").read_text("utf-8"))
        packages = {name: facts["packages"][name] for name in _NAMED_VERSIONS if name in facts["packages"]}
        machine = {"machine": platform.machine(), "processors": str(os.cpu_count())}
        return {"assay": __version__, "python": facts["python"], **packages, **machine}

    async def _solve(self, name: str, files: Mapping[str, bytes], command: list[str], seed: int) -> Solution:
        completed, submitted = await self._run(files, command, seed)
        if submitted is None:
            raise AssayError(f"{self.task.id}: {name} did not write {self.task.submission.file}")
        grade = await grade_submission_async(submitted, self.prepared, home=self.home, sandbox=self.sandbox)
        if grade.score is None:
            raise AssayError(f"{self.task.id}: the submission of {name} is invalid: {grade.why}")
        return Solution(name=name, score=grade.score, seconds=round(completed.seconds, 2))

    async def _run(self, files: Mapping[str, bytes], command: list[str], seed: int) -> tuple[Completed, bytes | None]:
        """Run a command in a fresh lab with these files; return its result and the submission, if it wrote one."""
        resources, submission = self.task.resources, self.task.submission
        setup = Setup(
            environment=self.environment,
            data=self.prepared.public,
            limits=Limits.from_resources(resources),
            variables={"SEED": str(seed), "PYTHONHASHSEED": str(seed)},
        )
        async with open_lab(self.home, setup, sandbox=self.sandbox) as lab:
            if self.task.data_in_workspace:
                await lab.link_data()
            for path, content in files.items():
                await lab.write(path, content)
            completed = await lab.run(command, seconds=self.task.budget.time)
            if not completed.succeeded:
                errors = completed.stderr.text.strip().splitlines()
                reason = errors[-1] if errors else f"{completed.ended}, exit code {completed.code}"
                raise AssayError(f"{self.task.id}: {' '.join(command)} failed: {reason}")
            try:
                return completed, await lab.read(submission.file, max_size=submission.max_size)
            except (FileNotFoundError, UnsafePath):
                return completed, None
