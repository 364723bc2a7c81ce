"""Finding tasks by name and loading them from their folders."""

import hashlib
import importlib.util
import json
import sys
import threading
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from pydantic import ValidationError

from assay.core.errors import UsageError
from assay.tasks.model import Suite, Task

Loaded = TypeVar("Loaded", Suite, Task)

BUILT_IN = Path(__file__).parent.parent / "suites"


class Registry:
    """The suites that ship with Assay, and those in folders a user names."""

    def __init__(self, outside: Iterable[Path] = ()) -> None:
        folders = {folder.name: folder for folder in sorted(BUILT_IN.iterdir()) if (folder / "suite.toml").is_file()}
        for folder in map(Path, outside):
            if not (folder / "suite.toml").is_file():
                raise UsageError(f"{folder} is not a suite: it has no suite.toml")
            folders[load_suite(folder).name] = folder
        self.suites: Mapping[str, tuple[Suite, Path]] = _Suites(folders)

    def tasks(self) -> Iterator[Task]:
        """Every task of every suite, in order."""
        for suite, folder in self.suites.values():
            for name in suite.tasks:
                yield load_task(folder / name, suite)

    def chosen(self, names: Iterable[str]) -> list[Task]:
        """The tasks meant by several names, each once, in the order named."""
        return list({task.id: task for name in names for task in self.select(name)}.values())

    def names(self, split: str) -> list[str]:
        """The bare task names of a suite, a split (`suite:split`, or `split` alone for `mlebench`), or a file of names.

        Nothing is loaded, so a file may name tasks that are not here.
        """
        if split in self.suites:
            return list(self.suites[split][0].tasks)
        suite, _, name = split.rpartition(":")
        found = self.suites.get(suite or "mlebench")
        if found and name in found[0].splits:
            return list(found[0].splits[name])
        if Path(split).is_file():
            lines = [line.strip() for line in Path(split).read_text().splitlines()]
            return [line.rpartition("/")[2] for line in lines if line and not line.startswith("#")]
        known = [f"{suite.name}:{name}" for suite, _ in self.suites.values() for name in suite.splits]
        raise UsageError(f"no split or file is called {split!r}; there are: {', '.join([*self.suites, *known])}")

    def task(self, name: str) -> Task:
        """The one task called `suite/task`, or `task` where that is unique."""
        found = self.select(name)
        if len(found) != 1:
            raise UsageError(f"{name} names {len(found)} tasks; one is needed here, such as {found[0].id}")
        return found[0]

    def competition(self, name: str) -> Task:
        """The task meant in a published list, which names competitions without their suite."""
        published = self.suites.get("mlebench")
        return self.task(f"mlebench/{name}" if published and name in published[0].tasks else name)

    def select(self, name: str) -> list[Task]:
        """The tasks meant by a suite, a split (`suite:split`), a task, or a path to a file that lists tasks."""
        if name in self.suites:
            suite, folder = self.suites[name]
            return [load_task(folder / task, suite) for task in suite.tasks]
        suite_name, slash, task = name.partition("/")
        if slash and suite_name in self.suites and task in self.suites[suite_name][0].tasks:
            suite, folder = self.suites[suite_name]
            return [load_task(folder / task, suite)]
        suite_name, colon, split = name.partition(":")
        if colon and suite_name in self.suites:
            suite, folder = self.suites[suite_name]
            if split not in suite.splits:
                known = ", ".join(f"{suite_name}:{known}" for known in suite.splits) or "none"
                raise UsageError(f"suite {suite_name} has no split {split!r}; it has: {known}")
            if absent := [task for task in suite.splits[split] if task not in suite.tasks]:
                raise UsageError(f"{name} has {len(absent)} tasks that this version does not bring, as {absent[0]}")
            return [load_task(folder / task, suite) for task in suite.splits[split]]
        full = {
            f"{suite.name}/{task}": (folder / task, suite)
            for suite, folder in self.suites.values()
            for task in suite.tasks
        }
        matches = [key for key in full if name in (key, key.partition("/")[2])]
        if len(matches) == 1:
            return [load_task(*full[matches[0]])]
        if matches:
            raise UsageError(f"{name} is ambiguous: say {' or '.join(matches)}")
        if Path(name).is_file():
            lines = [line.strip() for line in Path(name).read_text().splitlines()]
            return [found for line in lines if line and not line.startswith("#") for found in self.select(line)]
        from difflib import get_close_matches

        near = get_close_matches(name, [*full, *(key.partition("/")[2] for key in full), *self.suites], n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]}?" if near else "; `assay tasks` lists them"
        raise UsageError(f"no task, suite or split is called {name!r}{hint}")


class _Suites(Mapping[str, tuple[Suite, Path]]):
    """Suites by name, each read when it is first looked at: most commands are about one."""

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self._folders = folders
        self._read: dict[str, tuple[Suite, Path]] = {}

    def __getitem__(self, name: str) -> tuple[Suite, Path]:
        if name not in self._read:
            folder = self._folders[name]
            self._read[name] = (load_suite(folder), folder)
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._folders)

    def __len__(self) -> int:
        return len(self._folders)

    def __contains__(self, name: object) -> bool:
        return name in self._folders


def load_suite(folder: Path) -> Suite:
    """Read a suite from its folder."""
    return _checked(Suite, _toml(folder / "suite.toml"), folder / "suite.toml")


def load_task(folder: Path, suite: Suite) -> Task:
    """Read a task of `suite` from its folder."""
    path = folder / "task.toml"
    content = _toml(path)
    content |= {"suite": suite.name, "editions": suite.editions, "lenient": suite.lenient}
    content |= {"name": folder.name, "folder": folder}
    if "leaderboard" in content and folder.name in (humans := _humans(folder.parent / "humans.json")):
        content["leaderboard"]["percentiles"] = humans[folder.name]
    measured = folder / "measured.json"
    if measured.is_file():
        content["measured"] = json.loads(measured.read_text())
    return _checked(Task, content, path)


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
        spec = importlib.util.spec_from_file_location(f"{package}.{path.stem}", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


_loading = threading.RLock()


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


@lru_cache
def _humans(path: Path) -> dict[str, dict[str, float]]:
    """By task, the score of the human team at each percentile: too long for task files, so one file for a suite."""
    scores = json.loads(path.read_text()) if path.is_file() else {}
    return {task: {str(place): score for place, score in enumerate(row)} for task, row in scores.items()}


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except FileNotFoundError:
        raise UsageError(f"{path} is missing") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not TOML: {error}") from None


def _checked(model: type[Loaded], content: dict[str, Any], path: Path) -> Loaded:
    try:
        return model.model_validate(content)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        raise UsageError(f"{path}: {faults}") from None
