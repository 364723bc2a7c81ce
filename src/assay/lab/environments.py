"""Python environments for labs: an interpreter and pinned packages in one relocatable folder.

A lab sees the environment of the task at `/opt/env` and that of an agent at `/opt/agent`. This module uses only the
standard library, so that `python -m assay.lab.environments core` works before anything is installed.
"""

import compileall
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from assay.core.disk import file_lock, write_json
from assay.core.errors import LabError, RecordError, UsageError
from assay.core.home import Home
from assay.core.progress import Advance, Progress
from assay.core.untrusted import read_plain
from assay.lab.build_sandbox import confine, sandbox_works

INSIDE = "/opt/env"
"""Where a lab sees the environment of the task."""
TOOLS_INSIDE = "/opt/agent"
"""Where a lab sees the environment of an agent that runs inside it."""
WEIGHTS_INSIDE = "/opt/weights"
"""Where a lab sees pretrained weights."""

_FORMAT = "environment/2"
_BUNDLED = Path(__file__).parent / "environments"
_EXCLUDED = (
    "__pycache__", "test", "tests", "idle_test", "idlelib", "tkinter", "turtledemo", "ensurepip", "config-*",
    "site-packages", "dist-packages", "sitecustomize.py", "usercustomize.py", "EXTERNALLY-MANAGED",
)  # fmt: skip
# Python reads the second line as a string, and the shell as a command.
_SCRIPT_HEADER = b"""#!/bin/sh
'''exec' "$(dirname "$(readlink -f "$0")")/python" "$0" "$@"
' '''
"""
# A name, extras and a version, and nothing that pip would take for a URL, an option or another file.
_PIN = r"[A-Za-z0-9][\w.\-]*(\[[\w\-.,]+\])?\s*==\s*[\w.+!\-]+(\s*;[\w\s.'\"<>=!()\-]+)?"
_MAX_REQUIREMENTS = 10**6
_DIRECTIVES = ("without", "alone", "npm", "size", "python")


def find_environment(home: Home, name: str) -> Path:
    """Return the folder of a built environment: a bundled one, by name, or the path of a requirements file."""
    folder = environment_folder(home, name)
    if not folder.is_dir():
        python = _lab_python()
        raise LabError(
            f"environment {name!r} is not built for Python {python}; run: assay lab build {name}, or set ASSAY_PYTHON "
            "to the version of Python, such as 3.11.7, that it is built for"
        )
    return folder


def environment_folder(home: Home, name: str) -> Path:
    """Return the folder of an environment, which exists once it is built."""
    return _folder(home, _read_requirements(name))


def is_built(home: Home, name: str) -> bool:
    """Whether an environment is built for this machine's Python."""
    return environment_folder(home, name).is_dir()


def list_packages(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the pinned packages of an environment, and those that are installed without their dependencies."""
    requirements = _read_requirements(name)
    return requirements.pins, requirements.alone


def describe_size(name: str) -> str:
    """Return how much there is to install for an environment: its size where that is known, else its packages."""
    requirements = _read_requirements(name)
    packages = len(requirements.pins) + len(requirements.alone) + len(requirements.node)
    return f"{packages} packages, about {requirements.size}" if requirements.size else f"{packages} packages"


def build_environment(home: Home, name: str, progress: Progress) -> Path:
    """Build an environment unless it exists, and return its folder."""
    requirements = _read_requirements(name)
    folder = _folder(home, requirements)
    if folder.is_dir():
        return folder
    if _is_older(_lab_python(), requirements.python):
        return _build_elsewhere(home, name, requirements, progress)
    if _lab_python() != platform.python_version():
        raise UsageError(f"ASSAY_PYTHON is {_lab_python()}; environments are built for the Python that runs Assay")
    with file_lock(home.locks / f"environment-{folder.name}"):
        if folder.is_dir():
            return folder
        unfinished = folder.with_name(f".{folder.name}")
        shutil.rmtree(unfinished, ignore_errors=True)
        with progress.stage(f"Copying Python {platform.python_version()}"):
            interpreter = _copy_interpreter(unfinished, bundled=not name.endswith(".txt"))
        if interpreter.bundled and not sandbox_works():
            with progress.stage("No sandbox works here: installing the pins that Assay ships without one"):
                pass
        if requirements.pins:
            with progress.stage(f"Installing {len(requirements.pins)} packages", len(requirements.pins)) as advance:
                _install(interpreter, requirements.pins, advance)
        if requirements.alone:
            stage = f"Installing {len(requirements.alone)} packages without dependencies"
            with progress.stage(stage, len(requirements.alone)) as advance:
                _install(interpreter, requirements.alone, advance, "--no-deps")
        if requirements.node:
            with progress.stage(f"Installing {', '.join(requirements.node)}"):
                _install_node(interpreter, requirements.node)
        _exclude_files(interpreter, requirements.without)
        with progress.stage("Compiling"):
            _compile(interpreter.folder)
        _write_manifest(interpreter, name, requirements)
        _make_readable(unfinished)
        unfinished.rename(folder)
    return folder


@cache
def find_python(oldest: str) -> tuple[str, str]:
    """Return a Python of this machine that is not older than a version, which can build environments: path and version.

    Raises `LabError` if there is none.
    """
    installed = Path(sys.base_prefix).parent  # where pyenv has one beside the other
    for minor in range(int(oldest.split(".")[1]), 20):
        for path in (shutil.which(f"python3.{minor}"), *sorted(installed.glob(f"3.{minor}.*/bin/python3.{minor}"))):
            code = "import ensurepip, platform; print(platform.python_version())"
            if path and (done := subprocess.run([path, "-c", code], capture_output=True, text=True)).returncode == 0:
                return str(path), done.stdout.strip()
    raise LabError(f"no Python {oldest} or newer is on this machine; run: apt-get install python{oldest}-venv")


def library_path(folder: Path) -> Path | None:
    """Return the folder of the interpreter's shared library, if the interpreter is linked against one."""
    libraries = folder / "lib"
    return libraries if any(libraries.glob("libpython*.so*")) else None


@dataclass(frozen=True)
class _Interpreter:
    """A copied interpreter, which runs wherever its folder is."""

    folder: Path
    executable: Path
    packages: Path
    bundled: bool
    """Whether its packages are those of an environment that Assay ships."""


@dataclass(frozen=True)
class _Requirements:
    """The content of a requirements file: exact pins, and `without`, files of packages that labs must not see.

    Packages in `alone` are installed without their dependencies. Those in `node` come from npm. `size` is what the
    environment takes on disk, for people who wait for it. `python` is the oldest version that the packages run on.
    """

    pins: tuple[str, ...]
    without: tuple[str, ...]
    alone: tuple[str, ...] = ()
    node: tuple[str, ...] = ()
    size: str = ""
    python: str = ""


def _read_requirements(name: str) -> _Requirements:
    path = Path(name) if name.endswith(".txt") else _BUNDLED / f"{name}.txt"
    if name != path.stem and not name.endswith(".txt"):
        raise UsageError(f"{name!r} is not the name of an environment")
    if not path.is_file() and name.endswith(".txt"):
        raise UsageError(f"requirements file {name} does not exist")
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in _BUNDLED.glob("*.txt")))
        raise UsageError(f"unknown environment {name!r}; choose from {known}, or pass a requirements file (*.txt)")
    try:
        text = read_plain(path.resolve(), _MAX_REQUIREMENTS).decode()
    except (RecordError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    lines = (line.split(" #")[0].strip() for line in text.splitlines())
    requirements = sorted(line for line in lines if line and not line.startswith("#"))
    marked = {word: _arguments(requirements, word) for word in _DIRECTIVES}
    pins = tuple(line for line in requirements if line.partition(" ")[0] not in _DIRECTIVES)
    for line in (*pins, *marked["alone"]):
        if not re.fullmatch(_PIN, line, re.ASCII):
            raise UsageError(f"{path}: {line!r} is not an exact pin; write name==version")
    for line in marked["npm"]:
        if not re.fullmatch(r"(@[\w.\-]+/)?\w[\w.\-]*@\d[\w.\-]*", line, re.ASCII):
            raise UsageError(f"{path}: {line!r} is not an exact pin; write npm name@version")
    for line in marked["without"]:
        file = PurePosixPath(line)
        if file.is_absolute() or ".." in file.parts or not line.isprintable():
            raise UsageError(f"{path}: without {line!r}: write the path of a file inside the packages' folder")
    for line in marked["python"]:
        if not re.fullmatch(r"3\.\d{1,2}", line, re.ASCII):
            raise UsageError(f"{path}: python {line!r} is not a version; write python 3.12")
    size, python = ("".join(marked[word][:1]) for word in ("size", "python"))
    return _Requirements(pins, marked["without"], marked["alone"], marked["npm"], size, python)


def _arguments(lines: list[str], directive: str) -> tuple[str, ...]:
    """Return what follows a directive such as `without` in the lines that start with it."""
    return tuple(line.removeprefix(f"{directive} ") for line in lines if line.startswith(f"{directive} "))


def _folder(home: Home, requirements: _Requirements) -> Path:
    lines = (*requirements.pins, *(f"without {file}" for file in requirements.without))
    lines += (*(f"alone {line}" for line in requirements.alone), *(f"npm {line}" for line in requirements.node))
    python = _lab_python()
    if _is_older(python, requirements.python):
        python = find_python(requirements.python)[1]
    tag = f"{sys.implementation.name}-{''.join(python.split('.')[:2])}"
    parts = (_FORMAT, tag, python, platform.machine(), *lines)
    return home.environments / hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:24]


def _lab_python() -> str:
    """Return the version of Python in labs: that of this process, unless a harness needs a newer one than they have."""
    return os.environ.get("ASSAY_PYTHON") or platform.python_version()


def _build_elsewhere(home: Home, name: str, requirements: _Requirements, progress: Progress) -> Path:
    """Build an environment by a newer Python of this machine."""
    python, version = find_python(requirements.python)
    variables = {**os.environ, "ASSAY_HOME": str(home.root), "PYTHONPATH": str(Path(__file__).parents[2])}
    variables.pop("ASSAY_PYTHON", None)
    with progress.stage(f"Building {name} by Python {version}"):
        command = [python, "-m", "assay.lab.environments", name]
        done = subprocess.run(command, env=variables, capture_output=True, text=True)
    if done.returncode != 0:
        raise LabError(f"{name} could not be built by {python}:\n{done.stderr[-2000:].rstrip()}")
    return _folder(home, requirements)


def _is_older(python: str, oldest: str) -> bool:
    """Whether a version of Python is older than one that is required, if any is."""
    here, needed = ([int(part) for part in version.split(".")[:2]] for version in (python, oldest or "3.0"))
    return here < needed


def _copy_interpreter(folder: Path, *, bundled: bool) -> _Interpreter:
    source = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    executable = folder / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    executable.parent.mkdir(parents=True)
    shutil.copyfile(source, executable)
    executable.chmod(0o755)
    for alias in ("python", "python3"):
        executable.with_name(alias).symlink_to(executable.name)
    for library in _shared_libraries(source):
        (folder / "lib").mkdir(exist_ok=True)
        shutil.copyfile(library, folder / "lib" / library.name)
    base = {"installed_base": sys.base_prefix, "installed_platbase": sys.base_exec_prefix}
    variables = {**base, "base": sys.base_prefix, "platbase": sys.base_exec_prefix}
    for part in {Path(sysconfig.get_path(kind, "posix_prefix", variables)) for kind in ("stdlib", "platstdlib")}:
        shutil.copytree(
            part,
            folder / part.relative_to(sys.base_prefix),
            ignore=shutil.ignore_patterns(*_EXCLUDED),
            ignore_dangling_symlinks=True,
            dirs_exist_ok=True,
        )
    return _Interpreter(folder, executable, _find_site_packages(folder, executable), bundled)


def _shared_libraries(executable: Path) -> Iterator[Path]:
    """Yield the interpreter's shared library, if the executable is linked against it."""
    name = sysconfig.get_config_var("INSTSONAME")
    if not name or name.encode() + b"\0" not in executable.read_bytes():
        return
    for folder in (sysconfig.get_config_var("LIBDIR"), f"{sys.base_prefix}/lib"):
        if folder and (library := Path(folder) / name).is_file():
            yield library.resolve() if library.resolve().name == name else library
            return
    raise LabError(f"{executable} needs {name}, which is not in {sysconfig.get_config_var('LIBDIR')}; reinstall Python")


def _find_site_packages(folder: Path, executable: Path) -> Path:
    """Return where the copied interpreter looks for packages; Debian's differs from the usual folder."""
    code = "import json, site, sys; print(json.dumps([sys.prefix, site.getsitepackages()]))"
    settings = _library_variables(folder)
    answer = subprocess.run([executable, "-I", "-c", code], env=settings, capture_output=True, text=True)
    prefix, folders = json.loads(answer.stdout) if answer.returncode == 0 else (None, [])
    if prefix != str(folder):
        reason = answer.stderr.strip() or f"its prefix is {prefix}"
        raise LabError(f"a copy of {sys.executable} does not work in another folder: {reason}")
    return Path(folders[0])


def _library_variables(folder: Path) -> dict[str, str]:
    libraries = library_path(folder)
    return {"LD_LIBRARY_PATH": str(libraries)} if libraries else {}


def _install(interpreter: _Interpreter, requirements: tuple[str, ...], advance: Advance, *options: str) -> None:
    """Download wheels, then install them without a network."""
    listed = interpreter.folder / "requirements.txt"
    listed.write_text("".join(f"{line}\n" for line in requirements))
    wheels = interpreter.folder / ".wheels"
    wheels.mkdir()
    common = ["--progress-bar", "off", "--disable-pip-version-check", "--only-binary", ":all:", *options]
    names = {re.split(r"[\[=\s]", line)[0] for line in requirements}

    def count(line: str) -> None:
        if line.startswith("Collecting ") and re.split(r"[\[=\s]", line.removeprefix("Collecting "))[0] in names:
            advance(1)

    download = [*_pip(), "download", "--dest", str(wheels), *common, "-r", str(listed)]
    _run_pip(interpreter, download, count, network=True)
    target = ["--target", str(interpreter.packages), "--no-compile", "--no-warn-conflicts"]
    local = ["--no-index", "--find-links", str(wheels)]
    _run_pip(interpreter, [*_pip(), "install", *target, *local, *common, "-r", str(listed)], network=False)
    shutil.rmtree(wheels)
    _move_scripts(interpreter)


def _run_pip(
    interpreter: _Interpreter, command: list[str], see: Callable[[str], None] = lambda line: None, *, network: bool
) -> None:
    """Run pip in the sandbox, and show each line of its output to `see`."""
    confined = _confine(interpreter, command, network=network)
    output: list[str] = []
    with subprocess.Popen(confined, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        assert pip.stdout is not None
        for line in pip.stdout:
            output.append(line)
            see(line)
    if pip.returncode != 0:
        last = "".join(output[-15:]).rstrip()
        raise LabError(f"pip could not install the packages of {interpreter.folder / 'requirements.txt'}:\n{last}")


def _confine(interpreter: _Interpreter, command: list[str], *, network: bool) -> list[str]:
    """Return the command in the build sandbox; where no sandbox works, only environments that Assay ships are built."""
    if interpreter.bundled and not sandbox_works():
        return command
    return confine(command, _pip(), [interpreter.folder], network=network)


def _install_node(interpreter: _Interpreter, packages: tuple[str, ...]) -> None:
    """Install npm packages into `node_modules`, without running their install scripts."""
    npm = shutil.which("npm")
    if npm is None:
        raise LabError("this environment needs npm, which is not installed; run: apt-get install npm")
    command = [npm, "install", "--prefix", str(interpreter.folder), "--ignore-scripts", "--no-audit", "--no-fund"]
    confined = _confine(interpreter, [*command, "--omit=dev", *packages], network=True)
    done = subprocess.run(confined, capture_output=True, text=True)
    if done.returncode != 0:
        raise LabError(f"npm could not install {', '.join(packages)}:\n{done.stderr[-2000:].rstrip()}")


def _exclude_files(interpreter: _Interpreter, files: tuple[str, ...]) -> None:
    for file in files:
        path = interpreter.packages / file
        # A package may bring a link to a folder of this machine.
        if not path.is_file() or path.parent.resolve() != interpreter.packages.resolve() / PurePosixPath(file).parent:
            raise LabError(f"without {file}: no package has this file")
        path.unlink()


def _pip() -> list[str]:
    """Return the command that runs pip: the installed one, or else the one bundled with Python."""
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-P", "-m", "pip"]
    if importlib.util.find_spec("ensurepip"):
        import ensurepip

        bundled = sorted(Path(ensurepip.__file__).parent.glob("_bundled/pip-*.whl"))
        if bundled:
            return [sys.executable, f"{bundled[-1]}/pip"]
    raise LabError(f"{sys.executable} has no pip; install it (Debian: apt-get install python3-pip)")


def _move_scripts(interpreter: _Interpreter) -> None:
    """Put console scripts into `bin/`, and make each start the interpreter of its own environment.

    The same environment may be that of a task or of an agent, so scripts find their interpreter relative to themselves.
    """
    scripts = interpreter.packages / "bin"
    if not scripts.is_dir():
        return
    for script in scripts.iterdir():
        if script.is_dir():
            continue
        # pip writes a header of three lines if the path of the interpreter is long or contains spaces.
        text = re.sub(rb"\A#!/bin/sh\n'''exec' [^\n]*\n' '''\n", _SCRIPT_HEADER, script.read_bytes())
        text = re.sub(rb"\A#![^\n]*python[^\n]*\n", _SCRIPT_HEADER, text)
        moved = interpreter.folder / "bin" / script.name
        moved.write_bytes(text)
        moved.chmod(0o755)
    shutil.rmtree(scripts)


def _compile(folder: Path) -> None:
    """Compile everything now: the lab cannot write here, and uncompiled packages load several times slower."""
    with _allow_bytecode():
        # Paths in tracebacks are those the lab sees. Files that do not compile (templates, Python 2) are ignored.
        compileall.compile_dir(folder, quiet=2, workers=os.cpu_count() or 1, stripdir=str(folder), prependdir=INSIDE)


@contextmanager
def _allow_bytecode() -> Iterator[None]:
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


def _write_manifest(interpreter: _Interpreter, name: str, requirements: _Requirements) -> None:
    distributions = importlib.metadata.distributions(path=[str(interpreter.packages)])
    write_json(
        interpreter.folder / "environment.json",
        {
            "format": _FORMAT,
            "name": Path(name).stem,
            "python": platform.python_version(),
            "machine": platform.machine(),
            "requirements": hashlib.sha256("\n".join((*requirements.pins, *requirements.alone)).encode()).hexdigest(),
            "without": list(requirements.without),
            "node": list(requirements.node),
            "packages": dict(sorted((package.metadata["Name"], package.version) for package in distributions)),
        },
    )


def _make_readable(folder: Path) -> None:
    """Let every user read the environment, whatever the umask: labs run as another user."""
    for path, _, files in os.walk(folder):
        Path(path).chmod(0o755)
        for name in files:
            file = Path(path, name)
            if not file.is_symlink():
                file.chmod(0o755 if file.stat().st_mode & 0o100 else 0o644)


class _Lines:
    """Displays a line per stage; the bars of `assay.core.progress` need a package that may not be installed yet."""

    @contextmanager
    def stage(self, what: str, total: float | None = None) -> Iterator[Advance]:
        sys.stderr.write(f"{what} …\n")
        sys.stderr.flush()
        yield lambda amount: None


def main(names: list[str]) -> int:
    """Build the environments with these names in the default home."""
    for name in names:
        try:
            sys.stdout.write(f"{build_environment(Home.default(), name, _Lines())}\n")
        except (UsageError, LabError) as error:
            sys.stderr.write(f"{error}\n")
            return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["core"]))
