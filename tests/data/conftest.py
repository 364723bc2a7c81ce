"""Fixtures for data tests: an isolated home, wheels built for the test, and toy tasks."""

import hashlib
import os
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from data_packages import CONTENT, Created, MakeTask, MakeWheel

from assay.core.home import Home
from assay.tasks import Package, Task


@pytest.fixture
def alone(tmp_path: Path) -> Home:
    """A home with its own downloads."""
    return Home(tmp_path / "home")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only package index pip uses, as a folder: put packages into it to publish them."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def wheel(index: Path) -> MakeWheel:
    """Publish a wheel with these members, and describe it as a task would."""

    def make(
        members: Mapping[str, bytes] = {"toydata/table.csv": CONTENT},
        *,
        tag: str = "py3-none-any",
        requires: str = ">=3",
    ) -> Package:
        file = f"toydata-1.0-{tag}.whl"
        about = f"Metadata-Version: 2.1\nName: toydata\nVersion: 1.0\nRequires-Python: {requires}\n"
        kept = {
            **members,
            "toydata-1.0.dist-info/METADATA": about.encode(),
            "toydata-1.0.dist-info/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n".encode(),
            "toydata-1.0.dist-info/RECORD": b"",
        }
        with zipfile.ZipFile(index / file, "w") as archive:
            for name, content in kept.items():
                archive.writestr(zipfile.ZipInfo(name), content)
        digests = {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
        whole = hashlib.sha256((index / file).read_bytes()).hexdigest()
        return Package(name="toydata", version="1.0", file=file, sha256=whole, members=digests)

    return make


@pytest.fixture
def toy(tmp_path: Path) -> MakeTask:
    """Make a task with this `prepare.py`, with or without a package."""

    def make(prepare: str, package: Package | None = None, **source: object) -> Task:
        folder = tmp_path / "toys" / "toy"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "prepare.py").write_text(prepare)
        return Task.model_validate(
            {
                "format": "task/1",
                "title": "Toy",
                "summary": "Toy.",
                "kind": "tabular-classification",
                "source": {"about": "made up", "license": "MIT", "packages": [package] if package else [], **source},
                "submission": {"form": "csv", "file": "submission.csv"},
                "metric": {"name": "accuracy", "direction": "higher"},
                "budget": {"time": "1m"},
                "suite": "toys",
                "name": "toy",
                "folder": folder,
                "editions": ["v1", "v2"],
            }
        )

    return make


_opened: list[list[Path]] = []  # recordings of files opened for writing; an audit hook cannot be removed


def _note(event: str, arguments: tuple[object, ...]) -> None:
    writing = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
    if _opened and writing and isinstance(arguments[0], str):
        _opened[-1].append(Path(arguments[0]))


sys.addaudithook(_note)


@pytest.fixture
def created() -> Created:
    """Do some work, and return the files that it opened for writing, in order."""

    def listed(work: Callable[[], object]) -> list[Path]:
        _opened.append([])
        try:
            work()
        finally:
            files = _opened.pop()
        return files

    return listed
