"""Pin the hash of every task description: `make pin-descriptions` writes tests/tasks/descriptions.sha256.

A description is a prompt, so a changed description is a changed benchmark: results from before and after are not
comparable. Renew the pins together with a line in CHANGELOG.md. `sha256sum --check` reads them in `src/assay/suites`.
"""

import hashlib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUITES = ROOT / "src" / "assay" / "suites"
PINS = ROOT / "tests" / "tasks" / "descriptions.sha256"


def hash_descriptions() -> dict[str, str]:
    """Return the SHA-256 of each description, by its path below the suites."""
    texts = [path for name in ("description.md", "obfuscated.md") for path in SUITES.rglob(name)]
    return {
        path.relative_to(SUITES).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(texts)
    }


def read_pins() -> dict[str, str]:
    """Return the pinned hashes, by path."""
    return {path: digest for digest, path in (line.split("  ") for line in PINS.read_text("utf-8").splitlines())}


if __name__ == "__main__":
    PINS.write_text("".join(f"{digest}  {path}\n" for path, digest in hash_descriptions().items()), "utf-8")
