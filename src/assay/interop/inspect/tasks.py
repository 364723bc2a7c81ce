"""Our suites as tasks of Inspect: `inspect eval assay/pocket`, with anybody's solver."""

from collections.abc import Callable, Sequence

from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError  # what Inspect shows without a traceback; it has no public name
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
from assay.interop.inspect.sandbox import Wanted
from assay.interop.inspect.scorer import grade
from assay.lab import SandboxName, find_environment
from assay.runs.descriptions import Describe
from assay.tasks import Budget, Registry, parse_duration
from assay.tasks import Task as OurTask

_RULES = """\
You are an engineer of machine learning, alone at the command line of a Linux machine. Each bash command runs in a new
shell in the workspace: files stay, but changes of folder, variables and processes do not. Nobody can answer questions.
When you are done, call {submit}(); what counts is the file in the workspace, not what you say with that call."""
_SHARE = 0.25
"""The part of the whole time that one command of the default solver gets at the most."""


def _exposed(suite: str) -> Callable[..., Task]:
    @task(name=suite)
    def exposed(
        tasks: str | Sequence[str] | None = None,
        edition: str | None = None,
        variant: str = "real",
        describe: Describe = "plain",
        time: str | int | None = None,
        steps: int | None = None,
        sandbox: SandboxName = "bubblewrap",
    ) -> Task:
        """A suite of Assay: one sample for each of its tasks.

        Args:
            tasks: Names of tasks or of splits; if not given, all of the suite.
            edition: The rules to judge by; if not given, the suite's usual ones.
            variant: Which data: `real`, or a miniature such as `synthetic-0`.
            describe: Which text describes a task, `plain` or `obfuscated`.
            time: What a sample may use of time, such as `30m`; if not given, what the task says.
            steps: How many turns a model may take; if not given, what the task says.
            sandbox: What the walls of the lab are made of; `none` has none.
        """
        try:
            chosen = _chosen(suite, tasks)
            edition = edition or chosen[0].edition
            budget = _budget(chosen, time, steps)
            labs = [
                Wanted(task=one.id, edition=edition, variant=variant, describe=describe, sandbox=sandbox)
                for one in chosen
            ]
            samples = [_sample(wanted, budget) for wanted in labs]
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
            viewer=ViewerConfig(trust_content=False),  # what agents print is nobody's to render
            metadata={"suite": suite, "edition": edition, "variant": variant, "describe": describe},
        )

    return exposed


pocket = _exposed("pocket")
mlagentbench = _exposed("mlagentbench")
mlebench = _exposed("mlebench")


def _chosen(suite: str, names: str | Sequence[str] | None) -> list[OurTask]:
    registry = Registry()
    splits = registry.suites[suite][0].splits
    named = names.split(",") if isinstance(names, str) else names or [suite]
    found = registry.select_all(
        name if name == suite or {"/", ":"} & {*name} else f"{suite}:{name}" if name in splits else f"{suite}/{name}"
        for name in named
    )
    if strange := [one.id for one in found if one.suite != suite]:
        raise UsageError(f"{strange[0]} is not a task of {suite}; evaluate assay/{strange[0].partition('/')[0]}")
    return found


def _budget(chosen: Sequence[OurTask], time: str | int | None, steps: int | None) -> Budget:
    """What every sample is told that it may use, and is held to; Inspect knows one limit for all of them."""
    return Budget(
        time=max(one.budget.time for one in chosen) if time is None else parse_duration(time),
        steps=max(one.budget.steps for one in chosen) if steps is None else steps,
    )


def _sample(wanted: Wanted, budget: Budget) -> Sample:
    """One task; an error says what to do where its data or its Python is not on this machine."""
    found, home = wanted.found(), Home.default()
    load_prepared(home, found, wanted.edition, wanted.variant)
    find_environment(home, found.environment)
    return Sample(
        input=task_prompt(found, wanted.description(found), budget),
        id=found.name,
        metadata={
            "task": found.id,
            "edition": wanted.edition,
            "variant": wanted.variant,
            "metric": found.metric.name,
            "direction": found.metric.direction,
        },
        sandbox=SandboxEnvironmentSpec("assay", wanted),
    )


def _solver(budget: Budget) -> Solver:
    """Inspect's basic agent with one tool, for those who bring no solver; turns and time are what limits it."""
    return basic_agent(
        init=system_message(_RULES, submit="submit"),
        tools=[bash(timeout=max(1, round(_SHARE * budget.time)))],
        message_limit=10 * budget.steps,
        submit_description="End the work.",
    )
