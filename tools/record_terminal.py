"""Record the first ten minutes at a terminal: `python tools/record_terminal.py [PAGE]`.

Every command runs on a real terminal of 80 and of 120 columns. A line that is longer than the terminal, which would be
torn in two, is an error. With a path, the text at 80 columns is written to it as a page of the documentation.
"""

import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import assay
from assay.core.home import Home

COMMANDS = {
    "assay tasks pocket": (
        "A suite is a list of tasks. `split` names the parts of the suite that a task is in; `pocket:quick` is a good "
        "start. The arrow says whether a higher score is better, and `prepared` whether the data is on this machine."
    ),
    "assay tasks pocket/digits": (
        "Of one task: what is to be predicted, how it is scored, and how strong the reference solutions are."
    ),
    "assay agents": ("Some agents need no model; the others take `--model PROVIDER/MODEL`."),
    "assay prepare pocket/digits --quiet": (
        "Preparing downloads the data and splits off the answers, which agents never see. `assay run` does this by "
        "itself where it takes seconds."
    ),
    "assay plan pocket/digits --agent starter --cores 2": (
        "What a run would do, and the most time and money that it can take."
    ),
    "assay run pocket/digits --agent starter --seeds 2 --out runs/first --quiet": (
        "A run is a folder of trials: each agent on each task, once per seed, in a sealed lab. It ends with a result. "
        "Interrupt it at any time: `assay resume` continues."
    ),
    "assay ls": ("All runs below this folder."),
    "assay status runs/first": ("Every trial of a run, also while it is in progress."),
    "assay report runs/first": ("The result again; `--html`, `--csv`, `--latex` and `--pdf` write it in other forms."),
    "assay verify runs/first --quiet": ("Whether the records are intact and the grades can be reproduced."),
    "assay config": ("Settings of yours that apply to every run. Next: `assay view` shows all of this in the browser."),
}
"""What is recorded, with what a reader should know before it."""
WIDTHS = (80, 120)
HEAD = """# The first ten minutes

<!-- Recorded by tools/record_terminal.py on a terminal of 80 columns; do not edit. -->

A first session, command by command. Times depend on the machine. [Compare two agents](tutorial.md) is the tutorial with
pictures.
"""


def main() -> int:
    """Record at every width; return 1 if a line does not fit."""
    torn = []
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        link_folders(folder)
        for width in WIDTHS:  # at the second width, the run has nothing left to do and shows its results again
            outputs = {command: record(command, width, folder) for command in COMMANDS}
            torn += [
                f"{width}: {command}: {line}" for command, text in outputs.items() for line in too_long(text, width)
            ]
            if width == WIDTHS[0] and len(sys.argv) > 1:
                parts = [
                    f"{COMMANDS[command]}\n\n```console\n$ {command}\n{generic(text, folder)}```\n"
                    for command, text in outputs.items()
                ]
                Path(sys.argv[1]).write_text("\n".join([HEAD, *parts]))
    for line in torn:
        sys.stderr.write(f"torn at {line}\n")
    return 1 if torn else 0


def link_folders(folder: Path) -> None:
    """Link the package and the home into `folder`: lines break at the same words wherever these are."""
    folder.chmod(0o755)  # labs run as another user
    (folder / "src").symlink_to(Path(assay.__file__).parents[1])
    (folder / "home").symlink_to(Home.default().root)


def record(command: str, width: int, folder: Path) -> str:
    """Return what the terminal shows, without colors."""
    main_end, terminal = pty.openpty()
    own = {name: text for name, text in os.environ.items() if not name.startswith(("ASSAY_", "XDG_"))}
    folders = {"HOME": str(folder), "ASSAY_HOME": str(folder / "home"), "PYTHONPATH": str(folder / "src")}
    variables = {**own, **folders, "COLUMNS": str(width), "LINES": "50", "TERM": "xterm", "NO_COLOR": "1"}
    words = [sys.executable, "-m", *command.split()]
    process = subprocess.Popen(words, stdout=terminal, stderr=terminal, env=variables, cwd=folder)
    os.close(terminal)
    output = b""
    while True:
        try:
            part = os.read(main_end, 65536)
        except OSError:  # the command has ended
            break
        if not part:
            break
        output += part
    os.close(main_end)
    if process.wait() != 0:
        raise SystemExit(f"{command} failed:\n{output.decode()}")
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", output.decode().replace("\r\n", "\n"))
    return "\n".join(line.rstrip() for line in text.split("\n"))


def generic(text: str, folder: Path) -> str:
    """Return the text as another machine would show it: other folders, and no load."""
    for path, name in {folder / "home": "~/.cache/assay", folder / "src": "src", folder: "~"}.items():
        text = text.replace(str(path), name)
    return re.sub(
        r"^(warning: this machine is busy|Busy machine:)[^$]*?(unreliable\.?)\n", "", text, flags=re.MULTILINE
    )


def too_long(text: str, width: int) -> list[str]:
    """Return the lines that a terminal of this width would tear."""
    return [line for line in text.splitlines() if len(line) > width]


if __name__ == "__main__":
    sys.exit(main())
