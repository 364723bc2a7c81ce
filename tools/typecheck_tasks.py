"""Type-checks the code of every task folder on its own: folders have the same file names and are not packages."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SUITES = Path(__file__).resolve().parent.parent / "src" / "assay" / "suites"
MYPY = [
    *(sys.executable, "-m", "mypy", "--strict", "--no-warn-return-any"),
    *("--ignore-missing-imports", "--allow-subclassing-any"),  # starters use packages that only labs have
]


def main() -> int:
    """Print what mypy finds in each folder; exit with 1 if it finds anything."""
    folders = sorted(path.parent for path in SUITES.glob("*/*/task.toml"))
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(check, folders))
    sys.stdout.writelines(results)
    return 1 if any(results) else 0


def check(folder: Path) -> str:
    """What is wrong in one task's folder, in mypy's words."""
    found = ""
    for place in (folder, folder / "starter"):
        files = sorted(map(str, place.glob("*.py")))
        if files:
            done = subprocess.run([*MYPY, "--config-file=", *files], capture_output=True, text=True)
            found += done.stdout + done.stderr if done.returncode else ""
    return found


if __name__ == "__main__":
    sys.exit(main())
