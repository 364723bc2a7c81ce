"""Public names of a package that are imported on first use, so that commands load only what they need."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def import_on_use(package: str, modules: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package; `modules` has the public names that each of its modules defines."""
    homes = {name: module for module, names in modules.items() for name in names}

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return get
