"""What the shell completes: names of tasks, agents, runs and trials."""

from pathlib import Path

import click
from click.shell_completion import CompletionItem


def complete_tasks(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete suites, splits, tasks and plan files."""
    from assay.tasks import Registry

    suites = [suite for suite, _ in Registry().suites.values()]
    names = [suite.name for suite in suites]
    names += [f"{suite.name}:{split}" for suite in suites for split in suite.splits]
    names += [f"{suite.name}/{task}" for suite in suites for task in suite.tasks]
    plans = [str(path) for path in sorted(Path().glob("*.toml"))]
    return _matching([*names, *plans], incomplete)


def complete_agents(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete agents by name."""
    from assay.agents.agent import agent_names

    return _matching(agent_names(), incomplete)


def complete_runs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete run folders and exported runs."""
    from assay.records import list_newest_runs

    bundles = [str(path) for path in sorted(Path().glob("*.zip"))]
    return _matching([*map(str, list_newest_runs(Path())), *bundles], incomplete)


def complete_trials(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete run folders and the folders of their trials."""
    from assay.records import list_newest_runs

    runs = list_newest_runs(Path())
    trials = [str(path.parent) for run in runs for path in sorted(run.glob("trials/*/trial.json"))]
    return _matching([*map(str, runs), *trials], incomplete)


def _matching(names: list[str], incomplete: str) -> list[CompletionItem]:
    """Return the names that begin with what is typed.

    Names of folders and files may be a stranger's. One with a line break would be several completions, and one that
    begins with a dash an option.
    """
    safe = (f"./{name}" if name.startswith("-") else name for name in names if name.isprintable())
    return [CompletionItem(name) for name in safe if name.startswith(incomplete)]
