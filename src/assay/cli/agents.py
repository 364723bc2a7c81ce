"""`assay agents`."""

import json
from typing import Any

import click
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from assay.agents.agent import Agent, agent_class, agent_names
from assay.cli.complete import complete_agents
from assay.cli.output import as_json, echo, echo_json, print_tables
from assay.core.table import Column, Table


@click.command("agents")
@click.argument("names", nargs=-1, metavar="[AGENT]…", shell_complete=complete_agents)
@as_json
def agents_command(names: tuple[str, ...], json_: bool) -> None:
    """List agents and what they need; for an agent that is named, also its settings.

    \b
    Examples:
      assay agents
      assay agents aide
      assay run pocket --agent automl,share=0.5
    """
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
