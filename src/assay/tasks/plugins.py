"""Code that is loaded by path: the files of task folders, and agents or models given as `path.py:name`."""

import hashlib
import importlib
import importlib.util
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from assay.core.errors import UsageError

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
    with _loading, _without_bytecode():
        package = _make_packages(folder)
        spec = importlib.util.spec_from_file_location(f"{package}.{path.stem}", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


@contextmanager
def _without_bytecode() -> Iterator[None]:
    """Write no bytecode: it is matched by size and second, so code edited twice in a second would run as it was."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


def _make_packages(folder: Path) -> str:
    """Register a task folder, its suite and the folder of the suite as packages; return the task's package name.

    The names contain a hash of the path, because two suites may have the same name. Modules imported earlier are
    dropped, so that edited files are read again.
    """
    name = f"assay_plugins_{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}"
    for loaded in [known for known in sys.modules if known == name or known.startswith(f"{name}.")]:
        del sys.modules[loaded]
    for place in (folder.parent.parent, folder.parent, folder):
        package = ModuleType(name)
        package.__path__ = [str(place)]
        sys.modules[name] = package
        if place != folder:
            name = f"{name}.{'suite' if place == folder.parent.parent else 'task'}"
    importlib.invalidate_caches()
    return name
