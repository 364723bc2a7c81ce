"""Follow a page of the documentation as a reader would: write its files, run its commands."""

import os
import re
import subprocess
import sys
from pathlib import Path

from command_line import Assay

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"(?:^`(?P<file>[^`\n]+)`\n\n)?^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def follow_page(page: Path, assay: Assay, fewer_seeds: dict[str, str] | None = None) -> str:
    """Write every file of the page into this folder, run every `$` command here, and return what the commands print.

    Commands are run as written, except for what `fewer_seeds` replaces.
    """
    text, output = page.read_text(), ""
    for written, replaced in (fewer_seeds or {}).items():
        assert text.count(written) == 1, written
        text = text.replace(written, replaced)
    for block in BLOCK.finditer(text):
        if block["language"] != "console":
            assert block["file"], f"no file name above:\n{block['text']}"
            Path(block["file"]).write_text(block["text"])
            continue
        for line in block["text"].splitlines():
            if line.startswith("$ "):
                output += run_command(line.removeprefix("$ "), assay)
    return output


def run_command(command: str, assay: Assay) -> str:
    """Run a line in bash, or in this process what bash makes of it if it calls `assay`; return what it prints."""
    if command.startswith("assay "):
        _, *words = run_in_bash(f"printf '%s\\0' {command}").stdout.removesuffix("\0").split("\0")
        done = assay(*words)
    else:
        done = run_in_bash(command)
    assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
    return done.stdout


def run_in_bash(command: str) -> subprocess.CompletedProcess[str]:
    """Run a line in bash, with the tested Python first on the PATH."""
    variables = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return subprocess.run(["bash", "-ec", command], env=variables, capture_output=True, text=True, timeout=600)
