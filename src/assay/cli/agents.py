"""`assay agents`."""

import json
from typing import Any

import click
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from assay.agents.agent import Agent, agent_class, agent_names
from assay.cli.output import as_json, echo


@click.command("agents")
@as_json
def agents_command(json_: bool) -> None:
    """List agents, what they need, and their settings.

    \b
    Examples:
      assay agents
      assay run pocket --agent automl,share=0.5
    """
    rows = [_row(name, agent_class(name)) for name in agent_names()]
    if json_:
        echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        needs = f" (needs {row['needs']})" if row["needs"] else ""
        echo(f"{row['agent']}: {row['summary']}{needs}")
        for setting, about in row["settings"].items():
            value = "…" if about["required"] else json.dumps(about["default"], ensure_ascii=False).strip('"')
            echo(f"  {setting}={value}  {about['about'] or ''}")


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
