"""The recipe of prepared data: hashes of everything that decides its bytes.

It covers the task's source, the parts of `task.toml` that `prepare.py` may read, the files of the task folder (starter
code only where it is the reference for speed; of the folders of editions, that edition's alone), the shared modules
that the task imports from its suite, and the version of each building block it uses. When any of these changes,
prepared data is stale and has to be prepared again.
"""

import ast
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import Field

from assay.core.errors import UsageError
from assay.core.quantities import Model, Sha256
from assay.tasks import Task
from assay.tasks.model import is_miniature

VERSIONS = {
    "assay.data.archives": 1,
    "assay.data.csv_cells": 1,
    "assay.data.csv_rows": 1,
    "assay.data.files": 1,
    "assay.data.miniature": 1,
    "assay.data.own_tables": 1,
    "assay.data.pandas_tables": 1,
    "assay.data.polars_tables": 1,
    "assay.data.splits": 1,
    "assay.formats": 1,
    "assay.formats.boxes": 1,
    "assay.formats.bson": 1,
    "assay.formats.coco": 1,
    "assay.formats.json_lines": 1,
    "assay.formats.json_list": 1,
    "assay.formats.masks": 1,
    "assay.formats.mat": 1,
    "assay.formats.npy": 1,
    "assay.formats.png": 1,
    "assay.formats.seven_zip": 1,
    "assay.formats.tar": 1,
    "assay.formats.texts": 1,
    "assay.formats.tfrecord": 1,
    "assay.formats.zip_writer": 1,
}
"""Building blocks. Increase a version when the bytes a block writes, or the rows it selects, change.

Versions are set by hand because a hash of the code would make all prepared data stale with every reworded comment. A
test pins each block's output together with its version.
"""

USES = {
    "assay.data.archives": ("assay.formats.zip_writer",),
    "assay.data.csv_rows": ("assay.data.csv_cells",),
    "assay.data.miniature": ("assay.data.archives",),
    "assay.data.own_tables": ("assay.data.files", "assay.data.splits"),
    "assay.data.pandas_tables": ("assay.data.archives", "assay.data.csv_rows", "assay.data.splits"),
    "assay.data.polars_tables": ("assay.data.splits",),
    "assay.formats": ("assay.formats.boxes", "assay.formats.masks", "assay.formats.texts"),
}
"""The blocks that a block calls."""

_NOT_USED = {
    "description.md",
    "obfuscated.md",
    "task.toml",
    "metric.py",
    "facts.json",
    "measured.json",
    "measured-miniature.json",
    "raw",
    "panel.py",
    "cheat",
    "integrity.py",
    "solutions",
    "published.py",
    "selection.py",
}
_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")
_MAX_NAMED = 3
_SUBMISSION = {"form", "file", "id", "id_with", "columns"}


class Recipe(Model):
    """Everything that decides the bytes of prepared data, as it was when they were made."""

    settings: Sha256 = Field(description="of what `prepare.py` may read of `task.toml`")
    files: dict[str, Sha256] = Field(description="path, which begins with the suite -> SHA-256")
    blocks: dict[str, int] = Field(description="building block -> its version")


def make_recipe(task: Task, edition: str, variant: str) -> Recipe:
    """Return the recipe by which the data of a task, in its edition, would be prepared now."""
    imported, blocks = _follow_imports(_code(task, variant))
    files = _hash_files(task, _own_files(task, edition) | imported)
    return Recipe(settings=_hash_settings(task), files=files, blocks={name: VERSIONS[name] for name in blocks})


def find_change(recipe: Recipe, task: Task, edition: str, variant: str) -> str | None:
    """Return what differs from the recipe by which data was prepared, in words; None if the data is up to date.

    Files import the same as long as they are the same, so no code needs to be parsed for this.
    """
    if recipe.settings != _hash_settings(task):
        return "the source, data or columns in task.toml have changed"
    recorded = {task.folder.parent.parent / name for name in recipe.files}
    files = _hash_files(task, recorded | _own_files(task, edition) | _code(task, variant))
    changed = sorted(path for path in files.keys() | recipe.files.keys() if files.get(path) != recipe.files.get(path))
    changed = changed or sorted(name for name, version in recipe.blocks.items() if VERSIONS.get(name) != version)
    more = f" and {len(changed) - _MAX_NAMED} more" if len(changed) > _MAX_NAMED else ""
    return f"{', '.join(changed[:_MAX_NAMED])}{more} changed" if changed else None


def _code(task: Task, variant: str) -> set[Path]:
    """The modules that make the data, without those that they import."""
    code = task.path("prepare.py")
    if not code.is_file():
        raise UsageError(f"{code} is missing")
    return {code, task.folder / "synthetic.py"} if is_miniature(variant) else {code}


def _own_files(task: Task, edition: str) -> set[Path]:
    """The files of the task folder that `prepare.py` may read."""
    unused = {task.folder / other for other in task.editions if other != edition}
    for folder in (task.folder, task.folder / edition):
        unused |= {folder / name for name in (*_NOT_USED, "synthetic.py", *(() if task.timed else ("starter",)))}
    paths: set[Path] = set()
    for root, folders, files in os.walk(task.folder):
        folder = Path(root)
        folders[:] = [name for name in folders if name != "__pycache__" and folder / name not in unused]
        paths |= {folder / name for name in files} - unused
    return paths


def _hash_files(task: Task, paths: Iterable[Path]) -> dict[str, str]:
    """Return the hashes of those files that exist."""
    root = task.folder.parent.parent
    return {path.relative_to(root).as_posix(): _sha256(path.read_bytes()) for path in paths if path.is_file()}


def _hash_settings(task: Task) -> str:
    """Return the hash of what `prepare.py` may read of `task.toml`."""
    source = task.source.model_dump(mode="json", exclude={"about", "license"}, exclude_defaults=True)
    data = task.data.model_dump(mode="json", exclude={"checksums"}, exclude_defaults=True)
    submission = task.submission.model_dump(mode="json", include=_SUBMISSION, exclude_defaults=True)
    columns = list(task.submission.columns)  # their order, which JSON with sorted keys would lose
    settings = {"source": source, "data": data, "submission": submission, "columns": columns}
    return _sha256(json.dumps(settings, sort_keys=True).encode())


def _follow_imports(code: Iterable[Path]) -> tuple[set[Path], set[str]]:
    """Return the files reached by relative imports, including `code`, and the building blocks that all of them use."""
    files: set[Path] = set()
    blocks: set[str] = set()
    waiting = list(code)
    while waiting:
        path = waiting.pop()
        if path in files:
            continue
        files.add(path)
        for node in _find_imports(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ImportFrom) and node.level:
                waiting += _relative_modules(path, node)
            else:
                blocks.update(_blocks_in(node))
    return files, {block for name in blocks for block in (name, *_used_by(name))}


def _find_imports(module: ast.Module) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports at any depth; expressions, which cannot contain any, are not walked."""
    waiting: list[ast.AST] = [module]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.Module | ast.stmt | ast.ExceptHandler | ast.match_case):
            for field in _BODIES:
                waiting += getattr(node, field, ())


def _relative_modules(path: Path, node: ast.ImportFrom) -> list[Path]:
    """The files behind `from .cases import timed` or `from .._shared import images`."""
    folder = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
    candidates = [folder.with_suffix(".py"), *(folder / f"{alias.name}.py" for alias in node.names)]
    return [candidate for candidate in candidates if candidate.is_file()]


def _blocks_in(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        names = [str(node.module), *(f"{node.module}.{name}" for name in names)]
    return (name for name in names if name in VERSIONS)


def _used_by(block: str) -> Iterator[str]:
    for name in USES.get(block, ()):
        yield name
        yield from _used_by(name)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
