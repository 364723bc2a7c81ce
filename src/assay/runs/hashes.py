"""Hashes of everything a trial runs with, so that anyone can tell whether they have the same."""

import hashlib
import importlib.util
import json
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

import assay
from assay.core.disk import hash_file
from assay.data.store import Prepared
from assay.tasks import Task


def made_with(task: Task, data: Prepared, environment: Path, agent: str) -> dict[str, str]:
    """Return the hashes of a trial's task, data, environment and agent, and of Assay itself."""
    found = {
        "task": hash_of_folder(task.folder),
        "data": hash_of_data(data),
        "environment": hash_of_environment(environment),
        "agent": hash_of_agent(agent),
        "code": hash_of_code(),
    }
    return {what: digest for what, digest in found.items() if digest is not None}


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
    """Return a hash of an agent's source file, without importing it; None if there is no such file."""
    if ":" in name:
        path = Path(name.rpartition(":")[0])
        return hash_file(path) if path.is_file() else None
    for entry in entry_points(group="assay.agents", name=name):
        spec = importlib.util.find_spec(entry.module)
        return hash_file(Path(spec.origin)) if spec and spec.origin else None
    return None


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
