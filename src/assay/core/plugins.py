"""One door for everything that can be added from outside: agents, suites, metrics, studies, sandboxes and more.

A plug-in is registered by an installed package under the entry-point group `assay.KIND`, as Assay's own are, or named
where it is used as `path.py:name`. Nothing is imported before it is used.
"""

import hashlib
import importlib.util
import re
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from functools import cache
from importlib.machinery import FileFinder, ModuleSpec, SourceFileLoader
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, NoReturn, TypeVar, cast

from assay.core.errors import AssayError, UsageError
from assay.core.text import did_you_mean, suggest

Plugin = TypeVar("Plugin")

_FILE_AND_NAME = re.compile(r"(.+\.py):(\w+)")
_DEFINITION = re.compile(r"^(?:class|def) ([A-Za-z]\w*)", re.MULTILINE)
_PACKAGE = "assay_plugins_"
_loading = threading.RLock()


class Plugins(Generic[Plugin]):
    """The plug-ins of one kind: `STUDIES = Plugins[Study]("studies", "study", lambda value: isinstance(value, Study))`.

    `kind` ends the name of the entry-point group, `noun` is for messages, and `is_valid` tells whether a value that
    was loaded is a plug-in of this kind.
    """

    def __init__(self, kind: str, noun: str, is_valid: Callable[[Any], bool] = callable) -> None:
        self.kind = kind
        self.noun = noun
        self._is_valid = is_valid

    def names(self) -> list[str]:
        """Return the names of all registered plug-ins of this kind."""
        return sorted({entry.name for entry in _registered().select(group=f"assay.{self.kind}")})

    def entry(self, name: str) -> EntryPoint | None:
        """Return the entry point of a registered plug-in, which names its package and module; it is not loaded."""
        entries = {entry.value: entry for entry in _registered().select(group=f"assay.{self.kind}", name=name)}
        if len(entries) > 1:
            raise UsageError(f"several packages register the {self.noun} {name}: {', '.join(sorted(entries))}")
        return next(iter(entries.values()), None)

    def load(self, name: str, folder: Path = Path()) -> Plugin:
        """Return the plug-in registered as `name`, or that `path.py:name` defines; a path is relative to `folder`."""
        if file := split_path(name):
            value, close = _load_name(folder / file[0], file[1])
            hint = f"; did you mean {close}?" if close else ""
            return self._check(value, f"{file[0]} defines no {self.noun} {file[1]}{hint}")
        if entry := self.entry(name):
            with_code = f"{self.noun} {name} ({entry.value})"
            return self._check(_explain(with_code, entry.load), f"{entry.value} is no {self.noun}")
        if name.endswith(".py") and (folder / name).is_file():
            defined = _DEFINITION.findall((folder / name).read_text("utf-8", "replace"))
            raise UsageError(f"{name} is a file; name what it defines: {name}:{defined[0] if defined else 'NAME'}")
        if name.endswith(".py"):
            raise UsageError(f"{name} is missing")
        raise self.unknown(name)

    def check(self, name: str) -> str:
        """Return `name`; raise `UsageError` unless it is registered, or the file of `path.py:name` exists."""
        file = split_path(name)
        if file and not file[0].is_file():
            raise UsageError(f"{file[0]} is missing")
        if not file and not self.entry(name):
            raise self.unknown(name)
        return name

    def unknown(self, name: str) -> UsageError:
        """Return the error for a name that no plug-in of this kind has."""
        names = self.names()
        if not names:
            return UsageError(f"no {self.noun} is registered; if Assay's source was updated, install it again")
        return UsageError(f"no {self.noun} is called {name!r}; {did_you_mean(name, [*names, 'path.py:NAME'])}")

    def _check(self, value: object, problem: str) -> Plugin:
        if not self._is_valid(value):
            raise UsageError(problem)
        return cast(Plugin, value)


def split_path(name: str) -> tuple[Path, str] | None:
    """Return the file and the name in `path.py:name`; None if it is the name of a registered plug-in."""
    match = _FILE_AND_NAME.fullmatch(name)
    return (Path(match[1]), match[2]) if match else None


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


@cache
def _registered() -> Any:
    """Return the entry points of all installed packages, whose metadata is read once; their type depends on Python."""
    return entry_points()


def _load_name(path: Path, name: str) -> tuple[object, str | None]:
    """Return what a file defines by a name, or None and the most similar name that it defines."""
    module = _explain(str(path), lambda: load_plugin(path))
    if hasattr(module, name):
        return getattr(module, name), None
    return None, suggest(name, _DEFINITION.findall(path.read_text("utf-8", "replace")))


def _explain(code: str, load: Callable[[], Any]) -> Any:
    """Load `code`; name the line at fault if it cannot be imported."""
    try:
        return load()
    except AssayError:
        raise
    except Exception as error:  # anything can go wrong in the code of a user
        where = traceback.extract_tb(error.__traceback__)[-1]
        line = f"{where.filename}:{where.lineno}: " if not isinstance(error, SyntaxError) else ""
        name = (isinstance(error, ModuleNotFoundError) and error.name) or ""
        near = name.isidentifier() and Path(code).with_name(f"{name}.py").is_file()
        hint = f"; for the file next to it, write: from . import {name}" if near else ""
        raise UsageError(f"{code} cannot be imported: {line}{type(error).__name__}: {error}{hint}") from error


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
    for parent in (folder.parent.parent, folder.parent, folder):
        package = ModuleType(name)
        package.__path__ = [str(parent)]
        sys.modules[name] = package
        if parent != folder:
            name = f"{name}.{'suite' if parent == folder.parent.parent else 'task'}"
    return name
