"""Follow a page of the documentation as a reader would: write its files, run its commands."""

import os
import re
import subprocess
import sys
from pathlib import Path

from assay.core.home import Home

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"(?:^`(?P<file>[^`\n]+)`\n\n)?^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def follow_page(page: Path, home: Home, folder: Path) -> str:
    """Write every file of the page into `folder`, run every `$` command there, and return what the commands print."""
    output = ""
    for block in BLOCK.finditer(page.read_text()):
        if block["language"] != "console":
            assert block["file"], f"no file name above:\n{block['text']}"
            (folder / block["file"]).write_text(block["text"])
            continue
        for line in block["text"].splitlines():
            if line.startswith("$ "):
                output += run_command(line.removeprefix("$ "), home, folder)
    return output


def run_command(command: str, home: Home, folder: Path) -> str:
    """Run a line in bash, with the tested Assay first on the PATH, and return what it prints."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    variables = os.environ | {"PATH": path, "ASSAY_HOME": str(home.root), "COLUMNS": "200"}
    done = subprocess.run(
        ["bash", "-ec", command], cwd=folder, env=variables, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
    return done.stdout
