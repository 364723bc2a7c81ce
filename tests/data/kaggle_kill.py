"""Extracts an archive again and again, killed before its first, second, … act on files, and looks at what is left.

A program of its own, because it forks: `kaggle_kill.py HOME ARCHIVE`. An audit hook stops the process as dead as a
power cut would.
"""

import hashlib
import itertools
import os
import signal
import sys
import zipfile
from pathlib import Path

from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data.raw_data import RawData
from assay.data.sources import kaggle
from assay.tasks import Kaggle

ACTS = ("open", "os.", "shutil.", "fcntl.")


def main(home: Home, archive: Path) -> None:
    source = Kaggle(competition="toy", md5=hashlib.md5(archive.read_bytes()).hexdigest())

    def get() -> RawData:
        return kaggle.fetch(home, source, user_copy=archive, unverified=False, progress=NoProgress())

    with zipfile.ZipFile(archive) as content:
        expected = {name: content.read(name) for name in content.namelist() if not name.endswith("/")}
    folder = home.downloads / "kaggle/toy"
    for number in itertools.count(1):
        finished = in_child(get, number)
        if (folder / "raw.json").is_file():
            assert files_in(folder / "raw") == expected, "called whole, and is not"
        if finished:
            break
        if number % 2:  # after every other kill; in between, a kill meets what the last one left
            get()
            assert files_in(folder / "raw") == expected, "not whole after another attempt"
            (folder / "raw.json").unlink()
    assert sorted(path.name for path in folder.iterdir()) == ["raw", "raw.json"]
    print(f"killed {number - 1} times")


def in_child(work: object, kill_at: int) -> bool:
    """Do the work in a child; False if it was killed."""
    child = os.fork()
    if child == 0:
        acts = itertools.count(1)

        def hook(event: str, arguments: object) -> None:
            if event.startswith(ACTS) and next(acts) == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        work()  # type: ignore[operator]
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the work failed"
    return not os.WIFSIGNALED(status)


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


if __name__ == "__main__":
    main(Home(Path(sys.argv[1])), Path(sys.argv[2]))
