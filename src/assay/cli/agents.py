"""`assay agents`."""

import json
from typing import Any

import click
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from assay.agents.agent import Agent, agent_class, agent_names, find_agent
from assay.agents.external.agent import External
from assay.agents.external.profile import profile_names
from assay.cli.complete import complete_agents
from assay.cli.output import as_json, echo, echo_json, print_tables
from assay.core.errors import LabError, MissingDependency
from assay.core.home import Home
from assay.core.table import Column, Table
from assay.lab.environments import find_environment
from assay.runs.plan_config import parse_agent


@click.command("agents")
@click.argument("names", nargs=-1, metavar="[AGENT]…", shell_complete=complete_agents)
@click.option("--check", is_flag=True, help="Check that the named agents can run on this machine.")
@as_json
def agents_command(names: tuple[str, ...], check: bool, json_: bool) -> None:
    """List agents and what they need; for an agent that is named, also its settings.

    With --check, say what is missing on this machine to run an agent, such as the environment of an external one. The
    names may be those of profiles, such as codex, and have settings.

    \b
    Examples:
      assay agents
      assay agents aide
      assay agents --check codex opencode
      assay run pocket --agent automl,share=0.5
    """
    if check:
        _check(names or tuple(profile_names()), json_)
        return
    agents = {name: agent_class(name) for name in names or agent_names()}
    if json_:
        echo_json("agents/2", agents=[_describe(name, agent) for name, agent in agents.items()])
    elif not names:
        columns = (
            Column("agent"),
            Column("needs", drop=2),
            Column("settings", kind="integer", drop=1),
            Column("summary", "what it does", kind="prose", min_width=56),
        )
        rows = [(name, _needs(agent), len(agent.model_fields), agent.summary) for name, agent in agents.items()]
        print_tables([Table("agents", columns, tuple(rows))])
        echo("\nFor settings, run: assay agents AGENT. To set one: --agent AGENT,SETTING=VALUE")
    else:
        print_tables(_settings_table(name, agent) for name, agent in agents.items())


def _check(names: tuple[str, ...], json_: bool) -> None:
    """Print what is missing to run each agent; exit with 1 if anything is."""
    missing = {name: _find_missing(name) for name in names}
    if json_:
        echo_json("agent-check/1", agents=[{"agent": name, "missing": what} for name, what in missing.items()])
    else:
        columns = (Column("agent"), Column("missing", kind="prose", min_width=56))
        print_tables([Table("check", columns, tuple((name, what or "nothing") for name, what in missing.items()))])
    if any(missing.values()):
        raise SystemExit(1)


def _find_missing(name: str) -> str | None:
    """Return what an agent lacks on this machine and how to get it; None if it can run."""
    config = parse_agent(f"external,profile={name}" if name in profile_names() else name)
    agent = find_agent(config["name"], config["settings"])
    try:
        requirements = agent.requirements()
        if isinstance(agent, External) and (reason := agent.unmet_requirement):
            return reason
        if requirements.tools:
            find_environment(Home.default(), requirements.tools)
    except (MissingDependency, LabError) as error:
        return str(error)
    return None


def _settings_table(name: str, agent: type[Agent]) -> Table:
    needs = f" (needs {_needs(agent)})" if _needs(agent) else ""
    columns = (Column("setting"), Column("default"), Column("meaning", kind="prose", min_width=40))
    settings = ((setting, _setting(field)) for setting, field in agent.model_fields.items())
    rows = [(setting, _default(about), about["about"] or "") for setting, about in settings]
    return Table("settings", columns, tuple(rows), f"{name}: {agent.summary}{needs}")


def _default(about: dict[str, Any]) -> str:
    return "required" if about["required"] else json.dumps(about["default"], ensure_ascii=False).strip('"')


def _needs(agent: type[Agent]) -> str | None:
    if agent.asks_models:
        return "a model"
    return "a person at the terminal" if agent.at_terminal else None


def _describe(name: str, agent: type[Agent]) -> dict[str, Any]:
    settings = {setting: _setting(field) for setting, field in agent.model_fields.items()}
    return {"agent": name, "summary": agent.summary, "needs": _needs(agent), "settings": settings}


def _setting(field: FieldInfo) -> dict[str, Any]:
    required = field.is_required()
    default = None if required else to_jsonable_python(field.get_default(call_default_factory=True))
    return {"default": default, "required": required, "about": field.description}
