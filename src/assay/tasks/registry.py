"""Find tasks by name and load them from their folders."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pydantic import ValidationError

from assay.core.errors import RecordError, UsageError
from assay.core.home import find_user_config
from assay.core.plugins import Plugins
from assay.core.text import describe_validation_error, did_you_mean, quote, suggest
from assay.core.untrusted import parse_toml, read_plain, read_toml, read_toml_file
from assay.tasks.facts import FILE
from assay.tasks.model import MEASURED_FILES, Suite, Task
from assay.tasks.rules import EditionRules, merge_rules

Loaded = TypeVar("Loaded", Suite, Task)

_MAX_LIST = 10**6
"""Max bytes of a list of tasks."""

SUITES = Plugins[object]("suites", "suite")


class Registry:
    """The suites of Assay, of other installed packages and of the user, and those in folders that somebody names.

    The user's are in the folder `suites` of the configuration. A suite that the user names may replace another of the
    same name; with `replace=False`, one that a record names may not. `skipped` says which suites of the configuration
    cannot be used: folder -> reason. They are an error only where they are asked for.
    """

    def __init__(self, outside: Iterable[Path] = (), *, replace: bool = True) -> None:
        folders: dict[str, Path | None] = dict.fromkeys(SUITES.names())
        if not folders:
            raise SUITES.unknown("")
        self.skipped: dict[str, str] = {}
        for file in sorted((find_user_config().parent / "suites").glob("*/suite.toml")):
            try:
                if (name := load_suite(file.parent).name) in folders:
                    raise UsageError(f"{file}: there is a suite {name} already; choose another name for this one")
                folders[name] = file.parent
            except (UsageError, OSError) as error:
                self.skipped[file.parent.name] = str(error)
        for folder in map(Path, outside):
            if not (folder / "suite.toml").is_file():
                raise UsageError(f"{folder} is not a suite: it has no suite.toml")
            name = load_suite(folder).name
            folders[name] = folder if replace or name not in folders else folders[name]
        self.suites: Mapping[str, tuple[Suite, Path]] = _Suites(folders)

    def tasks(self) -> Iterator[Task]:
        """Yield every task of every suite, in order."""
        for suite, folder in self.suites.values():
            for name in suite.tasks:
                yield load_task(folder / name, suite)

    def select_all(self, names: Iterable[str]) -> list[Task]:
        """Return the tasks that several names stand for, each once, in the order named."""
        return list({task.id: task for name in names for task in self.select(name)}.values())

    def names(self, split: str) -> list[str]:
        """Return the bare task names of a suite, a split (`suite:split`), or a file of names.

        A split without a suite is one of a suite with bare names. No task is loaded, so a file may name tasks that do
        not exist here.
        """
        self._refuse_skipped(split)
        if split in self.suites:
            return list(self.suites[split][0].tasks)
        suite_name, _, name = split.rpartition(":")
        for suite, _ in self.suites.values():
            if (suite.name == suite_name or (not suite_name and suite.bare_names)) and name in suite.splits:
                return list(suite.splits[name])
        if Path(split).is_file():
            return [line.rpartition("/")[2] for line in _read_names(Path(split))]
        known = [f"{suite.name}:{name}" for suite, _ in self.suites.values() for name in suite.splits]
        raise UsageError(f"no split or file is named {split!r}; available: {', '.join([*self.suites, *known])}")

    def split_of_each(self, names: Iterable[str]) -> dict[str, str]:
        """Return the smallest split that each task, with or without its suite's name, belongs to; some have none."""
        splits: dict[str, str] = {}
        for suite, _ in self.suites.values():
            for split, tasks in sorted(suite.splits.items(), key=lambda item: -len(item[1])):
                for task in tasks:
                    splits[task] = splits[f"{suite.name}/{task}"] = split
        return {name: splits[name] for name in names if name in splits}

    def family_of_each(self, names: Iterable[str]) -> dict[str, str]:
        """Return the family of each task that has siblings, with or without its suite's name."""
        families: dict[str, str] = {}
        for suite, _ in self.suites.values():
            for family, tasks in suite.families.items():
                for task in tasks:
                    families[task] = families[f"{suite.name}/{task}"] = family
        return {name: families[name] for name in names if name in families}

    def task(self, name: str) -> Task:
        """Return the one task named `suite/task`, or `task` if that is unique."""
        tasks = self.select(name)
        if len(tasks) != 1:
            raise UsageError(f"{name} stands for {len(tasks)} tasks; name one, such as {tasks[0].id}")
        return tasks[0]

    def recorded_task(self, name: str) -> Task:
        """Return the task that a record names `suite/task`, never interpreted as anything else, such as a file."""
        self._refuse_skipped(name)
        suite_name, _, task = name.partition("/")
        if suite_name not in self.suites or task not in self.suites[suite_name][0].tasks:
            raise UsageError(f"no task is named {quote(name, 100)}; if it is one of your own, pass --tasks DIR")
        suite, folder = self.suites[suite_name]
        return load_task(folder / task, suite)

    def competition(self, name: str) -> Task:
        """Return the task for a name in a published list, which names competitions without their suite."""
        suites = (suite for suite, _ in self.suites.values() if suite.bare_names and name in suite.tasks)
        published = next(suites, None)
        return self.task(f"{published.name}/{name}" if published else name)

    def select(self, name: str, *, lists: bool = True) -> list[Task]:
        """Return the tasks of a suite, a split (`suite:split`), a task, or with `lists` a file that lists these."""
        self._refuse_skipped(name)
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
                raise UsageError(f"{len(absent)} tasks of {name} are not available in this version (e.g. {absent[0]})")
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
            raise UsageError(f"{name} is ambiguous; use {' or '.join(matches)}")
        if lists and Path(name).is_file():
            return [task for line in _read_names(Path(name)) for task in self.select(line, lists=False)]
        near = suggest(name, [*full, *(key.partition("/")[2] for key in full), *self.suites], min_similarity=0.5)
        hint = f"did you mean {near}?" if near else "`assay tasks` lists them"
        raise UsageError(f"no task, suite or split is named {name!r}; {hint}")

    def _refuse_skipped(self, name: str) -> None:
        suite = name.replace(":", "/").partition("/")[0]
        if suite in self.skipped and suite not in self.suites:
            raise UsageError(self.skipped[suite])


class PlannedTrial(Protocol):
    """What a trial's plan says about its task."""

    @property
    def task(self) -> str: ...

    @property
    def edition(self) -> str: ...

    @property
    def tasks_folder(self) -> str | None: ...


def task_of(trial: PlannedTrial) -> Task:
    """Return the task of a trial, with the rules of its edition."""
    folders = [Path(trial.tasks_folder)] if trial.tasks_folder else []
    return Registry(folders).recorded_task(trial.task).in_edition(trial.edition)


class _Suites(Mapping[str, tuple[Suite, Path]]):
    """Suites by name, each read when it is first needed: most commands use only one."""

    def __init__(self, folders: Mapping[str, Path | None]) -> None:
        self._folders = folders  # None for those of installed packages
        self._read: dict[str, tuple[Suite, Path]] = {}

    def __getitem__(self, name: str) -> tuple[Suite, Path]:
        if name not in self._read:
            folder = self._folders[name] or _find_installed(name)
            self._read[name] = (load_suite(folder), folder)
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._folders)

    def __len__(self) -> int:
        return len(self._folders)

    def __contains__(self, name: object) -> bool:
        return name in self._folders


def _find_installed(name: str) -> Path:
    """Return the folder of a registered suite, which is a package with a `suite.toml`; none of its code is run."""
    entry = SUITES.entry(name)
    spec = find_spec(entry.module) if entry else None
    folders = [Path(folder) for folder in (spec and spec.submodule_search_locations) or ()]
    if not (folders and (folders[0] / "suite.toml").is_file()):
        raise UsageError(f"suite {name}: {entry.value if entry else name} is no package with a suite.toml")
    return folders[0]


def load_suite(folder: Path) -> Suite:
    """Read a suite from its folder."""
    path = folder / "suite.toml"
    with _explain(path):
        content = read_toml_file(path)
    return _parse_suite(path, content)


@lru_cache(maxsize=64)
def _parse_suite(path: Path, content: bytes) -> Suite:
    """Parse a suite; cached, because most commands read all suites, some of them often."""
    with _explain(path):
        parsed = parse_toml(content)
    return _validate(Suite, parsed, path)


def load_task(folder: Path, suite: Suite) -> Task:
    """Read a task of `suite` from its folder; values it does not set come from the suite's defaults."""
    path = folder / "task.toml"
    if not folder.exists():
        raise UsageError(
            f"{path} is missing; restore it, or remove {folder.name!r} from {folder.parent / 'suite.toml'}"
        )
    content = _read_toml(path)
    _apply_defaults(content, suite)
    quirks = _resolve_quirks(content, suite, path)
    content |= {"suite": suite.name, "editions": suite.editions, "lenient": suite.lenient}
    content |= {"name": folder.name, "folder": folder, "success_as_published": suite.success_as_published}
    if "leaderboard" in content and (facts := folder / FILE).is_file():
        scores = json.loads(facts.read_bytes()).get("percentiles", ())
        content["leaderboard"]["percentiles"] = {str(percentile): score for percentile, score in enumerate(scores)}
    for key, name in MEASURED_FILES.items():
        if (path_of_figures := folder / name).is_file():
            content[key] = json.loads(path_of_figures.read_text("utf-8"))
    task = _validate(Task, content, path)
    for edition in task.rules:
        unexplained = [rule for rule in find_overrides(task, edition) if rule not in quirks[edition]]
        if unexplained:
            raise UsageError(
                f"{path}: rules.{edition} overrides {', '.join(unexplained)} without naming a quirk that explains it; "
                f"add one to `quirks` of rules.{edition}, from [quirks] of {folder.parent / 'suite.toml'}"
            )
    return task


def find_overrides(task: Task, edition: str) -> list[str]:
    """Return the rules in which an edition departs from the task's own, such as `submission.more_columns`."""
    rules = task.rules.get(edition, EditionRules())
    submission = task.submission.model_dump(exclude_unset=True)
    metric = task.metric.as_written()
    changes = _find_changes("submission", submission, merge_rules(submission, rules.submission))
    merged = merge_rules(metric, rules.metric)
    changes += _find_changes("metric.params", metric.pop("params", {}), merged.pop("params", {}))
    changes += _find_changes("metric", metric, merged)
    reads_as_published = edition in task.lenient and (task.folder / "published.py").is_file()
    return [*changes, "published.py"] if reads_as_published else changes


def _find_changes(prefix: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return [f"{prefix}.{key}" for key, value in after.items() if key not in before or before[key] != value]


def _apply_defaults(content: dict[str, Any], suite: Suite) -> None:
    defaults = suite.defaults.model_dump(exclude_unset=True)
    license = defaults.pop("license", None)
    if license is not None and isinstance(source := content.get("source"), dict):
        source.setdefault("license", license)
    for key, value in defaults.items():
        own = content.get(key, {} if isinstance(value, dict) else None)
        content[key] = {**value, **own} if isinstance(value, dict) and isinstance(own, dict) else own or value


def _resolve_quirks(content: dict[str, Any], suite: Suite, path: Path) -> dict[str, set[str]]:
    """Replace the names of quirks by names with texts; return the rules that each edition's quirks explain."""
    explained: dict[str, set[str]] = {}
    for edition, rules in content.get("rules", {}).items():
        names = rules.get("quirks", [])
        if not isinstance(names, list):
            raise UsageError(f"{path}: rules.{edition}.quirks: a list of names from [quirks] of suite.toml is needed")
        if unknown := next((name for name in names if name not in suite.quirks), None):
            hint = did_you_mean(str(unknown), suite.quirks) if suite.quirks else "its [quirks] are empty"
            raise UsageError(f"{path}: rules.{edition}.quirks: suite.toml has no quirk {unknown!r}; {hint}")
        rules["quirks"] = {name: suite.quirks[name].text for name in names}
        explained[edition] = {rule for name in names for rule in suite.quirks[name].rules}
    return explained


def _read_names(path: Path) -> list[str]:
    """Return the task names in a file, one per line; lines that start with `#` are comments."""
    try:
        # A plan may name any file; a link to it may be the user's own.
        lines = [line.strip() for line in read_plain(path.resolve(), _MAX_LIST).decode().splitlines()]
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not a list of tasks: it is not UTF-8 text") from None
    except (RecordError, OSError) as error:
        raise UsageError(f"{path} is not a list of tasks: {error}") from None
    names = [line for line in lines if line and not line.startswith("#")]
    if not names:
        raise UsageError(f"{path} is not a list of tasks: it names none")
    return names


def _read_toml(path: Path) -> dict[str, Any]:
    with _explain(path):
        return read_toml(path)


@contextmanager
def _explain(path: Path) -> Iterator[None]:
    """Turn what can be wrong with a TOML file into a `UsageError`."""
    try:
        yield
    except FileNotFoundError:
        raise UsageError(f"{path} is missing") from None
    except ValueError as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from None


def _validate(model: type[Loaded], content: dict[str, Any], path: Path) -> Loaded:
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise UsageError(f"{path}: {describe_validation_error(error)}") from None
