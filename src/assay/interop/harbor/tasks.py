"""Harbor's tasks as tasks of Assay, for `assay run harbor:PATH`: sealed, resumable, with Assay's statistics.

A task becomes a folder like those of Assay's own suites. The files that its Dockerfile copies are the starting files,
its tests are private, and the files that an agent leaves are the submission, which the tests judge in a lab of their
own. So it does not matter whether a task has its verifier share the agent's container: nothing there can reach it.
"""

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from assay.core.disk import hash_tree, random_token
from assay.core.errors import RecordError, UsageError
from assay.core.home import Home
from assay.core.text import one_line
from assay.core.trusted_folders import trust_folders
from assay.core.untrusted import find_special_file, is_plain_name, list_plain_files, parse_toml, read_plain
from assay.grading.by_running.hidden_tests import ARCHIVE, OUTSIDE
from assay.interop.harbor.dockerfile import Recipe, read_dockerfile
from assay.interop.harbor.test_script import TestScript, read_test_script
from assay.interop.harbor.verifier import RUBRIC, read_rubric
from assay.interop.importers.harbor import split_name
from assay.lab.environments import list_packages
from assay.tasks.registry import SUITES

_MAX_FILE, _MAX_FILES, _MAX_TASKS = 200 * 2**20, 5000, 5000
_SECONDS, _TEST_SECONDS = 600.0, 600.0
_MEMORY, _DISK = 2 * 10**9, 4 * 10**9
_SYSTEM = re.compile(r"bin|boot|dev|etc|lib(32|64|x32)?|opt|proc|run|sbin|sys|tmp|usr|var")
"""Folders of the root that labs have already."""
_PINNED = re.compile(r"[A-Za-z0-9][\w.\-]*(\[[\w\-.,]+\])?==[\w.+!\-]+")
_TEST_TOOLS = {"pytest": "pytest==8.4.2", "pytest-json-ctrf": "pytest-json-ctrf==0.3.5"}
_PREPARE = '''\
"""Keep the tests, which no agent sees."""

import shutil


def prepare(job):
    shutil.copytree(job.task.folder / "tests", job.private / "tests")
'''


@dataclass(frozen=True)
class HarborTask:
    """A task folder of Harbor, as far as it was understood; `obstacles` say why labs cannot run it."""

    path: Path
    suite: str
    name: str
    settings: Mapping[str, Any]
    instruction: str
    recipe: Recipe
    script: TestScript
    obstacles: tuple[str, ...]

    @property
    def id(self) -> str:
        """The name of the task in Assay."""
        return f"{self.suite}/{self.name}"

    @property
    def expects_network(self) -> bool:
        """Whether agents of Harbor would have a network, which labs never have."""
        environment = _table(self.settings, "environment")
        return (
            environment.get("network_mode", "public") != "no-network" and environment.get("allow_internet") is not False
        )


@dataclass
class Selection:
    """The tasks of a folder that can run here, the suites that they were written to, and why others cannot."""

    tasks: list[str] = field(default_factory=list)
    suites: list[Path] = field(default_factory=list)
    refused: dict[str, tuple[str, ...]] = field(default_factory=dict)
    without_network: list[str] = field(default_factory=list)


def add_tasks(path: Path, home: Home) -> Selection:
    """Write the tasks of a Harbor task folder, or of a folder of such, where they stay for runs to be resumed."""
    tasks = [read_task(folder) for folder in find_folders(path)]
    chosen = Selection(refused={task.path.name: task.obstacles for task in tasks if task.obstacles})
    by_suite: dict[str, list[HarborTask]] = {}
    for task in tasks:
        if task.id in chosen.tasks:
            chosen.refused[task.path.name] = (f"another folder has its name, {task.id}",)
        elif not task.obstacles:
            by_suite.setdefault(task.suite, []).append(task)
            chosen.tasks.append(task.id)
            if task.expects_network:
                chosen.without_network.append(task.id)
    for suite, members in by_suite.items():
        chosen.suites.append(_keep_suite(suite, members, home))
    return chosen


def find_folders(path: Path) -> list[Path]:
    """Return the task folders: the folder itself, or those in it."""
    if (path / "task.toml").is_file():
        return [path.resolve()]
    folders = sorted(file.parent.resolve() for file in path.glob("*/task.toml")) if path.is_dir() else []
    if not folders:
        raise UsageError(f"{path} is neither a task folder of Harbor nor a folder of such: it has no task.toml")
    if len(folders) > _MAX_TASKS:
        raise UsageError(f"{path} has more than {_MAX_TASKS:,} tasks")
    return folders


def read_task(path: Path) -> HarborTask:
    """Read a task folder; what is wrong with it is an obstacle."""
    obstacles = list[str]()
    settings: Mapping[str, Any] = {}
    try:
        settings = parse_toml(read_plain(path / "task.toml"))
        instruction = read_plain(path / "instruction.md").decode()
    except (FileNotFoundError, RecordError, ValueError) as error:
        instruction = ""
        obstacles.append(f"it cannot be read: {error}")
    named = str(_table(settings, "task").get("name") or path.name)
    suite, name = split_name(named, None)
    suite = suite or "harbor"
    if not (is_plain_name(suite) and is_plain_name(name)):
        obstacles.append(f"{one_line(named, 80)} cannot be the name of a task")
        suite, name = "harbor", "unnamed"
    if special := find_special_file(path):
        # A link would bring what it leads to into labs. Nothing else of the task is read.
        return HarborTask(
            path,
            suite,
            name,
            settings,
            instruction,
            Recipe(),
            read_test_script(""),
            (f"{special} is a link or a special file",),
        )
    if (rubric := read_rubric(path / "tests")) is not None:
        obstacles.append(f"it is Assay's own task; run {rubric.task} instead")
    elif suite in SUITES.names():
        suite = f"harbor-{suite}"
    recipe = _read_recipe(path / "environment", obstacles)
    script = read_test_script(_test_text(path))
    recipe.packages += script.packages
    obstacles += _check_settings(settings, has_dockerfile=(path / "environment" / "Dockerfile").is_file())
    obstacles += [*script.obstacles[:1], *_check_tests(path, settings, recipe)]
    obstacles += [
        f"{folder} is a folder of the system"
        for folder in _outside_roots(settings, recipe)
        if _SYSTEM.fullmatch(folder)
    ]
    try:
        _choose_pins(recipe, script.text)
    except UsageError as error:
        obstacles.append(str(error))
    return HarborTask(path, suite, name, settings, instruction, recipe, script, tuple(dict.fromkeys(obstacles)))


def _read_recipe(folder: Path, obstacles: list[str]) -> Recipe:
    for name in ("docker-compose.yaml", "docker-compose.yml"):
        if (folder / name).exists():
            obstacles.append(f"environment/{name} needs containers")
    file = folder / "Dockerfile"
    if not file.exists():
        return Recipe(folder="/workspace")
    try:
        recipe = read_dockerfile(read_plain(file).decode())
    except (RecordError, ValueError) as error:
        obstacles.append(f"it cannot be read: {error}")
        return Recipe()
    obstacles += recipe.obstacles
    if recipe.folder == "/":
        recipe.folder = "/workspace"
    for source, _ in recipe.copies:
        if not any(True for _ in _find_sources(folder, source)):
            obstacles.append(f"environment/Dockerfile copies {one_line(source, 80)}, which is not in environment/")
    return recipe


def _check_settings(settings: Mapping[str, Any], *, has_dockerfile: bool) -> Iterator[str]:
    """Yield what the settings of a task need that a lab has not; an image is built from the Dockerfile beside it."""
    environment, verifier = _table(settings, "environment"), _table(settings, "verifier")
    if (image := environment.get("docker_image")) and not has_dockerfile:
        yield f"it needs the image {one_line(str(image), 80)}"
    if settings.get("steps"):
        yield "it has several steps"
    if environment.get("mcp_servers"):
        yield "it needs MCP servers"
    if str(environment.get("os", "linux")) != "linux":
        yield f"it needs the system {one_line(str(environment['os']), 40)}"
    if environment.get("healthcheck"):
        yield "it waits for a service to start"
    for values in (_table(environment, "env"), _table(verifier, "env")):
        for value in values.values():
            if "${" in str(value):
                yield f"it needs {one_line(str(value), 60)} of this machine"


def _check_tests(path: Path, settings: Mapping[str, Any], recipe: Recipe) -> Iterator[str]:
    """Yield what the tests need that a lab has not."""
    tests = path / "tests"
    if not (tests / "test.sh").is_file():
        yield "it has no tests/test.sh"
        return
    if (tests / "Dockerfile").is_file() and _is_separate(settings):
        own = read_dockerfile(read_plain(tests / "Dockerfile").decode())
        yield from (obstacle.replace("environment/", "tests/", 1) for obstacle in own.obstacles)
        recipe.packages += own.packages
    for artifact in _list_artifacts(settings):
        if _inside(artifact, _root(recipe)) is None:
            yield f"its artifact {one_line(artifact, 80)} is outside of the folders that labs keep"


def _keep_suite(suite: str, tasks: Sequence[HarborTask], home: Home) -> Path:
    """Write a suite under a name that follows from its content, unless it is there."""
    unfinished = home.converted / f".{random_token()}"
    try:
        for task in tasks:
            _write_task(unfinished / suite / task.name, task)
        names = json.dumps([task.name for task in tasks])
        lines = ['format = "suite/1"', f"name = {json.dumps(suite)}", f'title = "Tasks of {suite}, from Harbor."']
        lines += ['editions = ["v1"]', f"tasks = {names}", ""]
        (unfinished / suite / "suite.toml").write_text("\n".join(lines))
        kept = home.converted / hash_tree(unfinished)[:24]
        if not kept.exists():
            unfinished.rename(kept)
        trust_folders([kept])  # the only code in it that runs outside of labs is the one above
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return kept / suite


def _write_task(folder: Path, task: HarborTask) -> None:
    folder.mkdir(parents=True)
    pins = _choose_pins(task.recipe, task.script.text)
    starter, executables = _starting_files(task)
    files = {
        "description.md": task.instruction.encode(),
        "prepare.py": _PREPARE.encode(),
        "requirements.txt": "".join(f"{pin}\n" for pin in pins).encode(),
        **{f"starter/{path}": content for path, content in starter.items()},
        **{f"tests/{path}": content for path, (content, _) in _read_tree(task.path / "tests").items()},
        "tests/test.sh": task.script.text.encode(),
    }
    files["task.toml"] = _task_toml(task, folder.name, executables).encode()
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _starting_files(task: HarborTask) -> tuple[dict[str, bytes], list[str]]:
    """Return the files of the workspace by path, and which of them are programs."""
    root, context = _root(task.recipe), task.path / "environment"
    files, executables = {f"{OUTSIDE}/logs/artifacts/.keep": b""}, list[str]()
    for folder in (task.recipe.folder, *task.recipe.folders):
        if (inside := _inside(folder, root)) not in (None, ""):
            files[f"{inside}/.keep"] = b""
    for source, target in task.recipe.copies:
        for path in _find_sources(context, source):
            tree = _read_tree(path) if path.is_dir() else {path.name: (_read(path), _is_program(path))}
            for name, (content, program) in tree.items():
                as_folder = path.is_dir() or target.endswith("/")
                inside = _inside(f"{target.rstrip('/')}/{name}" if as_folder else target, root)
                assert inside is not None  # else it was refused
                files[inside] = content
                executables += [inside] if program else []
    marked = [inside for path in task.recipe.programs if (inside := _inside(path, root))]
    executables += [name for name in files if any(fnmatchcase(name, pattern) for pattern in marked)]
    return files, sorted(set(executables))


def _task_toml(task: HarborTask, name: str, executables: Sequence[str]) -> str:
    environment, verifier = _table(task.settings, "environment"), _table(task.settings, "verifier")
    root = _root(task.recipe)
    outside = sorted({top for top in _outside_roots(task.settings, task.recipe) if f"/{top}" != root} | {"logs"})
    links = {} if root == "/workspace" else {root: "."}
    links |= {f"/{top}": f"{OUTSIDE}/{top}" for top in outside}
    paths = [inside for path in _list_artifacts(task.settings) if (inside := _inside(path, root))]
    about = _table(task.settings, "metadata").get("description") or _table(task.settings, "task").get("description")
    disk = _size(environment, "storage", _DISK)
    tables: dict[str, Mapping[str, object]] = {
        "source": {"about": "A task of Harbor.", "license": "see the dataset that it comes from"},
        "submission": {
            "form": "workspace", "file": ARCHIVE, "max_size": disk,
            "judge_time": _seconds(verifier, _TEST_SECONDS),
            **({"paths": paths} if _is_separate(task.settings) else {}),
        },
        "metric": {"name": "reward", "direction": "higher"},
        "budget": {"time": _seconds(_table(task.settings, "agent"), _SECONDS)},
        "resources": {
            "cores": max(1, int(environment.get("cpus") or 1)),
            "memory": _size(environment, "memory", _MEMORY),
            "disk": disk,
            "gpus": int(environment.get("gpus") or 0),
        },
        "layout": {"folder": task.recipe.folder, "executables": list(executables)},
        "layout.links": links,
        "layout.variables": {**task.recipe.variables, **_texts(_table(environment, "env"))},
        "layout.test_variables": {**task.recipe.variables, **_texts(_table(verifier, "env"))},
    }  # fmt: skip
    top = {
        "format": "task/1", "title": name, "summary": one_line(str(about or name), 200), "kind": "workspace",
        "judged": "tests", "environment": "requirements.txt",
    }  # fmt: skip
    lines = [f"{_value(key)} = {_value(value)}" for key, value in top.items()]
    for table, values in tables.items():
        lines += ["", f"[{table}]", *(f"{_value(key)} = {_value(value)}" for key, value in values.items())]
    return "\n".join([*lines, ""])


def _value(value: object) -> str:
    """Return a value, or a key in quotes, as TOML, which reads the strings, numbers and lists of JSON."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _choose_pins(recipe: Recipe, tests: str) -> tuple[str, ...]:
    """Return exact pins of the packages: those named, or the versions that Assay's own labs have."""
    bundled = {
        re.split(r"[\[=]", pin)[0].lower(): pin for name in ("full-cpu", "core") for pin in list_packages(name)[0]
    }
    chosen = {package.partition("==")[0]: package for package in recipe.packages if _PINNED.fullmatch(package)}
    for package in recipe.packages:
        if package.partition("==")[0] in chosen:
            continue
        pin = (bundled | _TEST_TOOLS).get(package.lower().replace("_", "-"))
        if pin is None:
            raise UsageError(f"the Python package {one_line(package, 80)} has no exact version (name==version)")
        chosen[package] = pin
    for tool, pin in _TEST_TOOLS.items():
        if re.search(rf"\b{tool}\b", tests) and not any(name.lower() == tool for name in chosen):
            chosen[tool] = pin
    return tuple(sorted(chosen.values()))


def _find_sources(context: Path, source: str) -> Iterator[Path]:
    """Yield what a path of a Dockerfile stands for in its folder."""
    parts = PurePosixPath(source.lstrip("/") or ".")
    if ".." in parts.parts:
        return
    matches = sorted(context.glob(str(parts))) if "*" in source else [context / parts]
    yield from (path for path in matches if path.exists() and path.name not in ("Dockerfile", RUBRIC))


def _read_tree(folder: Path) -> dict[str, tuple[bytes, bool]]:
    """Return the files below a folder by path: content, and whether they are programs. Links are not followed."""
    paths = [path for path in list_plain_files(folder) if "__pycache__" not in path.parts]
    if len(paths) > _MAX_FILES:
        raise UsageError(f"{folder} has more than {_MAX_FILES:,} files")
    return {path.relative_to(folder).as_posix(): (_read(path), _is_program(path)) for path in paths}


def _read(path: Path) -> bytes:
    return read_plain(path, _MAX_FILE)


def _is_program(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o100)


def _test_text(path: Path) -> str:
    try:
        return read_plain(path / "tests" / "test.sh").decode(errors="replace")
    except (FileNotFoundError, RecordError):
        return ""


def _root(recipe: Recipe) -> str:
    """Return the folder that is the workspace: the first part of the working folder."""
    return "/" + recipe.folder.lstrip("/").partition("/")[0]


def _inside(path: str, root: str) -> str | None:
    """Return a path of the task relative to the workspace; None if labs do not keep it."""
    absolute = PurePosixPath("/", *(part for part in PurePosixPath(path).parts if part not in ("/", "..")))
    top = absolute.parts[1] if len(absolute.parts) > 1 else ""
    if absolute.is_relative_to(root):
        return str(absolute.relative_to(root)).removeprefix(".").removeprefix("/")
    return None if not top or _SYSTEM.fullmatch(top) else f"{OUTSIDE}/{absolute.relative_to('/')}"


def _outside_roots(settings: Mapping[str, Any], recipe: Recipe) -> list[str]:
    """Return the folders of the root that the task uses."""
    paths = [target for _, target in recipe.copies]
    paths += [recipe.folder, *recipe.folders, *_list_artifacts(settings)]
    return list(dict.fromkeys(path.lstrip("/").partition("/")[0] for path in paths if path.strip("/")))


def _list_artifacts(settings: Mapping[str, Any]) -> list[str]:
    declared = settings.get("artifacts") or ()
    paths = [item.get("source") if isinstance(item, dict) else item for item in declared]
    return [str(path) for path in paths if path]


def _is_separate(settings: Mapping[str, Any]) -> bool:
    return _table(settings, "verifier").get("environment_mode") == "separate"


def _table(settings: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = settings.get(name)
    return value if isinstance(value, dict) else {}


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {str(name): str(value) for name, value in values.items()}


def _seconds(table: Mapping[str, Any], default: float) -> float:
    value = table.get("timeout_sec")
    return float(value) if isinstance(value, int | float) and value > 0 else default


def _size(table: Mapping[str, Any], name: str, default: int) -> int:
    """Return a size in bytes: `memory_mb = 2048`, or `memory = "2G"` in older tasks."""
    megabytes, text = table.get(f"{name}_mb"), str(table.get(name) or "")
    if isinstance(megabytes, int) and megabytes > 0:
        return megabytes * 2**20
    written = re.fullmatch(r"(\d+)\s*([KMGT])i?B?", text, re.IGNORECASE)
    return int(written[1]) * 2 ** {"K": 10, "M": 20, "G": 30, "T": 40}[written[2].upper()] if written else default
