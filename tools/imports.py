"""Check that packages import only packages above them, in the order of docs/architecture.md."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src" / "assay"
ORDER = (
    "core",
    "formats",
    "tasks",
    "data",
    "lab",
    "grading",
    "suites",
    "audit",
    "authoring",
    "models",
    "records",
    "agents",
    "runs",
    "verification",
    "results",
    "board",
    "regression",
    "studies",
    "interop",
    "gym",
    "web",
    "cli",
)
MODEL_LIBRARIES = ("inspect_ai", "openai", "anthropic")
MODEL_PACKAGES = ("models", "interop")
"""The packages that may import model libraries."""


def main() -> int:
    """Print each import that is not allowed; exit with 1 if there is one."""
    errors = [error for path in sorted(SOURCE.rglob("*.py")) for error in check_file(path)]
    sys.stdout.writelines(f"{error}\n" for error in errors)
    return 1 if errors else 0


def check_file(path: Path) -> list[str]:
    """Return the imports of a file that are not allowed."""
    parts = path.relative_to(SOURCE).parts
    package = parts[0].removesuffix(".py")
    if package == "suites" and "studies" in parts:
        package = "studies"
    elif package == "suites" and path.name == "published.py":  # of a task: how its published grader reads submissions
        package = "grading"
    # Modules at the top, such as __main__, may import everything.
    allowed = ORDER[: ORDER.index(package) + 1] if package in ORDER else ORDER
    errors = []
    for line, name in find_imports(ast.parse(path.read_text())):
        top, _, rest = name.partition(".")
        target = rest.partition(".")[0]
        if top == "assay" and target in ORDER and target not in allowed:
            errors.append(f"{path}:{line}: {package} may not import {name}")
        if top in MODEL_LIBRARIES and package not in MODEL_PACKAGES:
            errors.append(f"{path}:{line}: only {' and '.join(MODEL_PACKAGES)} may import {name}")
    return errors


def find_imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and the full name of everything a module imports, including imports inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            if node.module == "assay":
                yield from ((node.lineno, f"assay.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, node.module


if __name__ == "__main__":
    sys.exit(main())
