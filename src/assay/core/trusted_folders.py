"""Folders with code that the user allowed to run on this machine: a path a line in `trusted`, beside `config.toml`.

A suite that is named with `--tasks` may be a stranger's. Its tables, texts and rules are data; its Python files run on
the machine itself when a task is prepared, graded or audited.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from assay.core.errors import RecordError
from assay.core.home import find_user_config
from assay.core.untrusted import read_plain


def find_untrusted(folders: Iterable[Path]) -> list[Path]:
    """Return the folders with code that are neither trusted, nor in a trusted one, nor in the user's own suites."""
    suites = find_user_config().parent.resolve() / "suites"
    trusted = [suites, *_read()]
    resolved = dict.fromkeys(folder.resolve() for folder in folders)
    return [
        folder
        for folder in resolved
        if not any(folder.is_relative_to(known) for known in trusted) and _may_have_code(folder)
    ]


def trust_folders(folders: Iterable[Path]) -> None:
    """Remember that the code in these folders may run; where that cannot be written, it is asked again."""
    path, known = _path(), _read()
    new = [folder for folder in (folder.resolve() for folder in folders) if folder not in known]
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            # A line break on both sides: a line that a full disk has cut stays the only damaged one.
            os.write(handle, "".join(f"\n{folder}\n" for folder in new if str(folder).isprintable()).encode())
        finally:
            os.close(handle)


def _may_have_code(folder: Path) -> bool:
    """Whether there is a Python file, or a link, which may lead to some."""
    for parent, folders, files in os.walk(folder):
        if any(name.endswith(".py") for name in files):
            return True
        if any(Path(parent, name).is_symlink() for name in (*folders, *files)):
            return True
    return False


def _read() -> list[Path]:
    try:
        lines = read_plain(_path()).decode(errors="replace").splitlines()
    except (OSError, RecordError):  # what cannot be read allows nothing
        return []
    return [Path(line) for line in lines if line.startswith("/")]


def _path() -> Path:
    return find_user_config().parent / "trusted"
