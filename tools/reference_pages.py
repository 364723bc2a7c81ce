"""Generate the reference pages of the documentation site from the code; MkDocs calls `on_files` at build time.

The command reference comes from the click commands, the Python reference from the `__all__` of each package.
"""

import ast
import html
import inspect
import sys
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "assay"
INTERNAL = ("suites", "interop", "cli")
"""Packages whose names are not meant to be imported by users."""
RANKED_LOW = "---\nsearch:\n  boost: 0.2\n---\n\n"
"""In searches, pages that explain come first: these have every word."""
OPTIONS = """\
    options:
      show_root_heading: false
      show_root_toc_entry: false
      members:
"""


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages to the site."""
    from mkdocs.structure.files import File

    for path, text in (("reference/commands.md", command_page()), ("reference/python.md", python_page())):
        files.append(File.generated(config, path, content=RANKED_LOW + text))
    return files


def command_page() -> str:
    """Return the command reference as Markdown."""
    sys.path.insert(0, str(SOURCE.parent))
    from assay.cli import assay

    context = click.Context(assay, info_name="assay", **assay.context_settings)
    intro = "# Command line\n\nGenerated from the commands; `assay COMMAND --help` prints the same text.\n\n"
    return intro + "".join(describe_command(assay, context, level=2))


def describe_command(command: click.Command, context: click.Context, level: int) -> list[str]:
    """Return the Markdown of a command and its subcommands."""
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    parts = [f"{'#' * level} {context.command_path}\n\n```text\n{usage}\n```\n\n", *help_text(command)]
    rows = [row for parameter in command.get_params(context) if (row := parameter.get_help_record(context))]
    if rows:
        parts.append("| option | description |\n|---|---|\n")
        parts += [f"| {code(name)} | {cell(text)} |\n" for name, text in rows]
        parts.append("\n")
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            parts += describe_command(child, click.Context(child, parent=context, info_name=name), level + 1)
    return parts


def help_text(command: click.Command) -> list[str]:
    """Return a command's help as Markdown; blocks that click keeps as they are, such as examples, become code."""
    parts = []
    for block in inspect.cleandoc(command.help or "").split("\n\n"):
        if block.startswith("\b\n"):
            title, _, lines = block.removeprefix("\b\n").partition("\n")
            indented = "\n".join(line.removeprefix("  ") for line in lines.splitlines())
            parts.append(f"{title}\n\n```text\n{indented}\n```\n\n" if lines else f"{title}\n\n")
        else:
            parts.append(f"{html.escape(' '.join(block.split()), quote=False)}\n\n")
    return parts


def python_page() -> str:
    """Return the page from which mkdocstrings makes the Python reference."""
    parts = ["# Python API\n\nThe public names of each package. Everything else may change without notice.\n\n"]
    packages = sorted(path.parent for path in SOURCE.glob("*/__init__.py") if path.parent.name not in INTERNAL)
    for folder in (SOURCE, *packages):
        name = "assay" if folder == SOURCE else f"assay.{folder.name}"
        members = "".join(f"        - {member}\n" for member in public_names(folder / "__init__.py"))
        if members:
            parts.append(f"## {name}\n\n::: {name}\n{OPTIONS}{members}\n")
    return "".join(parts)


def public_names(path: Path) -> list[str]:
    """Return the names that a module exports, in `__all__` or as `import name as name`, without importing it."""
    tree, names = ast.parse(path.read_text()), set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and any(isinstance(to, ast.Name) and to.id == "__all__" for to in node.targets):
            names.update(ast.literal_eval(node.value))
        elif isinstance(node, ast.ImportFrom):
            names.update(alias.name for alias in node.names if alias.name == alias.asname)
    return sorted(names)


def code(text: str) -> str:
    """Return text as code that may stand in a table cell."""
    return f"<code>{cell(text)}</code>"


def cell(text: str) -> str:
    """Return text that may stand in a table cell."""
    escaped = html.escape(" ".join(text.split()), quote=False)
    return escaped.replace("|", "&#124;").replace("*", "&#42;").replace("[", "&#91;").replace("_", "&#95;")
