"""Whether raw data is what the published benchmark was made from, and what happens if nothing proves it.

Raw data is proven by checksums of its own, of an archive or of every file, or later by those of the files prepared from
it. What nothing proves is refused as `real` and accepted as `unverified`, which marks all results.
"""

import hashlib
from pathlib import Path
from typing import NoReturn

from assay.core.errors import SourceError
from assay.data.raw_data import RawData
from assay.tasks import Task
from assay.tasks.model import is_miniature

_LARGE = 2**24  # bytes


def default_variant(task: Task, user_copy: Path | None) -> str:
    """Return the variant to prepare if none is named: data that no checksum could prove is unverified."""
    source = task.source
    if source.local:
        return "real" if all(data.sha256 for data in source.local) else "unverified"
    has_source = bool(source.plugin or source.kaggle or source.files or is_packaged(task))
    return "unverified" if user_copy is not None and not has_source else "real"


def is_packaged(task: Task) -> bool:
    """Whether packages hold the data: they are then its real data, and other sources make the unverified variant."""
    source = task.source
    return bool(source.packages or source.npm or source.installed)


def refuse_unproven(reason: str) -> NoReturn:
    """Raise `SourceError` for data that is not what a task was made from, or not known to be."""
    raise SourceError(f"{reason}; --unverified accepts it and marks all results")


def check_proof(task: Task, edition: str, variant: str, raw: RawData) -> None:
    """Refuse raw data as `real` unless its own checksums prove it, or those of the prepared files will.

    Only the default edition has published files; data for another edition must come from a verified archive.
    """
    if variant != "real" or raw.proof == "checksum":
        return
    if not task.data.checksums:
        if raw.origin.kind in ("local", "user"):
            refuse_unproven(f"{task.id}: no checksum proves that this raw data is the published one")
    elif edition != task.edition:
        raise SourceError(
            f"{task.id}: a folder cannot be verified for edition {edition}; "
            "pass the archive with --raw, or accept the folder with --unverified"
        )


def compare_prepared(task: Task, edition: str, variant: str, public: Path, private: Path) -> dict[str, str]:
    """Return the MD5 of each prepared file that is not the published one; raise if there is one in `real` data.

    Small files are compared first. Once one differs, the raw data is another version, and large files tell no more.
    """
    if is_miniature(variant) or edition != task.edition:
        return {}
    folders = {"public": public, "private": private}
    paths = {name: folders[Path(name).parts[0]].joinpath(*Path(name).parts[1:]) for name in task.data.checksums}
    sizes = {name: path.stat().st_size if path.is_file() else 0 for name, path in paths.items()}
    differs: dict[str, str] = {}
    compared = 0
    for name in sorted(paths, key=sizes.__getitem__):
        if differs and sizes[name] > _LARGE:
            break
        compared += 1
        if (md5 := _md5_of(paths[name])) != task.data.checksums[name]:
            differs[name] = md5
    if differs and variant == "real":
        lines = (f"\n  {name}: {md5}, published {task.data.checksums[name]}" for name, md5 in differs.items())
        refuse_unproven(
            f"{task.id}: {len(differs)} of {compared} prepared files differ from the published ones (MD5):"
            f"{''.join(lines)}\nThe raw data is another version"
        )
    return differs


def _md5_of(path: Path) -> str:
    if not path.is_file():
        return "missing"
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
