"""`assay agents`."""

import json
from typing import Any

import click
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from assay.agents.agent import Agent, agent_class, agent_names
from assay.cli.complete import complete_agents
from assay.cli.output import as_json, echo, print_table
from assay.core.layout import TableColumn


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
    rows = [_row(name, agent_class(name)) for name in names or agent_names()]
    if json_:
        echo(json.dumps(rows, indent=2))
        return
    if not names:
        columns = [
            TableColumn("agent"),
            TableColumn("needs", leave_out=2),
            TableColumn("settings", right=True, leave_out=1),
            TableColumn("what it does", shrinks=True, prose=True, min_width=56),
        ]
        print_table(
            columns, [[row["agent"], row["needs"] or "–", str(len(row["settings"])), row["summary"]] for row in rows]
        )
        echo()
        echo("For settings, run: assay agents AGENT. To set one: --agent AGENT,SETTING=VALUE")
        return
    for row in rows:
        needs = f" (needs {row['needs']})" if row["needs"] else ""
        echo(f"{row['agent']}: {row['summary']}{needs}")
        columns = [
            TableColumn("setting"),
            TableColumn("default", shrinks=True),
            TableColumn("meaning", shrinks=True, prose=True, min_width=40),
        ]
        print_table(
            columns, [[setting, _default(about), about["about"] or ""] for setting, about in row["settings"].items()]
        )


def _default(about: dict[str, Any]) -> str:
    return "required" if about["required"] else json.dumps(about["default"], ensure_ascii=False).strip('"')


def _row(name: str, agent: type[Agent]) -> dict[str, Any]:
    needs = None
    if agent.asks_models:
        needs = "a model"
    elif agent.at_terminal:
        needs = "a person at the terminal"
    settings = {setting: _setting(field) for setting, field in agent.model_fields.items()}
    return {"agent": name, "summary": agent.summary, "needs": needs, "settings": settings}


def _setting(field: FieldInfo) -> dict[str, Any]:
    required = field.is_required()
    default = None if required else to_jsonable_python(field.get_default(call_default_factory=True))
    return {"default": default, "required": required, "about": field.description}
