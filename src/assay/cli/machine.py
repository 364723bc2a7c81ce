"""`assay config` and `assay doctor`: this machine, its settings, and the shell."""

import os
import platform
import re
import sys
from importlib import metadata
from typing import TYPE_CHECKING

import click

from assay import __version__
from assay.cli.output import as_json, echo, echo_json, print_tables, sandbox
from assay.core.home import Home
from assay.core.installation import install_command
from assay.core.table import Column, Table

if TYPE_CHECKING:
    from assay.lab.doctor import Diagnosis
    from assay.lab.interface import SandboxName

_DEVELOPMENT = ("docs", "lint", "test")
"""Extras for working on Assay itself."""
_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "OPENROUTER_API_KEY", "KAGGLE_KEY")


@click.command("config")
@click.option(
    "--completion",
    type=click.Choice(["bash", "zsh", "fish"]),
    default=None,
    help="Instead, print the script that completes commands, options, tasks, agents, runs and trials in a shell.",
)
@as_json
def config_command(completion: str | None, json_: bool) -> None:
    """Show the configuration file, the settings that apply to every run, and where each comes from.

    Settings in the file have the names of a plan file's; it begins with: format = "config/1".

    \b
    Examples:
      assay config
      eval "$(assay config --completion bash)"          # in ~/.bashrc
      eval "$(assay config --completion zsh)"           # in ~/.zshrc
      assay config --completion fish > ~/.config/fish/completions/assay.fish
    """
    if completion:
        _print_completion(completion)
        return
    from assay.core.home import find_user_config
    from assay.runs.plan_config import VARIABLES, PlanConfig, resolve_config

    path = find_user_config(os.environ)
    config, origins = resolve_config(PlanConfig(), PlanConfig())
    values = config.model_dump(mode="json", exclude_none=True)
    if json_:
        echo_json("config/1", file=str(path), home=str(Home.default().root), origins=origins, values=values)
        return
    echo(f"file   {path}{'' if path.is_file() else ' (does not exist)'}")
    echo(f"home   {Home.default().root} (ASSAY_HOME)")
    rows: list[tuple[str, ...]] = []
    for key, origin in origins.items():
        group, _, name = key.partition(".")
        rows.append((key, str(values[group][name] if name else values[group]), origin))
    if rows:
        print_tables([Table("settings", (Column("setting"), Column("value"), Column("from")), tuple(rows))])
    else:
        echo("No settings: every run uses its flags, its plan file and the defaults.")
    echo(f"Environment variables: {', '.join(VARIABLES)}")


@click.command("doctor")
@sandbox
@as_json
def doctor_command(sandbox: "SandboxName", json_: bool) -> None:
    """Check this machine: Python, extras, lab environments, API keys, load, and what sandboxes enforce.

    \b
    Examples:
      assay doctor
      assay doctor --sandbox landlock
    """
    from assay.lab.doctor import diagnose

    findings = [*_check_machine(), *diagnose(Home.default(), sandbox)]
    if json_:
        echo_json("doctor/1", checks=findings)
        return
    columns = (Column("check"), Column("state"), Column("detail", kind="prose", min_width=30))
    print_tables([Table("checks", columns, tuple((each.name, each.state, _detail(each)) for each in findings))])
    problems = [finding for finding in findings if finding.remedy and finding.state != "optional"]
    for finding in problems:
        echo(f"\n{finding.name}: {finding.remedy}")
    missing = sum(finding.state == "missing" for finding in findings)
    optional = sum(finding.state == "optional" for finding in findings)
    echo(f"\n{len(findings)} checks: {missing} missing, {optional} optional and not there.")


def _detail(finding: "Diagnosis") -> str:
    """Return what was found; of what is optional, also how to get it, which needs no sentence of its own."""
    is_optional = finding.state == "optional" and finding.remedy
    return f"{finding.detail}; {finding.remedy}" if is_optional else finding.detail


def _check_machine() -> "list[Diagnosis]":
    from assay.lab.doctor import Diagnosis
    from assay.lab.machine_load import describe_load, read_load

    load = read_load()
    busy = describe_load(load)
    checks = [
        Diagnosis("assay", "ok", f"{__version__}, Python {platform.python_version()} at {sys.executable}"),
        Diagnosis("cores", "ok", f"{len(os.sched_getaffinity(0))} usable"),
        Diagnosis("load", "degraded" if busy else "ok", busy or f"{load} runnable processes per core"),
    ]
    for extra in metadata.metadata("mlassay").get_all("Provides-Extra", []):
        if extra in _DEVELOPMENT:
            continue
        if all(map(_is_installed, _packages_of(extra))):
            checks.append(Diagnosis(f"extra {extra}", "ok", "installed"))
        else:
            checks.append(Diagnosis(f"extra {extra}", "optional", "not installed", install_command(extra)))
    keys = [name for name in _KEYS if os.environ.get(name)]
    checks.append(Diagnosis("API keys", "ok" if keys else "optional", ", ".join(keys) or "none in the environment"))
    return checks


def _packages_of(extra: str) -> list[str]:
    needs = [need.partition(";") for need in metadata.requires("mlassay") or ()]
    return [re.split(r"[^\w.-]", need)[0] for need, _, marker in needs if f'extra == "{extra}"' in marker]


def _is_installed(package: str) -> bool:
    try:
        metadata.distribution(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def _print_completion(shell: str) -> None:
    from click.shell_completion import get_completion_class

    from assay.cli import assay

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(_BASH if shell == "bash" else kind(assay, {}, "assay", "_ASSAY_COMPLETE").source())


# Click's script for bash cannot complete splits: bash takes `mlebench:` for a word, and a reply replaces only the rest.
# Nor does it quote: bash inserts a reply as it is, so a folder called `$(command)` would be executed with the line.
_BASH = r"""
_assay_completion() {
    local line="${COMP_LINE:0:COMP_POINT}" kind reply
    local -a words
    read -ra words <<< "$line"
    [[ $line == *" " ]] && words+=("")
    local current="${words[-1]}"
    local before="${current%"${current##*:}"}"
    COMPREPLY=()
    while IFS=, read -r kind reply; do
        case $kind in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) printf -v reply %q "${reply#"$before"}" && COMPREPLY+=("$reply") ;;
        esac
    done < <(COMP_WORDS="$line" COMP_CWORD=$((${#words[@]} - 1)) _ASSAY_COMPLETE=bash_complete "$1")
}
complete -o nosort -F _assay_completion assay
""".strip()
