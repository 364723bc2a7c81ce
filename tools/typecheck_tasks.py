"""Type-check the code of every task folder with one run of mypy.

Task folders are no packages: their names are not identifiers, and all have files of the same names. So they are copied
into a temporary package tree first, in which relative imports such as `.._shared` resolve; messages name the originals.
Starters of published editions are left out: like the originals they are scripts without types, some without a model.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SUITES = Path(__file__).resolve().parent.parent / "src" / "assay" / "suites"
MYPY = [
    *(sys.executable, "-m", "mypy", "--strict", "--no-warn-return-any"),
    *("--ignore-missing-imports", "--allow-subclassing-any"),  # starters use packages that only labs have
    *("--explicit-package-bases", "--config-file="),
]


def main() -> int:
    """Print what mypy finds; exit with 1 if it finds anything."""
    with tempfile.TemporaryDirectory() as folder:
        checked = [path for path in sorted(SUITES.rglob("*.py")) if "published/starter" not in path.as_posix()]
        originals = {copy_module(path, Path(folder)): path for path in checked}
        command = [*MYPY, f"--cache-dir={SUITES.parents[2] / '.mypy_cache'}", "suites"]
        done = subprocess.run(
            command, cwd=folder, env=os.environ | {"MYPYPATH": folder}, capture_output=True, text=True
        )
    for line in (done.stdout + done.stderr).splitlines():
        name, colon, rest = line.partition(":")
        sys.stdout.write(f"{originals.get(name, name)}{colon}{rest}\n")
    return done.returncode


def copy_module(path: Path, folder: Path) -> str:
    """Copy a file to where its path is a valid module name, and return that path."""
    parts = ["suites", *path.relative_to(SUITES).parts]
    valid = Path(*(re.sub(r"^(?=\d)", "_", part.replace("-", "_")) for part in parts))
    target = folder / valid
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, target)
    for parent in list(valid.parents)[:-1]:
        (folder / parent / "__init__.py").touch()
    return str(valid)


if __name__ == "__main__":
    sys.exit(main())
