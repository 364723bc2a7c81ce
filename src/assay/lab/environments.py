"""The Python environments that labs see at `/opt/env`: a whole interpreter and exact packages in one movable folder.

Only the standard library is used, so that `python -m assay.lab.environments core` works before anything is installed.
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
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from assay.core.disk import file_lock, write_json
from assay.core.errors import LabError, UsageError
from assay.core.home import Home
from assay.core.progress import Advance, Progress

INSIDE = "/opt/env"
"""Where a lab sees its environment."""
TOOLS_INSIDE = "/opt/agent"
"""Where a lab sees the environment of an agent that lives in it."""

_FORMAT = "environment/1"
_NAMED = Path(__file__).parent / "environments"
_LEFT_OUT = (
    "__pycache__", "test", "tests", "idle_test", "idlelib", "tkinter", "turtledemo", "ensurepip", "config-*",
    "site-packages", "dist-packages", "sitecustomize.py", "usercustomize.py", "EXTERNALLY-MANAGED",
)  # fmt: skip
_MARKS = ("without", "alone", "npm")
_PIP_SETTINGS_WE_DECIDE = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_REQUIRE_VIRTUALENV")


def find_environment(home: Home, name: str) -> Path:
    """The folder of a built environment: one that comes with Assay, by name, or the path of a requirements file."""
    folder = _folder(home, _order(name))
    if not folder.is_dir():
        python = platform.python_version()
        raise LabError(f"environment {name!r} is not built for Python {python}; run: assay lab build {name}")
    return folder


def build_environment(home: Home, name: str, progress: Progress) -> Path:
    """Build an environment, or return the one that is there already."""
    order = _order(name)
    folder = _folder(home, order)
    if folder.is_dir():
        return folder
    with file_lock(home.locks / f"environment-{folder.name}"):
        if folder.is_dir():
            return folder
        unfinished = folder.with_name(f".{folder.name}")
        shutil.rmtree(unfinished, ignore_errors=True)
        with progress.stage(f"Copying Python {platform.python_version()}"):
            interpreter = _copy_interpreter(unfinished)
        if order.pins:
            with progress.stage(f"Installing {len(order.pins)} packages", len(order.pins)) as advance:
                _install(interpreter, order.pins, advance)
        if order.alone:
            with progress.stage(f"Installing {len(order.alone)} packages alone", len(order.alone)) as advance:
                _install(interpreter, order.alone, advance, "--no-deps")
        if order.node:
            with progress.stage(f"Installing {', '.join(order.node)}"):
                _install_node(interpreter, order.node)
        _leave_out(interpreter, order.without)
        with progress.stage("Compiling"):
            _compile(interpreter.folder)
        _describe(interpreter, name, order)
        _open_to_readers(unfinished)
        unfinished.rename(folder)
    return folder


def library_path(folder: Path) -> Path | None:
    """The folder the interpreter's own shared library is in, for interpreters that are linked against one."""
    libraries = folder / "lib"
    return libraries if any(libraries.glob("libpython*.so*")) else None


@dataclass(frozen=True)
class _Interpreter:
    """A copied interpreter: its executable runs wherever the folder is."""

    folder: Path
    executable: Path
    packages: Path


@dataclass(frozen=True)
class _Order:
    """What an environment's file asks for: exact pins, and files of the packages that labs must not see.

    Packages to be installed `alone` come without what they say they need. Those of `node` come from npm.
    """

    pins: tuple[str, ...]
    without: tuple[str, ...]
    alone: tuple[str, ...] = ()
    node: tuple[str, ...] = ()


def _order(name: str) -> _Order:
    path = Path(name) if name.endswith(".txt") else _NAMED / f"{name}.txt"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in _NAMED.glob("*.txt")))
        raise UsageError(f"no environment {name!r}; there is {known}, or give the path of a requirements file (*.txt)")
    lines = (line.split(" #")[0].strip() for line in path.read_text("utf-8").splitlines())
    wanted = sorted(line for line in lines if line and not line.startswith("#"))
    marked = {
        mark: tuple(line.removeprefix(f"{mark} ") for line in wanted if line.startswith(f"{mark} ")) for mark in _MARKS
    }
    pins = tuple(line for line in wanted if line.partition(" ")[0] not in _MARKS)
    for line in (*pins, *marked["alone"]):
        if not re.match(r"[A-Za-z0-9][\w.\-]*(\[[\w\-.,]+\])?\s*==\s*[\w.+!\-]+", line):
            raise UsageError(f"{path}: {line!r} is not an exact pin; write name==version")
    for line in marked["npm"]:
        if not re.fullmatch(r"(@[\w.\-]+/)?[\w.\-]+@\d[\w.\-]*", line):
            raise UsageError(f"{path}: {line!r} is not an exact pin; write npm name@version")
    return _Order(pins, marked["without"], marked["alone"], marked["npm"])


def _folder(home: Home, order: _Order) -> Path:
    asked = (*order.pins, *(f"without {file}" for file in order.without))
    asked += (*(f"alone {line}" for line in order.alone), *(f"npm {line}" for line in order.node))
    parts = (_FORMAT, sys.implementation.cache_tag, platform.python_version(), platform.machine(), *asked)
    return home.environments / hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:24]


def _copy_interpreter(folder: Path) -> _Interpreter:
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
    places = {**base, "base": sys.base_prefix, "platbase": sys.base_exec_prefix}
    for part in {Path(sysconfig.get_path(kind, "posix_prefix", places)) for kind in ("stdlib", "platstdlib")}:
        shutil.copytree(
            part,
            folder / part.relative_to(sys.base_prefix),
            ignore=shutil.ignore_patterns(*_LEFT_OUT),
            ignore_dangling_symlinks=True,
            dirs_exist_ok=True,
        )
    return _Interpreter(folder, executable, _ask_where_packages_go(folder, executable))


def _shared_libraries(executable: Path) -> Iterator[Path]:
    """The interpreter's library, if the executable is linked against it: many are built with one and do without."""
    name = sysconfig.get_config_var("INSTSONAME")
    if not name or name.encode() + b"\0" not in executable.read_bytes():
        return
    for place in (sysconfig.get_config_var("LIBDIR"), f"{sys.base_prefix}/lib"):
        if place and (library := Path(place) / name).is_file():
            yield library.resolve() if library.resolve().name == name else library
            return
    raise LabError(f"{executable} needs {name}, which is not in {sysconfig.get_config_var('LIBDIR')}; reinstall Python")


def _ask_where_packages_go(folder: Path, executable: Path) -> Path:
    """Where the copied interpreter looks for packages; Debian's looks elsewhere than everybody else's."""
    question = "import json, site, sys; print(json.dumps([sys.prefix, site.getsitepackages()]))"
    answer = subprocess.run([executable, "-I", "-c", question], env=_quiet(folder), capture_output=True, text=True)
    prefix, places = json.loads(answer.stdout) if answer.returncode == 0 else (None, [])
    if prefix != str(folder):
        why = answer.stderr.strip() or f"it takes {prefix} for its own folder"
        raise LabError(f"a copy of {sys.executable} does not run from another folder: {why}")
    return Path(places[0])


def _quiet(folder: Path) -> dict[str, str]:
    libraries = library_path(folder)
    return {"LD_LIBRARY_PATH": str(libraries)} if libraries else {}


def _install(interpreter: _Interpreter, requirements: tuple[str, ...], advance: Advance, *options: str) -> None:
    listed = interpreter.folder / "requirements.txt"
    listed.write_text("".join(f"{line}\n" for line in requirements))
    command = [
        *_pip(), "install", "--target", str(interpreter.packages), "--only-binary", ":all:", "--no-compile",
        "--progress-bar", "off", "--disable-pip-version-check", "--no-warn-conflicts", *options, "-r", str(listed),
    ]  # fmt: skip
    settings = {name: value for name, value in os.environ.items() if name not in _PIP_SETTINGS_WE_DECIDE}
    names = {re.split(r"[\[=\s]", line)[0] for line in requirements}
    said: list[str] = []
    with subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        assert pip.stdout is not None
        for line in pip.stdout:
            said.append(line)
            if line.startswith("Collecting ") and re.split(r"[\[=\s]", line.removeprefix("Collecting "))[0] in names:
                advance(1)
    if pip.returncode != 0:
        raise LabError(f"pip could not install the packages of {listed}:\n{''.join(said[-15:]).rstrip()}")
    _move_scripts(interpreter)


def _install_node(interpreter: _Interpreter, packages: tuple[str, ...]) -> None:
    """Install packages of Node into `node_modules`; nothing of theirs is run on this machine while that happens."""
    npm = shutil.which("npm")
    if npm is None:
        raise LabError("this environment has packages of Node in it, and npm is not installed: apt-get install npm")
    command = [npm, "install", "--prefix", str(interpreter.folder), "--ignore-scripts", "--no-audit", "--no-fund"]
    done = subprocess.run([*command, "--omit=dev", *packages], capture_output=True, text=True)
    if done.returncode != 0:
        raise LabError(f"npm could not install {', '.join(packages)}:\n{done.stderr[-2000:].rstrip()}")


def _leave_out(interpreter: _Interpreter, files: tuple[str, ...]) -> None:
    for file in files:
        path = interpreter.packages / file
        if not path.is_file():
            raise LabError(f"{file} is to be left out of the environment, but no package has it")
        path.unlink()


def _pip() -> list[str]:
    """The command that runs pip for this interpreter: installed, else the one that comes inside Python."""
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    if importlib.util.find_spec("ensurepip"):
        import ensurepip

        bundled = sorted(Path(ensurepip.__file__).parent.glob("_bundled/pip-*.whl"))
        if bundled:
            return [sys.executable, f"{bundled[-1]}/pip"]
    raise LabError(f"{sys.executable} has no pip; install it (Debian: apt-get install python3-pip) and try again")


def _move_scripts(interpreter: _Interpreter) -> None:
    """Put console scripts on the lab's PATH, and let them start the interpreter where the lab sees it."""
    scripts = interpreter.packages / "bin"
    if not scripts.is_dir():
        return
    for script in scripts.iterdir():
        if script.is_dir():
            continue
        # pip writes a three-line preamble instead of one where the interpreter's path is long or has spaces.
        text = re.sub(rb"\A#![^\n]*python[^\n]*\n", f"#!{INSIDE}/bin/python\n".encode(), script.read_bytes())
        text = re.sub(rb"\A#!/bin/sh\n'''exec' [^\n]*\n' '''\n", f"#!{INSIDE}/bin/python\n".encode(), text)
        moved = interpreter.folder / "bin" / script.name
        moved.write_bytes(text)
        moved.chmod(0o755)
    shutil.rmtree(scripts)


def _compile(folder: Path) -> None:
    """Compile everything now: the lab cannot write here, and uncompiled packages start several times slower."""
    with _bytecode_allowed():
        # Paths in tracebacks are those the lab sees. Files that do not compile (templates, Python 2) are no fault.
        compileall.compile_dir(folder, quiet=2, workers=os.cpu_count() or 1, stripdir=str(folder), prependdir=INSIDE)


@contextmanager
def _bytecode_allowed() -> Iterator[None]:
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


def _describe(interpreter: _Interpreter, name: str, order: _Order) -> None:
    found = importlib.metadata.distributions(path=[str(interpreter.packages)])
    write_json(
        interpreter.folder / "environment.json",
        {
            "format": _FORMAT,
            "name": Path(name).stem,
            "python": platform.python_version(),
            "machine": platform.machine(),
            "requirements": hashlib.sha256("\n".join((*order.pins, *order.alone)).encode()).hexdigest(),
            "without": list(order.without),
            "node": list(order.node),
            "packages": dict(sorted((package.metadata["Name"], package.version) for package in found)),
        },
    )


def _open_to_readers(folder: Path) -> None:
    """Let every user read it, whatever the builder's umask: labs run as another one."""
    for place, _, files in os.walk(folder):
        Path(place).chmod(0o755)
        for name in files:
            file = Path(place, name)
            if not file.is_symlink():
                file.chmod(0o755 if file.stat().st_mode & 0o100 else 0o644)


class _Lines:
    """Shows a line per stage; the bars of `assay.core.progress` need a package that may not be there yet."""

    @contextmanager
    def stage(self, what: str, total: float | None = None) -> Iterator[Advance]:
        sys.stderr.write(f"{what} …\n")
        sys.stderr.flush()
        yield lambda amount: None


def main(names: list[str]) -> int:
    """Build the environments with these names into the default home."""
    for name in names:
        try:
            sys.stdout.write(f"{build_environment(Home.default(), name, _Lines())}\n")
        except (UsageError, LabError) as error:
            sys.stderr.write(f"{error}\n")
            return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["core"]))
