"""Data on this machine that a task names under `[[source.local]]`, or the user's copy of it."""

from pathlib import Path, PurePosixPath

from assay.core.disk import hash_file, hash_tree
from assay.core.disk_space import check_space, folder_size
from assay.core.errors import SourceError, UsageError
from assay.data import files
from assay.data.proof import refuse_unproven
from assay.data.publish import seal
from assay.data.raw_data import Origin, RawData, refuse_links_within
from assay.tasks import LocalData, Task


def collect_local_files(task: Task, scratch: Path, *, user_copy: Path | None, unverified: bool) -> RawData:
    """Copy the files and folders that a task names into `scratch`; checksums are checked unless `unverified`.

    They are copied because the originals must stay as they are, with their owner and permissions. `user_copy` is a
    folder to take them from instead, or a file if the task names only one.
    """
    for data in task.source.local:
        path, target = _find(task, data, user_copy), PurePosixPath(data.name)
        if not target.parts or target.is_absolute() or ".." in target.parts:
            raise UsageError(f"{task.id}: {data.name!r} under [[source.local]] leads out of the raw folder")
        if path.is_dir():
            refuse_links_within(path)
        if data.sha256 and not unverified:
            digest = hash_tree(path) if path.is_dir() else hash_file(path)
            if digest != data.sha256:
                refuse_unproven(f"{path} is not what this task was made from: SHA-256 {digest}, not {data.sha256}")
        if path.is_dir():
            check_space(scratch, folder_size(path), f"copying {path}")
            files.copy_tree(path, scratch / target)
        else:
            check_space(scratch, path.stat().st_size, f"copying {path}")
            files.copy([(path, scratch / target)])
    verified = not unverified and all(data.sha256 for data in task.source.local)
    return RawData(scratch, Origin(kind="local", verified=verified), seal(scratch))


def _find(task: Task, data: LocalData, user_copy: Path | None) -> Path:
    """Return where the data is: below the user's copy, or at the path that the task names."""
    named = task.folder / Path(data.path).expanduser()
    if user_copy is None:
        paths = [named]
    elif user_copy.is_file() and len(task.source.local) == 1:
        paths = [user_copy]
    else:
        paths = [user_copy / data.name, user_copy / named.name]
    path = next((path for path in paths if path.exists()), None)
    if path is None:
        if user_copy is None:
            raise SourceError(f"{task.id}: {named} does not exist; pass your copy with --raw")
        raise SourceError(f"{task.id}: {user_copy} contains no {data.name}")
    return path
