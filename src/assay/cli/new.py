"""`assay new`."""

import re
from importlib.resources import files
from pathlib import Path

import click

from assay.cli.output import echo
from assay.core.disk import atomic_write
from assay.core.errors import UsageError


@click.group("new")
def new_command() -> None:
    """Create the files of a new agent from a template, or a key to sign runs with.

    \b
    Examples:
      assay new agent my_agent
      assay new agent my_agent --profile
      assay new key team
    """


@new_command.command("agent")
@click.argument("name")
@click.option("--profile", is_flag=True, help="A profile for a command-line agent instead of a Python class.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    metavar="DIR",
    help="Folder to write to.  [default: this one]",
)
def new_agent_command(name: str, profile: bool, out: Path) -> None:
    """Create an agent that works: a Python class, or with --profile a command-line agent and how to run it.

    \b
    Examples:
      assay new agent my_agent
      assay new agent my_agent --profile
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise UsageError(f"{name!r} cannot be the name of an agent; use a-z, 0-9 and _, e.g. my_agent")
    if profile:
        new = {
            f"{name}.toml": _template("new_profile.toml").replace("NAME", name),
            f"{name}_agent.py": _template("new_command.txt"),
        }
        agent = f"external,profile={out / name}.toml"
    else:
        class_name = "".join(map(str.capitalize, name.split("_")))
        text = _template("new_agent.txt").replace("{file}", f"{name}.py").replace("{name}", class_name)
        new = {f"{name}.py": text}
        agent = f"{out / name}.py:{class_name}"
    if existing := next((file for file in new if (out / file).exists()), None):
        raise UsageError(f"{out / existing} exists already; choose another name, or remove it")
    out.mkdir(parents=True, exist_ok=True)
    for file, text in new.items():
        atomic_write(out / file, text, mode=None)
        echo(f"Wrote {out / file}")
    echo(f"To try it, run: assay run pocket/digits --agent {agent} --seeds 1")


@new_command.command("key")
@click.argument("path", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
def new_key_command(path: Path) -> None:
    """Create an Ed25519 key to sign runs with: FILE, to be kept secret, and FILE.pub, to be published.

    \b
    Examples:
      assay new key team
    """
    from assay.records.keys import create_key, fingerprint, path_of_public

    public = create_key(path)
    echo(f"Wrote {path} (keep it secret) and {path_of_public(path)} (publish it): {fingerprint(public)}")
    echo(f"To sign a run, run: assay sign RUN --key {path}")


def _template(name: str) -> str:
    return files("assay.agents").joinpath("templates", name).read_text("utf-8")
