"""Hashes of everything a trial is made with, so that anybody can tell whether they have the same."""

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
    """The hashes of a trial's task, data, environment, agent, and of Assay itself."""
    found = {
        "task": hash_of_folder(task.folder),
        "data": hash_of_data(data),
        "environment": hash_of_environment(environment),
        "agent": hash_of_agent(agent),
        "code": hash_of_code(),
    }
    return {what: digest for what, digest in found.items() if digest is not None}


def hash_of_data(data: Prepared) -> str:
    """A hash of the prepared files, public and private; not of when, where and by whom they were made."""
    sides = {"public": data.manifest.public, "private": data.manifest.private}
    listed = {side: {name: file.sha256 for name, file in files.items()} for side, files in sides.items()}
    return hashlib.sha256(json.dumps(listed, sort_keys=True).encode()).hexdigest()


def hash_of_environment(folder: Path) -> str | None:
    """A hash of which packages a lab's environment holds, in which versions; None where it does not tell."""
    path = folder / "environment.json"
    return hash_file(path) if path.is_file() else None


def hash_of_agent(name: str) -> str | None:
    """A hash of the file an agent is written in, which is not run for it; None where there is no such file."""
    if ":" in name:
        path = Path(name.rpartition(":")[0])
        return hash_file(path) if path.is_file() else None
    for entry in entry_points(group="assay.agents", name=name):
        spec = importlib.util.find_spec(entry.module)
        return hash_file(Path(spec.origin)) if spec and spec.origin else None
    return None


@cache
def hash_of_code() -> str:
    """A hash of Assay's own source; tasks are left out, each has a hash of its own."""
    source = Path(assay.__file__).parent
    return hash_of_folder(source, without=source / "tasks" / "suites")


def hash_of_folder(folder: Path, *, without: Path | None = None) -> str:
    """A hash of all files below a folder, by name and content."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    listed = [
        [path.relative_to(folder).as_posix(), hash_file(path)]
        for path in paths
        if without is None or not path.is_relative_to(without)
    ]
    return hashlib.sha256(json.dumps(listed).encode()).hexdigest()
