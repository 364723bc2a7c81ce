"""The recipe of prepared data: a hash of everything that decides its bytes.

It covers the task's source, the parts of `task.toml` that `prepare.py` may read, the files of the task folder (starter
code only where it is the reference for speed; of the folders of editions, that edition's alone), the shared modules
that the task imports from its suite, and the version of each building block it uses. When any of these changes,
prepared data is stale and has to be prepared again.
"""

import ast
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from assay.core.errors import UsageError
from assay.tasks import Task
from assay.tasks.model import is_miniature

VERSIONS = {
    "assay.data.archives": 1,
    "assay.data.files": 1,
    "assay.data.miniature": 1,
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
    "assay.data.miniature": ("assay.data.archives",),
    "assay.data.pandas_tables": ("assay.data.archives", "assay.data.splits"),
    "assay.data.polars_tables": ("assay.data.splits",),
    "assay.formats": ("assay.formats.boxes", "assay.formats.masks", "assay.formats.texts"),
}
"""The blocks that a block calls."""

_NOT_USED = {"description.md", "obfuscated.md", "task.toml", "measured.json", "measured-miniature.json", "panel.py"}
_SUBMISSION = {"form", "file", "id", "id_with", "columns"}


def hash_recipe(task: Task, edition: str, variant: str) -> str:
    """Return the hash of all that decides the bytes of a task's prepared data."""
    task = task.in_edition(edition)
    code = [task.path("prepare.py")]
    if not code[0].is_file():
        raise UsageError(f"{code[0]} is missing")
    if is_miniature(variant):
        code.append(task.folder / "synthetic.py")
    own = {path for path in task.folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    unused = [task.folder / other for other in task.editions if other != edition]
    for folder in (task.folder, task.folder / edition):
        own -= {folder / name for name in (*_NOT_USED, "synthetic.py")}
        if not task.timed:
            unused.append(folder / "starter")
    own = {path for path in own if not any(path.is_relative_to(folder) for folder in unused)}
    imported, blocks = _follow_imports(code)
    root = task.folder.parent.parent
    content = {
        "settings": _settings(task),
        "files": {path.relative_to(root).as_posix(): _sha256(path) for path in own | imported},
        "blocks": {name: VERSIONS[name] for name in blocks},
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _settings(task: Task) -> dict[str, object]:
    """What `prepare.py` may read of `task.toml`."""
    source = task.source.model_dump(mode="json", exclude={"about", "license"}, exclude_defaults=True)
    data = task.data.model_dump(mode="json", exclude={"checksums"}, exclude_defaults=True)
    submission = task.submission.model_dump(mode="json", include=_SUBMISSION, exclude_defaults=True)
    columns = list(task.submission.columns)  # their order, which JSON with sorted keys would lose
    return {"source": source, "data": data, "submission": submission, "columns": columns}


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
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ImportFrom) and node.level:
                waiting += _relative_modules(path, node)
            else:
                blocks.update(_blocks_in(node))
    return files, {block for name in blocks for block in (name, *_used_by(name))}


def _relative_modules(path: Path, node: ast.ImportFrom) -> list[Path]:
    """The files behind `from .cases import timed` or `from .._shared import images`."""
    folder = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
    candidates = [folder.with_suffix(".py"), *(folder / f"{alias.name}.py" for alias in node.names)]
    return [candidate for candidate in candidates if candidate.is_file()]


def _blocks_in(node: ast.AST) -> Iterator[str]:
    names: list[str] = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module:
        names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return (name for name in names if name in VERSIONS)


def _used_by(block: str) -> Iterator[str]:
    for name in USES.get(block, ()):
        yield name
        yield from _used_by(name)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
