"""Hashes of everything a trial runs with, so that anyone can check whether they have the same."""

import ast
import hashlib
import importlib.util
import json
import platform
from functools import cache
from pathlib import Path

import assay
from assay.agents.agent import AGENTS
from assay.core.disk import hash_file
from assay.core.errors import RecordError, UsageError
from assay.core.home import Home
from assay.core.plugins import split_path
from assay.core.untrusted import read_plain
from assay.data.store import Prepared
from assay.models.weights import hash_weights
from assay.records import TrialFile
from assay.tasks import Task

MAX_SOURCE = 10 * 2**20
"""Max bytes of a Python file of an agent."""


def hash_inputs(task: Task, data: Prepared, environment: Path, agent: str) -> dict[str, str]:
    """Return the hashes of a trial's task, data, environment and agent, and of Assay itself."""
    digests = {
        "task": hash_of_folder(task.folder),
        "data": hash_of_data(data),
        "environment": hash_of_environment(environment),
        "agent": hash_of_agent(agent),
        "code": hash_of_code(),
    }
    return {what: digest for what, digest in digests.items() if digest is not None}


def current_versions() -> dict[str, str]:
    """Return the versions of Assay, Python and the system."""
    return {"assay": assay.__version__, "python": platform.python_version(), "system": platform.platform()}


def hash_of_data(data: Prepared) -> str:
    """Return a hash of the prepared files, public and private, but not of when and where they were prepared."""
    sides = {"public": data.manifest.public, "private": data.manifest.private}
    listed = {side: {name: file.sha256 for name, file in files.items()} for side, files in sides.items()}
    return hashlib.sha256(json.dumps(listed, sort_keys=True).encode()).hexdigest()


def hash_of_environment(folder: Path) -> str | None:
    """Return a hash of the packages and versions in a lab's environment; None if it does not list them."""
    path = folder / "environment.json"
    return hash_file(path) if path.is_file() else None


def hash_of_agent(name: str) -> str | None:
    """Return a hash of an agent's code, without importing it; None if it is not on this machine.

    For `path.py:Class` that is the file and everything in its folder that it imports, for a registered agent its module
    or package. The hash is part of a trial's identity: changed code is another agent.
    """
    if file := split_path(name):
        try:
            return _hash_of_sources(file[0]) if file[0].is_file() else None
        except (OSError, ValueError, RecordError):  # it cannot be read, or cannot be a path
            return None
    entry = AGENTS.entry(name)
    spec = importlib.util.find_spec(entry.module) if entry else None
    if spec is None or spec.origin is None:
        return None
    origin = Path(spec.origin)
    return hash_of_folder(origin.parent) if spec.submodule_search_locations else hash_file(origin)


def is_outdated(file: TrialFile) -> bool:
    """Whether the agent has changed since the trial was planned, so that it can no longer be run."""
    return _find_change(file) is not None


def check_agent(file: TrialFile) -> None:
    """Raise `UsageError` if the agent has changed since the trial was planned: it would be another agent."""
    if what := _find_change(file):
        raise UsageError(
            f"{what} changed since {file.id} was planned; "
            "to run the agent as it is now, repeat the command assay run: it adds new trials"
        )


def _find_change(file: TrialFile) -> str | None:
    """Return what is no longer as planned: the agent's code, or the weights of a local model."""
    code = file.hashes.get("agent")
    if code is not None and hash_of_agent(file.agent) != code:
        return f"the code of agent {file.agent} has"
    planned, here = file.hashes.get("weights"), hash_weights(file.models, Home.default())
    if planned is not None and here is not None and here != planned:
        return f"the weights of {', '.join(sorted(set(file.models.values())))} have"
    return None


def read_agent_sources(name: str) -> dict[str, bytes]:
    """Return the Python files that `hash_of_agent` hashes, by name; nothing if the agent is not on this machine."""
    if file := split_path(name):
        return _read_sources(file[0]) if file[0].is_file() else {}
    entry = AGENTS.entry(name)
    spec = importlib.util.find_spec(entry.module) if entry else None
    if spec is None or spec.origin is None:
        return {}
    origin = Path(spec.origin)
    paths = sorted(origin.parent.rglob("*.py")) if spec.submodule_search_locations else [origin]
    return {path.relative_to(origin.parent).as_posix(): read_plain(path, MAX_SOURCE) for path in paths}


def _hash_of_sources(path: Path) -> str:
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in _read_sources(path).items()}
    return hashlib.sha256(json.dumps(sorted(digests.items())).encode()).hexdigest()


def _read_sources(path: Path) -> dict[str, bytes]:
    """Return a Python file and the files of its folder that it imports, directly or indirectly, by name."""
    folder, contents, to_read = path.absolute().parent, dict[str, bytes](), [path.absolute()]
    while to_read:
        file = to_read.pop()
        name = file.relative_to(folder).as_posix()
        if name not in contents:
            # A record may name any file; a link to it may be the user's own.
            contents[name] = read_plain(file.resolve(), MAX_SOURCE)
            to_read += _imported_files(contents[name], file, folder)
    return contents


def _imported_files(content: bytes, file: Path, folder: Path) -> list[Path]:
    """Return the files below `folder` that a file with this content imports."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []  # importing the agent says what is wrong with it
    modules: list[Path] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules += [folder.joinpath(*alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = folder if node.level == 0 else file.parents[node.level - 1]
            module = start.joinpath(*node.module.split(".")) if node.module else start
            modules += [module, *(module / alias.name for alias in node.names)]
    candidates = [path for candidate in modules for path in (candidate.with_suffix(".py"), candidate / "__init__.py")]
    return [path for path in candidates if path.is_relative_to(folder) and path.is_file()]


def hash_of_listing(folder: Path) -> str:
    """Return a hash of the names and sizes of all files below a folder, for data too large to be read each time."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    listed = [[path.relative_to(folder).as_posix(), path.stat().st_size] for path in files]
    return hashlib.sha256(json.dumps(listed).encode()).hexdigest()


@cache
def hash_of_code() -> str:
    """Return a hash of Assay's own source without the suites, whose tasks have hashes of their own."""
    source = Path(assay.__file__).parent
    return hash_of_folder(source, without=source / "suites")


def hash_of_folder(folder: Path, *, without: Path | None = None) -> str:
    """Return a hash of all files below a folder, by name and content."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    listed = [
        [path.relative_to(folder).as_posix(), hash_file(path)]
        for path in paths
        if without is None or not path.is_relative_to(without)
    ]
    return hashlib.sha256(json.dumps(listed).encode()).hexdigest()
