"""Check that no variable, parameter, field or function has a name that says nothing about what it holds."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHECKED = ("src/assay", "tests", "tools", "benchmarks", "examples")
AGENT_CODE = ("starter/*", "mlagentbench/*/model.py", "mlagentbench/*/judge.py")
"""What agents are given is a part of their tasks and stays as it is."""
BANNED = {"one", "ones", "found", "same", "some", "place", "places", "made", "shown", "given", "wanted"}


def main() -> int:
    """Print each definition with a banned name; exit with 1 if there is one."""
    paths = sorted(path for folder in CHECKED for path in (ROOT / folder).rglob("*.py"))
    errors = [error for path in paths if is_checked(path.relative_to(ROOT)) for error in check_file(path)]
    sys.stdout.writelines(f"{error}\n" for error in errors)
    return 1 if errors else 0


def is_checked(path: Path) -> bool:
    """Return whether the names in this file are checked."""
    return not any(folder.match(code) for folder in (path, *path.parents) for code in AGENT_CODE)


def check_file(path: Path) -> list[str]:
    """Return the definitions in a file whose name is banned, with or without underscores around it."""
    names = sorted(set(find_definitions(ast.parse(path.read_text("utf-8")))))
    return [f"{path}:{line}: {name} says nothing; name the thing" for line, name in names if name.strip("_") in BANNED]


def find_definitions(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and name of everything a module defines: not what it only uses, such as a library's attribute."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.lineno, node.name
            case ast.arg():
                yield node.lineno, node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.lineno, node.id
            case ast.Attribute(ctx=ast.Store()):
                yield node.lineno, node.attr
            case ast.alias(asname=str(name)):
                yield node.lineno, name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield node.lineno, name
            case ast.MatchMapping(rest=str(name)):
                yield node.lineno, name


if __name__ == "__main__":
    sys.exit(main())
