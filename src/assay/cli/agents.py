"""`assay agents`."""

import json

import click

from assay.agents.agent import agent_names, find_agent
from assay.cli.output import as_json


@click.command("agents")
@as_json
def agents_command(json_: bool) -> None:
    """List agents and their settings.

    \b
    Example:
      assay agents
      assay run pocket --agent automl,share=0.5
    """
    agents = {name: find_agent(name) for name in agent_names()}
    rows = [
        {
            "agent": name,
            "summary": agent.summary,
            "settings": {
                setting: {"default": getattr(agent, setting), "about": field.description}
                for setting, field in type(agent).model_fields.items()
            },
        }
        for name, agent in agents.items()
    ]
    if json_:
        click.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        click.echo(f"{row['agent']}: {row['summary']}")
        for setting, about in row["settings"].items():  # type: ignore[attr-defined]
            click.echo(f"  {setting}={about['default']}  {about['about'] or ''}")
