"""Install what a make target needs, once: `python tools/install.py demo|test|lint|docs|bench`.

Needs only Python 3.11+ with pip, or uv. Assay's own environment (.venv) and the Python environments of labs are built
at the same time, because together they are most of the time that a new user waits.
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
POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Target:
    """What a make target needs: extras of the package, system packages by program, and environments to build."""

    extras: str
    programs: dict[str, str] = field(default_factory=dict)
    labs: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    weights: bool = False
    """Whether the weights of the local model are downloaded."""


BUBBLEWRAP = {"bwrap": "bubblewrap"}
TEST_PROGRAMS = {
    "chromium": "chromium",
    "npm": "npm",
    "faketime": "faketime",
    "podman": "podman",
    "runc": "runc",
    "newuidmap": "uidmap",
}
# Only tests that need root use these.
if os.geteuid() == 0:
    TEST_PROGRAMS |= {
        "slurmctld": "slurmctld",
        "slurmd": "slurmd",
        "sbatch": "slurm-client",
        "munged": "munge",
        "ip": "iproute2",
    }
TEST_AGENTS = (
    "aide", "aider", "claude-code", "codex", "gemini-cli", "goose", "mini-swe-agent", "opencode", "qwen-code",
    "smolagents",
)  # fmt: skip
TARGETS = {
    "demo": Target("mlebench", BUBBLEWRAP, labs=("core",)),
    "test": Target(
        "test", BUBBLEWRAP | TEST_PROGRAMS, labs=("core", "torch", "mlebench"), agents=TEST_AGENTS, weights=True
    ),
    "lint": Target("lint"),
    "docs": Target("docs"),
    "bench": Target("bench", BUBBLEWRAP, labs=("core",)),
}

# Installers run with their own progress bars off: theirs would end up inside ours.
QUIET = {
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_PROGRESS_BAR": "off",
    "PIP_ROOT_USER_ACTION": "ignore",
    "UV_NO_PROGRESS": "1",
    "NPM_CONFIG_PROGRESS": "false",
}
FIND_ENVIRONMENT = (
    "import sys, assay.core.home as h, assay.lab.environments as e; e.find_environment(h.Home.default(), sys.argv[1])"
)

# OpenHands needs a newer Python than Assay, which not every machine has.
FIND_NEWER_PYTHON = "import assay.lab.environments as e; e.find_python('3.12')"

Command = list[str]


@dataclass
class Job:
    """Commands whose output is kept and shown only if they fail.

    Each step is a list of alternatives: if a command fails, the next one of the step is tried.
    """

    title: str
    steps: list[list[Command]]
    output: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    exit_code: int | None = None

    def run(self) -> None:
        """Run the steps in order until one fails."""
        for alternatives in self.steps:
            code = 1
            for command in alternatives:
                code = self._run_command(command)
                if code == 0:
                    break
                if command is not alternatives[-1]:
                    self.notes.append(f"{command[0]} failed, fell back to another installer: {self.output[-2]}")
            if code:
                self.exit_code = code
                return
        self.exit_code = 0

    def _run_command(self, command: Command) -> int:
        self.output.append("$ " + " ".join(command))
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        assert process.stdout is not None
        self.output.extend(line.rstrip() for line in process.stdout)
        code = process.wait()
        if code:
            self.output.append(f"exit code {code}")
        return code

    @property
    def activity(self) -> str:
        """The beginning of the last line of output that starts with a word and is not a warning."""
        for line in reversed(self.output):
            if line.strip()[:1].isalpha() and not line.startswith(("WARNING", "warning")):
                return " ".join(line.split()[:4])[:48]
        return ""


def main(name: str) -> int:
    """Install what the target `name` needs; return at once if everything is there."""
    if sys.version_info < (3, 11):  # noqa: UP036 - nothing could have checked this before
        return fail(
            f"Python 3.11 or newer is required, this is {sys.version.split()[0]}: make {name} PYTHON=python3.12"
        )
    target = TARGETS[name]
    missing = [package for program, package in target.programs.items() if shutil.which(program) is None]
    system: list[list[Command]] = []
    if missing:
        sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
        if shutil.which("apt-get") is None or (sudo and not succeeds([*sudo, "true"])):
            return fail(f"missing system packages; run: sudo apt-get install {' '.join(missing)}")
        apt = [*sudo, "apt-get"]
        system = [[[*apt, "update"]], [[*apt, "install", "-y", "--no-install-recommends", *missing]]]
    stamp = VENV / f".installed-{name}"
    package: list[list[Command]] = []
    if not stamp.exists() or stamp.stat().st_mtime < (ROOT / "pyproject.toml").stat().st_mtime:
        package = install_package(target.extras)
        if not package[-1]:
            return fail("neither pip nor uv found; run: sudo apt-get install python3-pip")
        if target.weights:
            package.append([[str(VENV / "bin" / "python"), "-m", "assay.models.weights"]])

    newer = ("openhands",) if target.agents and succeeds([sys.executable, "-c", FIND_NEWER_PYTHON]) else ()
    labs, agents = build_environments(target.labs), build_environments((*target.agents, *newer))
    # Environments are built in bubblewrap, and some agents come from npm: system packages are installed before.
    first = Job("system packages", system)
    rest = (Job("Assay, in .venv", package), Job("lab environments", labs), Job("agent environments", agents))
    jobs = [first] if system else []
    failed = run_jobs(jobs)
    if not failed:
        jobs = [job for job in rest if job.steps]
        failed = run_jobs(jobs)
    for job in jobs:
        sys.stderr.writelines(f"install: {note}\n" for note in job.notes)
    if failed:
        for job in failed:
            sys.stderr.write("\n".join(job.output[-40:]) + "\n")
        return fail(f"could not install: {', '.join(job.title for job in failed)}; see the output above")
    stamp.touch()
    return 0


def install_package(extras: str) -> list[list[Command]]:
    """Return the steps that create .venv and install Assay into it, with uv if there is one and with pip otherwise.

    The environment is created without pip, because Debian ships ensurepip in a separate package.
    """
    python, requirement = str(VENV / "bin" / "python"), f".[{extras}]"
    installers: list[Command] = []
    if shutil.which("uv"):
        installers.append(["uv", "pip", "install", "--python", python, "-e", requirement])
    if succeeds([sys.executable, "-m", "pip", "--version"]):
        installers.append([sys.executable, "-m", "pip", "--python", python, "install", "-e", requirement])
    create: list[list[Command]] = (
        [] if Path(python).exists() else [[[sys.executable, "-m", "venv", "--without-pip", str(VENV)]]]
    )
    return [*create, installers]


def build_environments(names: tuple[str, ...]) -> list[list[Command]]:
    """Return the steps that build the lab environments that do not exist yet."""
    missing = [name for name in names if not succeeds([sys.executable, "-c", FIND_ENVIRONMENT, name])]
    return [[[sys.executable, "-m", "assay.lab.environments", name]] for name in missing]


def run_jobs(jobs: list[Job]) -> list[Job]:
    """Run jobs in parallel, show their progress, and return those that failed."""
    threads = [threading.Thread(target=job.run, daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    if sys.stderr.isatty():
        show_bars(jobs, threads)
    else:
        show_lines(jobs, threads)
    return [job for job in jobs if job.exit_code]


def show_bars(jobs: list[Job], threads: list[threading.Thread]) -> None:
    """Draw a moving bar per job until all threads have ended."""
    started = time.monotonic()
    sys.stderr.write("\n" * len(jobs))
    running = True
    while running:
        running = any(thread.is_alive() for thread in threads)
        sys.stderr.write(f"\033[{len(jobs)}F" if jobs else "")
        width = os.get_terminal_size(sys.stderr.fileno()).columns  # a longer line would take two, and move the others
        for job in jobs:
            sys.stderr.write(f"\033[K{draw_bar(job, time.monotonic() - started)[: width - 1]}\n")
        sys.stderr.flush()
        if running:
            time.sleep(POLL_SECONDS)


def show_lines(jobs: list[Job], threads: list[threading.Thread]) -> None:
    """Print a line when a job starts and another when it ends."""
    started = time.monotonic()
    for job in jobs:
        sys.stderr.write(f"{job.title}: installing …\n")
    sys.stderr.flush()
    for job, thread in zip(jobs, threads, strict=True):
        thread.join()
        result = "failed" if job.exit_code else "done"
        sys.stderr.write(f"{job.title}: {result} after {time.monotonic() - started:.0f} s\n")
        sys.stderr.flush()


def draw_bar(job: Job, seconds: float) -> str:
    """Return a line with a moving block while the job runs and a full bar when it is done."""
    width = 24
    if job.exit_code is not None:
        return f"  {job.title:<20} {'━' * width} {'done' if job.exit_code == 0 else 'failed'}"
    start = int(seconds * 8) % width
    bar = "".join("━" if (position - start) % width < 6 else "╌" for position in range(width))
    return f"  {job.title:<20} {bar} {seconds:4.0f} s  {job.activity}"


def succeeds(command: Command) -> bool:
    """Return whether a command exists and exits with 0."""
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True).returncode == 0


def environment() -> dict[str, str]:
    """Return the environment variables of installers."""
    return os.environ | QUIET | {"PYTHONPATH": str(ROOT / "src")}


def fail(message: str) -> int:
    """Print an error and return the exit code for it."""
    sys.stderr.write(f"install: {message}\n")
    return 1


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in TARGETS:
        sys.stderr.write(f"usage: python tools/install.py {'|'.join(TARGETS)}\n")
        sys.exit(2)
    try:
        sys.exit(main(sys.argv[1]))
    except KeyboardInterrupt:
        # The installers got the interrupt too; the next call repeats whatever is incomplete.
        fail("interrupted; run it again to continue")
        sys.exit(130)
