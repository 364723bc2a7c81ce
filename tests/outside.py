"""Python environments with packages of others, in which adapters are tested with the real thing."""

import hashlib
import shutil
import subprocess
import sys
import sysconfig
from importlib.metadata import requires
from pathlib import Path

from assay.core.disk import file_lock
from assay.core.home import Home


def outside_python(*requirements: str, python: str = sys.executable) -> Path:
    """Return the Python of an environment with Assay's base and these packages, which is built once on a machine.

    Assay itself is that of this checkout: the files of its editable installation are copied.
    """
    base = [line for line in requires("mlassay") or [] if "extra ==" not in line]
    digest = hashlib.sha256("\n".join([python, *base, *requirements]).encode()).hexdigest()[:12]
    folder = Home.default().downloads.resolve() / "outside" / digest
    folder.parent.mkdir(parents=True, exist_ok=True)
    with file_lock(folder.with_suffix(".lock")):
        if not (folder / "complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            _run(python, "-m", "venv", folder)
            _run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-compile", *base, *requirements)
            (folder / "complete").touch()
        [site] = (folder / "lib").glob("python3*/site-packages")
        for path in Path(sysconfig.get_path("purelib")).glob("*mlassay*"):
            copy = shutil.copytree if path.is_dir() else shutil.copy
            copy(path, site / path.name, **({"dirs_exist_ok": True} if path.is_dir() else {}))
    return folder / "bin" / "python"


def newer_python() -> str:
    """Return a Python that packages run on which need 3.12."""
    if sys.version_info >= (3, 12):
        return sys.executable
    installed = Path(sys.base_prefix).parent  # where pyenv has one beside the other
    for name in ("python3.12", "python3.13", "python3.14"):
        for path in (shutil.which(name), *sorted(installed.glob(f"3.*/bin/{name}"))):
            if path and subprocess.run([path, "-c", "import venv, ensurepip"], capture_output=True).returncode == 0:
                return str(path)
    raise AssertionError("this test needs Python 3.12 or newer: apt-get install python3.12-venv, or pyenv install 3.12")


def _run(*command: str | Path) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
