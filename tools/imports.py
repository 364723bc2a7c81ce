"""Checks that packages import only packages above them, in the order of docs/architecture.md."""

import ast
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src" / "assay"
ORDER = (
    "core",
    "formats",
    "tasks",
    "data",
    "suites",
    "lab",
    "grading",
    "audit",
    "models",
    "records",
    "agents",
    "runs",
    "results",
    "interop",
    "cli",
)
SUITES_MAY_IMPORT = {"core", "formats", "tasks", "data", "suites"}
MODEL_LIBRARIES = ("inspect_ai", "openai", "anthropic")
MAY_IMPORT_THEM = ("models", "interop")


def main() -> int:
    """Print each import that points the wrong way; exit with 1 if there is any."""
    faults = [fault for path in sorted(SOURCE.rglob("*.py")) for fault in faults_in(path)]
    sys.stdout.writelines(f"{fault}\n" for fault in faults)
    return 1 if faults else 0


def faults_in(path: Path) -> list[str]:
    """The wrong imports of one file."""
    parts = path.relative_to(SOURCE).parts
    package = parts[0].removesuffix(".py")
    if package == "suites":
        allowed = SUITES_MAY_IMPORT
    elif package in ORDER:
        allowed = set(ORDER[: ORDER.index(package) + 1])
    else:
        allowed = set(ORDER)  # the top of the package: __init__ and __main__
    faults = []
    for node in ast.walk(ast.parse(path.read_text())):
        for name in imported(node):
            top, _, rest = name.partition(".")
            target = rest.partition(".")[0]
            if top == "assay" and target in ORDER and target not in allowed:
                faults.append(f"{path}:{node.lineno}: {package} may not import {name}")  # type: ignore[attr-defined]
            if top in MODEL_LIBRARIES and package not in MAY_IMPORT_THEM:
                faults.append(f"{path}:{node.lineno}: only models and interop may import {name}")  # type: ignore[attr-defined]
    return faults


def imported(node: ast.AST) -> list[str]:
    """The full names that a statement imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        return [f"{node.module}.{alias.name}" if node.module == "assay" else node.module for alias in node.names]
    return []


if __name__ == "__main__":
    sys.exit(main())
