"""Public names of a package that are imported on first use, so that commands load only what they need."""

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def export_lazily(package: str, file: str) -> tuple[list[str], Callable[[str], Any]]:
    """Return `__all__` and `__getattr__` of a package, from what its `__init__.py` imports from its own modules.

    The imports are under `if TYPE_CHECKING`, where type checkers see them: they are the only list of exports.
    """
    modules = {
        alias.name: str(node.module)
        for node in ast.walk(ast.parse(Path(file).read_bytes()))
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(f"{package}.") and node.module != __name__
        for alias in node.names
    }

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules[name]), name)

    return sorted(modules), get
