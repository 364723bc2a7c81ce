"""Execute plans: add their trials to a run, and run whatever is not finished.

This is what `assay run` and `assay resume` call. It prints nothing: `Reporting` says where progress and warnings go.
"""

import shutil
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from assay.core.errors import AssayError
from assay.core.home import Home
from assay.core.progress import NoProgress, Progress
from assay.core.text import plural
from assay.data.store import choose_variant, is_prepared, prepare
from assay.grading.metrics import find_metric
from assay.lab.environments import build_environment, describe_size, is_built
from assay.lab.machine_load import describe_load, read_load
from assay.lab.sandboxes import AUTO
from assay.lab.sandboxes.choice import choose_sandbox
from assay.records import RunFolder, TrialFile, TrialFolder
from assay.records.registration import register_plan
from assay.records.state import now
from assay.runs.driver import Unstarted, execute_run
from assay.runs.executors import (
    ExecutorConfig,
    check_executor_config,
    load_executor_config,
    make_executor,
    save_executor_config,
)
from assay.runs.hashes import is_outdated
from assay.runs.plan import Plan
from assay.runs.plan_config import PlanConfig
from assay.runs.planned import Allow, check_planned, refuse, remember
from assay.runs.retry import Allowance, Retries
from assay.tasks import Task

_SMALL_DOWNLOAD = 200 * 10**6
_RUNS = Path("runs")


@dataclass(frozen=True)
class Reporting:
    """How a run reports to the person who waits for it: progress of stages, and `notify` for single sentences."""

    progress: Progress = field(default_factory=NoProgress)
    notify: Callable[[str], None] = lambda sentence: None


def choose_run_folder(config: PlanConfig) -> RunFolder:
    """Return the folder that a run is written to: the configured one, or one named after the current time."""
    return RunFolder(config.out or _RUNS / f"{datetime.now():%Y-%m-%d-%H%M%S}")


def add_trials(
    run: RunFolder, plans: Sequence[Plan], config: PlanConfig, home: Home, reporting: Reporting = Reporting()
) -> list[TrialFile]:
    """Add the trials of plans to a run, after preparing and building what is missing; return the trials.

    Everything that can be checked before a run has a folder is checked first.
    """
    check_executor_config(ExecutorConfig.model_validate(_executor_settings(config)))
    if config.build is not False:
        _prepare_missing(plans, home, reporting)
    for plan in plans:
        for data in plan.load_data(home).values():
            find_metric(data.task)  # an unknown one would be noticed when all trials are paid for
    if config.build is not False:
        for name in dict.fromkeys(name for plan in plans for name in plan.environments(home)):
            if not is_built(home, name):
                reporting.notify(f"Building environment {name} ({describe_size(name)}). Pass --no-build to skip.")
                build_environment(home, name, reporting.progress)
    files = [file for plan in plans for file in plan.trials(home)]
    check_models(file for file in files if not TrialFolder(run.path / "trials" / file.id).state.final)
    remember(home, files)  # before they exist: a trial that is not remembered is taken for a stranger's
    run.add(files, register_plan(config.comparison, files, now()))
    if any(plan.sandbox == AUTO for plan in plans):
        choices = {choose_sandbox(home, file.network) for file in files if file.sandbox != "none"}
        for choice in sorted(choices, key=str):
            if choice.reason:  # a weaker one than usual
                reporting.notify(f"Sandbox: {choice}")
    others = sorted({file.variant for file in files if file.variant != "real"})
    if others and config.variant is None:
        reporting.notify(f"Using {', '.join(others)} data where it is the only variant that is prepared.")
    return files


def execute_trials(
    run: RunFolder,
    config: PlanConfig,
    home: Home,
    reporting: Reporting = Reporting(),
    *,
    only: Collection[str] | None = None,
    resumed: bool = False,
    allow: Allow = refuse,
    tasks: Collection[Path] = (),
) -> Unstarted | None:
    """Run the unfinished trials of a run, or `only` those with these ids; return what the run's limits left unstarted.

    A resumed run continues with the executor it ran on before, unless another one is configured. Trials that were not
    planned here do nothing beyond a lab unless `allow` lets them; `tasks` are folders of tasks that the user named.
    Raises `Stopped` if the user interrupts it.
    """
    default = Retries()
    wait = default.wait if config.retry_wait is None else config.retry_wait
    retries = Retries(attempts=config.attempts or default.attempts, wait=wait)
    settings = _executor_settings(config)
    previous = load_executor_config(run) if resumed and "on" not in settings else ExecutorConfig()
    executor_config = ExecutorConfig.model_validate(previous.model_dump() | settings)
    chosen = [folder for folder in run.trials() if only is None or folder.path.name in only]
    files = [folder.file for folder in chosen if not folder.state.final]
    check_planned(run, files, previous, home, allow, tasks, chosen=executor_config)
    if resumed:
        _warn(run, reporting)  # also if none of its trials can begin
        check_models(files)

    def begin() -> None:
        if not resumed:
            _warn(run, reporting)

    try:
        executor = make_executor(executor_config, run, home, cores=config.cores, retries=retries)
        save_executor_config(run, executor_config)
        remember(home, [executor_config])
        return execute_run(
            run,
            executor,
            only=only,
            progress=reporting.progress,
            retries=retries,
            allowance=Allowance(config.total_time, config.total_cost),
            began=begin,
        )
    except AssayError:
        if not resumed:
            with suppress(AssayError, OSError):  # of a disk that is lost, which is what is reported
                _discard_unstarted(run)
        raise


def prepares_in_seconds(task: Task, variant: str) -> bool:
    """Whether this variant of a task's data needs neither an account nor a large download."""
    if variant.startswith("synthetic-"):
        return (task.folder / "synthetic.py").is_file()
    source = task.source
    is_elsewhere = source.kaggle is not None or source.files or source.plugin is not None
    return variant == "real" and not is_elsewhere and (task.preparation.size or 0) <= _SMALL_DOWNLOAD


def _prepare_missing(plans: Sequence[Plan], home: Home, reporting: Reporting) -> None:
    """Prepare the data that takes seconds; the rest is for the user to decide about."""
    missing: dict[tuple[str, str | None, str], Task] = {}
    for plan in plans:
        for task in plan.tasks:
            variant = choose_variant(home, task, plan.edition, plan.variant)
            if prepares_in_seconds(task, variant) and not is_prepared(home, task, plan.edition, variant):
                missing[task.id, plan.edition, variant] = task
    if missing:
        reporting.notify(f"Preparing the data of {plural(len(missing), 'task')}. Pass --no-build to skip.")
    for number, ((name, edition, variant), task) in enumerate(missing.items(), 1):
        with reporting.progress.stage(f"{number} of {len(missing)}: {name}"):
            prepare(home, task, edition, variant, progress=reporting.progress)


def _discard_unstarted(run: RunFolder) -> None:
    """Remove a run that was refused before any of its trials began or was queued: nobody takes it for a result."""
    if any(path.name != "trial.json" for trial in run.trials() for path in trial.path.iterdir()):
        return
    shutil.rmtree(run.path / "trials")
    for name in ("run.json", "executor.json", ".adding"):
        (run.path / name).unlink(missing_ok=True)
    if (run.path / "slurm").exists():  # what was to be submitted
        shutil.rmtree(run.path / "slurm")
    with suppress(OSError):  # the folders may hold other files of the user
        run.path.rmdir()
        if run.path.parent.name == _RUNS.name:
            run.path.parent.rmdir()


def _warn(run: RunFolder, reporting: Reporting) -> None:
    for warning in _find_warnings(run):
        reporting.notify(f"warning: {warning}")


def check_infrastructure(run: RunFolder) -> None:
    """Raise an error if trials failed because of the infrastructure, not of an agent, or were stopped from outside."""
    failed = [trial for trial in run.trials() if trial.state.cause == "infrastructure"]
    if failed:
        raise AssayError(
            f"{len(failed)} of {len(run.file.trials)} trials could not run ({failed[0].state.reason}); "
            f"to try again, run: assay resume {run.path}"
        )
    stopped = sum(trial.state.status == "stopped" for trial in run.trials())
    if stopped:  # by a signal to a trial's own process, such as when its job was cancelled
        raise AssayError(
            f"{stopped} of {len(run.file.trials)} trials were stopped from outside; to continue, run: "
            f"assay resume {run.path}"
        )


def check_models(files: Iterable[TrialFile]) -> None:
    """Raise an error if a model that these trials ask is misnamed, lacks a key or package, or cannot be reached."""
    for file in {f"{file.models} {file.model_settings}": file for file in files if file.models}.values():
        from assay.runs.trial_setup import open_models  # with all that trials need, which many runs do not ask for here

        models = open_models(file)
        models.check_servers()
        models.check()


def _executor_settings(config: PlanConfig) -> dict[str, Any]:
    return {name: value for name in ("on", "slurm", "data_from", "lease") if (value := getattr(config, name))}


def _find_warnings(run: RunFolder) -> list[str]:
    """Return what could lead to wrong conclusions: a busy machine, and trials of older versions of an agent."""
    unfinished = [trial for trial in run.trials() if not trial.state.final]
    busy = describe_load(read_load()) if unfinished else None
    warnings = [busy] if busy else []
    outdated = sum(is_outdated(trial.file) for trial in unfinished)
    if outdated:
        warnings.append(
            f"{plural(outdated, 'unfinished trial')} of an earlier version of an agent will not be run; "
            f"to remove them, run: assay clean {run.path} --outdated"
        )
    return warnings
