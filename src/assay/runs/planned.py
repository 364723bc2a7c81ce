"""Which trials were planned here: any other may be a stranger's, and what it does beyond a lab must be allowed.

The home keeps the hash of every `trial.json` that was planned with it. A run folder from elsewhere names its agent's
code, the addresses of models, a sandbox, weights, its own tasks and an executor, all of which resuming it would use.
"""

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from assay.core.errors import UsageError
from assay.core.home import Home
from assay.core.text import one_line
from assay.core.trusted_folders import find_untrusted
from assay.core.untrusted import read_plain
from assay.records import RunFolder, TrialFile
from assay.runs.executors import ExecutorConfig
from assay.runs.plan_config import AgentConfig, PlanConfig
from assay.runs.trust import find_risks

_MAX_JOB = 1_000
Allow = Callable[[str, tuple[str, ...]], None]
"""Asks whether a run, by its path, may do something; raises `UsageError` if not."""


def refuse(what: str, risks: tuple[str, ...]) -> None:
    """Refuse everything that needs to be allowed."""
    listed = "\n".join(f"  - {one_line(risk)}" for risk in risks)
    raise UsageError(f"{what} would\n{listed}\nIf you trust it, pass --trust")


def remember(home: Home, files: Iterable[TrialFile | ExecutorConfig]) -> None:
    """Keep that these trials were planned, or allowed, here."""
    known = _read(home)
    new = [digest for file in files if (digest := _hash(file)) not in known]
    if new:
        # A line break on both sides: a line that a full disk has cut stays the only damaged one.
        handle = os.open(_path(home), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, "".join(f"\n{digest}\n" for digest in new).encode())
        finally:
            os.close(handle)


def inherit(home: Home, parent: TrialFile, new: TrialFile) -> None:
    """Treat a fork or a rerun like the trial that it was made from."""
    if _hash(parent) in _read(home):
        remember(home, [new])


def check_planned(
    run: RunFolder,
    files: Iterable[TrialFile],
    executor: ExecutorConfig,
    home: Home,
    allow: Allow,
    tasks: Collection[Path] = (),
    *,
    chosen: ExecutorConfig | None = None,
) -> None:
    """Ask before trials are run that were not planned here, or with an executor that a record names.

    `tasks` are folders of tasks that the user named, `chosen` is the executor that will be used, if it is another one.
    """
    known = _read(home)
    own_tasks = {path.resolve() for path in tasks}
    foreign = [file for file in files if _hash(file) not in known]
    risks = [risk for file in foreign for risk in _find_risks_of(file, run.path, own_tasks)]
    if foreign and (chosen or executor).on != "local":
        risks += _find_jobs(run, foreign)
    if _hash(executor) not in known:
        named = executor.model_dump(include={"on", "slurm", "data_from"}, exclude_defaults=True)
        risks += find_risks(PlanConfig.model_validate(named), PlanConfig(), run.path)
    if risks:
        allow(str(run.path), tuple(dict.fromkeys(risks)))
        remember(home, [*foreign, executor])


def _find_risks_of(file: TrialFile, folder: Path, own_tasks: Collection[Path]) -> tuple[str, ...]:
    settings = {
        "agents": (AgentConfig(name=file.agent, settings=file.settings),),
        "models": (dict(file.models),) if file.models else None,
        "model_settings": file.model_settings,
        "sandbox": file.sandbox,
        "weights": file.weights,
        "environment": file.environment_from,
    }
    config = PlanConfig.model_validate({name: value for name, value in settings.items() if value})
    risks = find_risks(config, PlanConfig(), folder)
    tasks = Path(file.tasks_folder).resolve() if file.tasks_folder else None
    if tasks and tasks not in own_tasks and (find_untrusted([tasks]) or not tasks.is_dir()):
        risks += (f"run the code of the tasks in {tasks} on this machine",)
    return risks


def _find_jobs(run: RunFolder, files: Iterable[TrialFile]) -> Iterator[str]:
    """Yield what a scheduler would do with the jobs that a run from elsewhere claims to have."""
    if (run.path / "slurm").exists():
        yield f"have Slurm run the jobs in {run.path / 'slurm'}, which are code"
    for file in files:
        with suppress(FileNotFoundError):
            job = read_plain(run.path / "trials" / file.id / "job", _MAX_JOB).decode(errors="replace").strip()
            yield f"wait for job {job} of the scheduler, or cancel it"


def _hash(file: TrialFile | ExecutorConfig) -> str:
    return hashlib.sha256(json.dumps(file.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()


def _read(home: Home) -> frozenset[str]:
    try:
        return frozenset(_path(home).read_text("utf-8").split())
    except FileNotFoundError:
        return frozenset()


def _path(home: Home) -> Path:
    return home.planned / "trials"
