"""Provision the machine a trial runs on with its prepared data and the environments of its lab."""

import shutil
import socket
from pathlib import Path

from assay.agents import find_agent
from assay.core.disk import file_lock
from assay.core.errors import AssayError, LabError, NotPrepared
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data.store import Prepared, copy_prepared, load_prepared, prepare
from assay.lab.environments import build_environment, find_environment
from assay.records import TrialFile
from assay.runs.hashes import hash_of_data
from assay.tasks import Task


def provision(file: TrialFile, task: Task, home: Home, source: Home | None = None) -> None:
    """Make sure that this machine has the data and the environments that a trial needs.

    What is missing is copied from `source`, a home on a shared folder, or else created: data is prepared, environments
    are built from the package index.
    """
    data = _provision_data(file, task, home, source)
    planned = file.hashes.get("data")
    if planned and hash_of_data(data) != planned:
        raise NotPrepared(
            f"the data of {task.id} on {socket.gethostname()} is not what the run was planned with; prepare it again "
            f"there, or set data_from to a home on a shared folder that has it"
        )
    tools = find_agent(file.agent, file.settings).requirements().tools
    for name in (file.environment_from or task.environment_for(file.variant), *([tools] if tools else [])):
        _provision_environment(name, home, source)


def _provision_data(file: TrialFile, task: Task, home: Home, source: Home | None) -> Prepared:
    try:
        return load_prepared(home, task, file.edition, file.variant)
    except NotPrepared as missing:
        try:
            if source:
                return copy_prepared(home, source, task, file.edition, file.variant)
            return prepare(home, task, file.edition, file.variant, progress=NoProgress())
        except (AssayError, ValueError, OSError) as error:  # prepare.py may raise anything on unexpected data
            attempt = f"copy it from {source.root}" if source else "prepare it there"
            remedy = "prepare it there, share ASSAY_HOME, or set data_from to a home on a shared folder that has it"
            raise NotPrepared(f"{socket.gethostname()}: {missing}; cannot {attempt} ({error}): {remedy}") from None


def _provision_environment(name: str, home: Home, source: Home | None) -> None:
    try:
        find_environment(home, name)
        return
    except LabError:
        if source is None:
            build_environment(home, name, NoProgress())
            return
    original = find_environment(source, name)
    with file_lock(home.locks / f"environment-{original.name}"):
        target = home.environments / original.name
        if not target.is_dir():
            _copy_atomically(original, target)


def _copy_atomically(source: Path, target: Path) -> None:
    unfinished = target.with_name(f".{target.name}")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.copytree(source, unfinished, symlinks=True)
    unfinished.rename(target)
