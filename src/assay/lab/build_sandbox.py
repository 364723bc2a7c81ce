"""The sandbox in which the packages of an environment are downloaded and installed.

A requirements file may be a stranger's, and so may be what its packages depend on: a dependency that is given by its
address can be source code, which runs while it is built. In the sandbox exist the system, Python, the settings of pip
and npm with the local indexes that they name, and the folder to install to; not the home folder, keys or other data.
Downloads use the network of the machine, and installing has none. Where bubblewrap does not work, as in a container
without user namespaces, only the environments that Assay ships are built. This module uses only the standard library.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from assay.core.errors import LabError

_VARIABLES = re.compile(
    r"PATH|LANG|LC_ALL|(PIP|NPM_CONFIG)_.*|(HTTPS?|ALL|NO)_PROXY|.*_CA_(BUNDLE|CERTS)|SSL_CERT_.*", re.IGNORECASE
)
_NOT_VARIABLES = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_REQUIRE_VIRTUALENV", "PIP_CACHE_DIR")
_ETC = (
    "alternatives", "ca-certificates", "hosts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime",
    "nsswitch.conf", "passwd", "pip.conf", "pki", "resolv.conf", "ssl",
)  # fmt: skip
_SETTINGS = (".config/pip", ".pip", ".npmrc")
_SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")


@lru_cache
def sandbox_works() -> bool:
    """Whether bubblewrap is installed and may create namespaces on this machine."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return False
    return subprocess.run([bwrap, "--unshare-all", "--ro-bind", "/", "/", "true"], capture_output=True).returncode == 0


def confine(command: Sequence[str], pip: Sequence[str], writable: Iterable[Path], *, network: bool) -> list[str]:
    """Return the command line that runs a command in the sandbox, where it can write to `writable` folders."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise LabError("environments are built in a sandbox; run: apt-get install bubblewrap")
    words = [bwrap, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    if network:
        words.append("--share-net")
    words += ["--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    for name in _SYSTEM:
        path = Path("/", name)
        if path.is_symlink():
            words += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            words += ["--ro-bind", str(path), str(path)]
    for name in _ETC:
        words += ["--ro-bind-try", str(Path("/etc", name).resolve()), f"/etc/{name}"]
    home = Path.home()
    words += ["--dir", str(home)]
    for path in dict.fromkeys([*(home / name for name in _SETTINGS), *_find_python(), *_find_named(pip)]):
        if not path.is_relative_to("/usr"):
            words += ["--ro-bind-try", str(path), str(path)]
    for folder in writable:
        words += ["--bind", str(folder), str(folder)]
    words += ["--clearenv", "--setenv", "HOME", str(home), "--setenv", "PIP_NO_CACHE_DIR", "1", "--chdir", "/"]
    for name, value in os.environ.items():
        if _VARIABLES.fullmatch(name) and name not in _NOT_VARIABLES:
            words += ["--setenv", name, value]
    return [*words, "--setenv", "npm_config_cache", "/tmp/npm", "--", *command]


def _find_python() -> Iterator[Path]:
    """Yield the folders of this interpreter."""
    for folder in (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix):
        yield Path(folder)
    yield from (Path(entry) for entry in sys.path if Path(entry, "pip").is_dir() or Path(entry).name == "ensurepip")


def _find_named(pip: Sequence[str]) -> Iterator[Path]:
    """Yield the files and folders that pip's settings name, such as certificates and local indexes."""
    listed = subprocess.run([*pip, "config", "list"], cwd="/", capture_output=True, text=True).stdout
    values = [line.partition("=")[2] for line in listed.splitlines()]
    texts = [value for name, value in os.environ.items() if _VARIABLES.fullmatch(name) and name.upper() != "PATH"]
    words = [word for value in values for text in shlex.split(value) for word in text.split()]
    for word in [*words, *(word for text in texts for word in text.split())]:
        path = Path(word.removeprefix("file://"))
        if not path.is_absolute() or path.parent == path or not path.exists():
            continue
        yield path
        if word.startswith("file://") and not _contains_private_files(path.parent):
            # The pages of an index link to packages, which usually are in a folder beside it.
            yield path.parent


def _contains_private_files(folder: Path) -> bool:
    """Whether a folder contains or is in the home folder, or is a folder of the system."""
    home = Path.home()
    return home.is_relative_to(folder) or folder.is_relative_to(home) or len(folder.parts) < 3
