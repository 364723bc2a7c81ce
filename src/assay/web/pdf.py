"""Pages as PDF, printed by a Chromium that is installed on this machine."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from assay.core.errors import AssayError
from assay.core.text import one_line

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_SECONDS = 300
_OPTIONS = (
    "--headless", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run", "--no-pdf-header-footer",
)  # fmt: skip


def print_page(page: Path, target: Path) -> None:
    """Print a self-contained page to a PDF file; raise `AssayError` if there is no Chromium or it fails."""
    program = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if program is None:
        raise AssayError("A PDF needs Chromium; run: apt-get install chromium, or print the page of --html yourself")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="assay-pdf-") as folder:
        # Chromium refuses to sandbox itself as root. The page is ours: what agents wrote is escaped, and nothing runs.
        as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
        options = [*_OPTIONS, *as_root, f"--user-data-dir={folder}/profile", f"--print-to-pdf={target.resolve()}"]
        try:
            done = subprocess.run(
                [program, *options, page.resolve().as_uri()], capture_output=True, text=True, timeout=_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise AssayError(f"Chromium did not print the page within {_SECONDS} seconds") from None
    if done.returncode or not target.exists():
        raise AssayError(f"Chromium could not print the page: {one_line(done.stderr, 300)}")
