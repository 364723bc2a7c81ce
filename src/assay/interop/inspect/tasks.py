"""Suites as tasks of Inspect: `inspect eval assay/pocket`, with any solver."""

from collections.abc import Callable, Sequence

from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError  # shown by Inspect without a traceback; it has no public name
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.solver import Solver, basic_agent, system_message
from inspect_ai.tool import bash
from inspect_ai.util import SandboxEnvironmentSpec
from inspect_ai.viewer import ViewerConfig

from assay import __version__
from assay.agents.briefing import task_prompt
from assay.core.errors import AssayError, UsageError
from assay.core.home import Home
from assay.data.store import load_prepared
from assay.interop.inspect.sandbox import LabSpec
from assay.interop.inspect.scorer import grade
from assay.lab import SandboxName, find_environment
from assay.runs.descriptions import Describe
from assay.tasks import Budget, Registry, parse_duration
from assay.tasks import Task as AssayTask

_PROMPT = """\
You are a machine learning engineer working alone at the command line of a Linux machine. Each bash command runs in a
new shell in the workspace: files persist, but the working directory, variables and processes do not. No one can answer
questions. When you are done, call {submit}(). The file in the workspace is graded, not the text of that call."""
_MAX_SHARE = 0.25
"""Maximum share of the whole time for one command of the default solver."""


# Inspect puts the package's name before a task's, except in an editable install of a distribution with another name.
_HAS_PREFIX = "site-packages" in __file__


def _inspect_task(suite: str) -> Callable[..., Task]:
    @task(name=suite if _HAS_PREFIX else f"assay/{suite}")
    def suite_task(
        tasks: str | Sequence[str] | None = None,
        edition: str | None = None,
        variant: str = "real",
        describe: Describe = "plain",
        time: str | int | None = None,
        steps: int | None = None,
        sandbox: SandboxName = "auto",
    ) -> Task:
        """A suite of Assay: one sample for each of its tasks.

        Args:
            tasks: Names of tasks or splits; by default, the whole suite.
            edition: Edition of the rules; by default, the first of the suite.
            variant: Variant of the data: `real`, or a miniature such as `synthetic-0`.
            describe: Task description to use, `plain` or `obfuscated`.
            time: Time per sample, such as `30m`; by default, the budget of the task.
            steps: Maximum number of turns of the model; by default, the budget of the task.
            sandbox: Sandbox of the lab; `none` runs without isolation.
        """
        try:
            chosen = _select_tasks(suite, tasks)
            edition = edition or chosen[0].edition
            budget = _budget(chosen, time, steps)
            specs = [
                LabSpec(task=task.id, edition=edition, variant=variant, describe=describe, sandbox=sandbox)
                for task in chosen
            ]
            samples = [_sample(spec, budget) for spec in specs]
        except (AssayError, ValueError) as error:
            raise PrerequisiteError(str(error)) from error
        return Task(
            dataset=MemoryDataset(samples, name=suite),
            solver=_solver(budget),
            scorer=grade(),
            sandbox=SandboxEnvironmentSpec("assay"),
            time_limit=round(budget.time),
            turn_limit=budget.steps,
            version=__version__,
            viewer=ViewerConfig(trust_content=False),  # output of agents must not be rendered
            metadata={"suite": suite, "edition": edition, "variant": variant, "describe": describe},
        )

    return suite_task


pocket = _inspect_task("pocket")
mlagentbench = _inspect_task("mlagentbench")
mlebench = _inspect_task("mlebench")


def _select_tasks(suite: str, names: str | Sequence[str] | None) -> list[AssayTask]:
    registry = Registry()
    splits = registry.suites[suite][0].splits

    def qualify(name: str) -> str:
        if name == suite or "/" in name or ":" in name:
            return name
        return f"{suite}:{name}" if name in splits else f"{suite}/{name}"

    selectors = names.split(",") if isinstance(names, str) else names or [suite]
    tasks = registry.select_all(qualify(name) for name in selectors)
    foreign = [task for task in tasks if task.suite != suite]
    if foreign:
        raise UsageError(f"{foreign[0].id} is not a task of {suite}; use assay/{foreign[0].suite}")
    return tasks


def _budget(chosen: Sequence[AssayTask], time: str | int | None, steps: int | None) -> Budget:
    """Return the budget of every sample: Inspect has one limit for all of them."""
    return Budget(
        time=max(task.budget.time for task in chosen) if time is None else parse_duration(time),
        steps=max(task.budget.steps for task in chosen) if steps is None else steps,
    )


def _sample(spec: LabSpec, budget: Budget) -> Sample:
    """Return the sample of a task; an error says what to do if its data or environment is missing."""
    task, home = spec.load_task(), Home.default()
    load_prepared(home, task, spec.edition, spec.variant)
    find_environment(home, task.environment_for(spec.variant))
    return Sample(
        input=task_prompt(task, spec.description(task), budget),
        id=task.name,
        metadata={
            "task": task.id,
            "edition": spec.edition,
            "variant": spec.variant,
            "metric": task.metric.name,
            "direction": task.metric.direction,
        },
        sandbox=SandboxEnvironmentSpec("assay", spec),
    )


def _solver(budget: Budget) -> Solver:
    """Return Inspect's basic agent with the bash tool, limited by turns and time."""
    return basic_agent(
        init=system_message(_PROMPT, submit="submit"),
        tools=[bash(timeout=max(1, round(_MAX_SHARE * budget.time)))],
        message_limit=10 * budget.steps,
        submit_description="Finish the work.",
    )
