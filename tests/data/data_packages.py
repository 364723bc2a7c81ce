"""Packages that tests publish to their own index."""

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

from assay.tasks import Package, Task

CONTENT = b"a,b\n1,2\n"
MakeWheel = Callable[..., Package]
MakeTask = Callable[..., Task]
Created = Callable[[Callable[[], object]], list[Path]]


def source_package(index: Path, mark: Path) -> None:
    """Publish a source package that leaves a mark when its code is run."""
    files = {
        "toydata-1.0/PKG-INFO": "Metadata-Version: 2.1\nName: toydata\nVersion: 1.0\n",
        "toydata-1.0/setup.py": f"open({str(mark)!r}, 'w')\nimport setuptools\nsetuptools.setup(name='toydata')\n",
    }
    with tarfile.open(index / "toydata-1.0.tar.gz", "w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
