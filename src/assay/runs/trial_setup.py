"""What a trial starts with, as planned: the lab, the files in it, models, and a check of the submission format."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from assay.agents.offers import CodeOutcome, Offers
from assay.agents.recorder import Recorder
from assay.core.errors import InvalidSubmission, LabError, UsageError
from assay.core.home import Home
from assay.data.selection import prepare_selection
from assay.data.store import Prepared, load_prepared
from assay.grading.isolated import validate_isolated
from assay.lab import Lab, Limits, Setup
from assay.lab.environments import find_environment
from assay.lab.host.gpus import gpu_nodes
from assay.records import EventLog, TrialFile
from assay.records.code import Code
from assay.runs.descriptions import description_of
from assay.tasks import Task

if TYPE_CHECKING:
    from assay.models import Models

_CHMOD_SECONDS = 60.0


def lab_setup(file: TrialFile, task: Task, home: Home, gpus: tuple[int, ...] = (), tools: str | None = None) -> Setup:
    """Return the setup of the trial's lab; `tools` is the environment of an agent that runs in it."""
    data = lab_data(file, task, home)
    limits = Limits.from_resources(file.resources)
    seeds = {"SEED": str(file.seed), "PYTHONHASHSEED": str(file.seed)}
    variables: Mapping[str, str] = {**task.layout.variables, **seeds}
    if file.sandbox == "none":  # without a sandbox, code sees every GPU and can only be asked to use its own
        variables = {**variables, "CUDA_VISIBLE_DEVICES": ",".join(map(str, gpus))}
    return Setup(
        environment=find_planned_environment(home, file, task),
        weights=Path(file.weights) if file.weights else None,
        data=None if task.submission.form == "workspace" else data.public,
        tools=find_environment(home, tools) if tools else None,
        network=file.network,
        limits=limits,
        variables=variables,
        devices=gpu_nodes(gpus),
        links=task.layout.links,
        layout=file.layout,
        description=description_of(file, task),
    )


def find_planned_environment(home: Home, file: TrialFile, task: Task) -> Path:
    """Return the environment that a trial was planned with."""
    name = file.environment_from or task.environment_for(file.variant)
    folder = find_environment(home, name)
    if file.environment_from and folder.name != file.environment:
        raise UsageError(f"the environment {name} has changed since the trial was planned; plan a new run")
    return folder


async def write_starting_files(
    lab: Lab, task: Task, description: str | None = None, *, obfuscated: bool = False
) -> None:
    """Write what every agent finds in its workspace: the description, starter code, links to data where it has any."""
    if lab.paths.layout == "mlebench":
        from assay.agents.external.mlebench_layout import write_layout

        await write_layout(lab, task, obfuscated=obfuscated)
        return
    if task.data_in_workspace:
        await lab.link_data()
    if task.submission.form != "workspace":
        await lab.write("description.md", (task.description if description is None else description).encode())
    for path, content in task.starter.items():
        await lab.write(path, content)
    if task.layout.executables:
        done = await lab.run(["chmod", "+x", "--", *task.layout.executables], seconds=_CHMOD_SECONDS)
        if not done.succeeded:
            raise LabError(f"the programs of {task.id} could not be made executable: {done.stderr.text.strip()[:300]}")


def open_models(file: TrialFile, report: Callable[[str | None], None] = lambda trouble: None) -> "Models":
    """Return the models that the agent may ask; `report` is called when one of them does not answer."""
    from assay.models import Models, Prices, settings_by_role

    settings, prices = settings_by_role(file.model_settings), Prices.model_validate({"models": file.prices})
    return Models(file.models, settings, prices=prices, report=report)


def lab_data(file: TrialFile, task: Task, home: Home) -> Prepared:
    """Return the data of the trial's lab: that of the task, or with a hidden part split off its training rows."""
    data = load_prepared(home, task, file.edition, file.variant)
    return data if file.selection == "own" else prepare_selection(home, data).part("lab")


def open_offers(
    file: TrialFile,
    task: Task,
    home: Home,
    log: EventLog,
    recorder: Recorder,
    run_code: Callable[[Code], Awaitable[CodeOutcome]],
) -> Offers | None:
    """Return what keeps the candidates of a trial; None where its agent alone selects."""
    if file.selection == "own":
        return None
    split = prepare_selection(home, load_prepared(home, task, file.edition, file.variant))
    check = partial(find_format_problem, task=task, home=home, file=file)
    return Offers(
        split,
        file.selection,
        file.feedback,
        log,
        recorder.contents,
        recorder.clock,
        check,
        file.resources.disk,
        run_code if file.submit == "code" and not task.timed else None,
    )


def find_format_problem(content: bytes, task: Task, home: Home, file: TrialFile) -> str | None:
    """Return what is wrong with the format of a submission, or None; its values are not compared with the answers."""
    try:
        validate_isolated(content, lab_data(file, task, home))
    except InvalidSubmission as error:
        return str(error)
    return None
