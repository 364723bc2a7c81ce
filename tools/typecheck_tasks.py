"""Type-check the code of each task folder separately: folders share file names and are not packages."""

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
    """Print the errors mypy finds; exit with 1 if there are any."""
    folders = sorted(path.parent for path in SUITES.glob("*/*/task.toml"))
    with ThreadPoolExecutor(2) as pool:
        errors = list(pool.map(check_folder, folders))
    sys.stdout.writelines(errors)
    return 1 if any(errors) else 0


def check_folder(folder: Path) -> str:
    """Return mypy's output for a task and its starter code, empty if there are no errors."""
    output = ""
    for part in (folder, folder / "starter"):
        files = sorted(map(str, part.glob("*.py")))
        if files:
            done = subprocess.run([*MYPY, "--config-file=", *files], capture_output=True, text=True)
            if done.returncode:
                output += done.stdout + done.stderr
    return output


if __name__ == "__main__":
    sys.exit(main())
