"""Installs what `make demo`, `make test` and `make lint` need, each thing once. Needs only Python 3.11 and pip.

The harness's own environment (.venv) and the lab's environment are made at the same time: together they are most of
the time a newcomer waits.
"""

import os
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
SYSTEM = {
    "demo": {"bwrap": "bubblewrap"},
    "test": {
        "bwrap": "bubblewrap",
        "chromium": "chromium",
        "npm": "npm",
        "slurmctld": "slurmctld",
        "slurmd": "slurmd",
        "sbatch": "slurm-client",
        "munged": "munge",
        "ip": "iproute2",
        "faketime": "faketime",
    },
    "lint": {},
}
LABS = {"demo": ["core"], "test": ["core", "torch"], "lint": []}
AGENTS = {"demo": [], "test": ["aide", "mini-swe-agent", "claude-code", "codex", "gemini-cli"], "lint": []}
LAB_IS_BUILT = (
    "import sys, assay.core.home as h, assay.lab.environments as e; e.find_environment(h.Home.default(), sys.argv[1])"
)


@dataclass
class Job:
    """A row of commands whose output is kept, and shown only if one of them fails."""

    title: str
    commands: list[list[str]]
    lines: list[str] = field(default_factory=list)
    code: int | None = None

    def run(self) -> None:
        """Run the commands one after the other until one fails."""
        for command in self.commands:
            environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
            process = subprocess.Popen(
                command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            assert process.stdout is not None
            self.lines.extend(["$ " + " ".join(command)])
            for line in process.stdout:
                self.lines.append(line.rstrip())
            if process.wait():
                self.code = process.returncode
                return
        self.code = 0

    @property
    def doing(self) -> str:
        """What its last line of output tells, short."""
        words = self.lines[-1].split() if self.lines else []
        return " ".join(words[:4])[:48]


def main(what: str) -> int:
    """Install for `what`; a second call finds everything there and returns at once."""
    if sys.version_info < (3, 11):  # noqa: UP036 - runs before anything could have checked
        return fail(f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}: make {what} PYTHON=python3.12")
    missing = [package for program, package in SYSTEM[what].items() if shutil.which(program) is None]
    jobs = []
    if missing:
        may = [] if os.geteuid() == 0 else ["sudo", "-n"]
        if shutil.which("apt-get") is None or (may and not quiet_success([*may, "true"])):
            return fail(f"please install {' and '.join(missing)} first, with: sudo apt-get install {' '.join(missing)}")
        apt = [*may, "apt-get"]
        jobs.append(
            Job("system packages", [[*apt, "update"], [*apt, "install", "-y", "--no-install-recommends", *missing]])
        )
    stamp = VENV / f".installed-{what}"
    if not stamp.exists() or stamp.stat().st_mtime < (ROOT / "pyproject.toml").stat().st_mtime:
        jobs.append(Job("the harness, in .venv", harness(what)))
    if agents := environments(AGENTS[what]):
        # Some of them come from npm, which may be among the system packages that are just being installed.
        jobs.append(Job("the agents' environments", [*(jobs.pop(0).commands if missing else []), *agents]))
    if labs := environments(LABS[what]):
        jobs.append(Job("the labs' environment" + "s" * (len(labs) > 1), labs))
    if failed := run_all(jobs):
        for job in failed:
            sys.stderr.write("\n".join(job.lines[-40:]) + "\n")
        return fail(f"installing {' and '.join(job.title for job in failed)} failed; the last lines are above")
    stamp.touch()
    return 0


def environments(names: list[str]) -> list[list[str]]:
    """Commands that build those of the labs' environments that are not there yet."""
    missing = [name for name in names if not quiet_success([sys.executable, "-c", LAB_IS_BUILT, name])]
    return [[sys.executable, "-m", "assay.lab.environments", name] for name in missing]


def harness(what: str) -> list[list[str]]:
    """Commands that make .venv and install Assay into it; without ensurepip, which Debian keeps in a package apart."""
    extra = {"demo": "web", "test": "test", "lint": "lint,web"}[what]
    python = VENV / "bin" / "python"
    make = [] if python.exists() else [[sys.executable, "-m", "venv", "--without-pip", str(VENV)]]
    return [*make, [sys.executable, "-m", "pip", "--python", str(python), "install", "-e", f".[{extra}]"]]


def run_all(jobs: list[Job]) -> list[Job]:
    """Run jobs side by side, show how they go on, and return those that failed."""
    threads = [threading.Thread(target=job.run, daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    show(jobs, threads)
    return [job for job in jobs if job.code]


def show(jobs: list[Job], threads: list[threading.Thread]) -> None:
    """A moving bar per job on a terminal; elsewhere a line when it starts and one when it ends."""
    started, drawn, told = time.monotonic(), False, set()
    terminal = sys.stderr.isatty()
    while jobs:
        alive = any(thread.is_alive() for thread in threads)
        seconds = time.monotonic() - started
        if terminal:
            sys.stderr.write(f"\033[{len(jobs)}F" * drawn)
            for job in jobs:
                sys.stderr.write(f"\033[K{line(job, seconds)}\n")
            drawn = True
        for job in jobs if not terminal else []:
            if (job.title, job.code) not in told:
                told.add((job.title, job.code))
                sys.stderr.write(
                    f"{job.title}: {'installing …' if job.code is None else f'ended after {seconds:.0f} s'}\n"
                )
        sys.stderr.flush()
        if not alive:
            return
        time.sleep(0.2)


def line(job: Job, seconds: float) -> str:
    """One job's bar: a block that moves while it works, full when it is done."""
    width = 24
    if job.code is not None:
        return f"  {job.title:<24} {'━' * width} {'done' if job.code == 0 else 'failed'}"
    at = int(seconds * 8) % width
    bar = "".join("━" if (spot - at) % width < 6 else "╌" for spot in range(width))
    return f"  {job.title:<24} {bar} {seconds:4.0f} s  {job.doing}"


def quiet_success(command: list[str]) -> bool:
    """Whether a command exists and exits with 0."""
    if shutil.which(command[0]) is None:
        return False
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True).returncode == 0


def fail(message: str) -> int:
    """Say what is wrong and return the exit code for it."""
    sys.stderr.write(f"install: {message}\n")
    return 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1]))
    except KeyboardInterrupt:
        # What was being installed got the interrupt too; whatever is half done is done again by the next call.
        sys.exit(fail("stopped; call it again to go on") and 130)
