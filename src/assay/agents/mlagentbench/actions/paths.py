"""Paths as agents write them, made plain: below the workspace, and nowhere else."""

import posixpath

from assay.agents.observation import ActionFailed

WORKSPACE = "/workspace"
DATA = "data"


def plain(path: str) -> str:
    """A path relative to the workspace, without dots; `ActionFailed` if it leads out or is no path at all."""
    written = path.strip()
    if not written or "\0" in written:
        raise ActionFailed("refused", f"{path!r} is not a path.")
    inside = posixpath.normpath(posixpath.join(WORKSPACE, written))
    if inside != WORKSPACE and not inside.startswith(f"{WORKSPACE}/"):
        raise ActionFailed("refused", f"{path!r} is outside of the workspace; paths are relative to the workspace.")
    return posixpath.relpath(inside, WORKSPACE)


def writable(path: str) -> str:
    """As `plain`, for a file that is to be written: the data is read-only."""
    inside = plain(path)
    if is_data(inside):
        raise ActionFailed("refused", f"{path!r} is in the data folder, which is read-only; write somewhere else.")
    if inside == ".":
        raise ActionFailed("refused", f"{path!r} is the workspace itself, not a file.")
    return inside


def is_data(path: str) -> bool:
    """Whether a plain path is in the data folder."""
    return path.split("/")[0] == DATA


def argument(path: str) -> str:
    """A plain path as a word of a command, which must not look like an option."""
    return f"./{path}"
