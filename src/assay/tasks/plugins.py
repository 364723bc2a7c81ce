"""Code that is loaded by path: the files of task folders, and agents or models given as `path.py:name`."""

import hashlib
import importlib.util
import sys
import threading
from collections.abc import Sequence
from importlib.machinery import FileFinder, ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from assay.core.errors import UsageError

_PACKAGE = "assay_plugins_"
_loading = threading.RLock()


def load_plugin(path: Path) -> ModuleType:
    """Run a Python file, such as a task's `prepare.py`, and return its module.

    Task folders have hyphens in their names and are not packages. Their code can still import its neighbors
    (`from .cases import timed`) and what its suite shares (`from .._shared.images import crop`). Nothing is cached
    between calls, so that edited files take effect.
    """
    if not path.is_file():
        raise UsageError(f"{path} is missing")
    folder = path.absolute().parent
    with _loading:
        package = _make_packages(folder)
        name = f"{package}.{path.stem}"
        spec = importlib.util.spec_from_file_location(name, path, loader=_PluginLoader(name, str(path)))
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


class _PluginLoader(SourceFileLoader):
    """Compiles code each time: bytecode is matched by size and second, so code edited twice in a second is stale."""

    def path_stats(self, path: str) -> NoReturn:
        raise OSError(f"{path}: no bytecode is read or written")


class _PluginFinder:
    """Finds the neighbors of a plugin whenever it imports them."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not (path and name.startswith(_PACKAGE)):
            return None
        return FileFinder(path[0], (_PluginLoader, [".py"])).find_spec(name)


def _make_packages(folder: Path) -> str:
    """Register a task folder, its suite and the folder of the suite as packages; return the task's package name.

    The names contain a hash of the path, because two suites may have the same name. Modules imported earlier are
    dropped, so that edited files are read again.
    """
    if _PluginFinder not in sys.meta_path:
        sys.meta_path.insert(0, _PluginFinder)
    name = f"{_PACKAGE}{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}"
    for loaded in [known for known in sys.modules if known == name or known.startswith(f"{name}.")]:
        del sys.modules[loaded]
    for place in (folder.parent.parent, folder.parent, folder):
        package = ModuleType(name)
        package.__path__ = [str(place)]
        sys.modules[name] = package
        if place != folder:
            name = f"{name}.{'suite' if place == folder.parent.parent else 'task'}"
    return name
