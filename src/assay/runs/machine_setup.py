"""What a trial needs of the machine it runs on: the prepared data and the labs' environments, found or fetched."""

import shutil
import socket
from pathlib import Path

from assay.agents import find_agent
from assay.core.disk import file_lock
from assay.core.errors import AssayError, LabError, NotPrepared
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data.store import Prepared, load_prepared, prepare
from assay.lab.environments import build_environment, find_environment
from assay.records import TrialFile
from assay.runs.hashes import hash_of_data
from assay.tasks import Task


def provision(file: TrialFile, task: Task, home: Home, source: Home | None = None) -> None:
    """See to it that this machine has what a trial needs.

    What is not in its home is copied from `source`, a home on a shared folder, or else made anew: data from where it
    comes from, environments from the package index.
    """
    data = _data(file, task, home, source)
    planned = file.hashes.get("data")
    if planned and hash_of_data(data) != planned:
        raise NotPrepared(
            f"the data of {task.id} on {socket.gethostname()} is not what the run was planned with; prepare it anew "
            f"there, or give --data-from a home on a shared folder that has it"
        )
    tools = find_agent(file.agent, file.settings).wants().tools
    for name in (task.environment, *([tools] if tools else [])):
        _environment(name, home, source)


def _data(file: TrialFile, task: Task, home: Home, source: Home | None) -> Prepared:
    try:
        return load_prepared(home, task, file.edition, file.variant)
    except NotPrepared as missing:
        try:
            return prepare(home, task, file.edition, file.variant, progress=NoProgress(), source=source)
        except (AssayError, ValueError, OSError) as error:  # a prepare.py meets data it was not written for
            told = f"it could not be {'copied from ' + str(source.root) if source else 'prepared there'} ({error})"
            ways = "prepare it there, share ASSAY_HOME, or give --data-from a home on a shared folder that has it"
            raise NotPrepared(f"{socket.gethostname()}: {missing}; {told}: {ways}") from None


def _environment(name: str, home: Home, source: Home | None) -> None:
    try:
        find_environment(home, name)
        return
    except LabError:
        if source is None:
            build_environment(home, name, NoProgress())
            return
    there = find_environment(source, name)
    with file_lock(home.locks / f"environment-{there.name}"):
        target = home.environments / there.name
        if not target.is_dir():
            _copy_whole(there, target)


def _copy_whole(source: Path, target: Path) -> None:
    unfinished = target.with_name(f".{target.name}")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.copytree(source, unfinished, symlinks=True)
    unfinished.rename(target)
