"""What tests see of the machine: a few of the caller's environment variables, and what `make test` has installed."""

import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from assay.core.home import Home
from assay.lab.host import slots

KEPT = re.compile(
    "PATH|USER|LOGNAME|SHELL|TMPDIR|LD_LIBRARY_PATH|(PIP|UV|NPM_CONFIG|PYTEST|COVERAGE|COV|OMP|OPENBLAS|MKL)_.*"
    "|PYTHON(PATH|DONTWRITEBYTECODE|PYCACHEPREFIX)|(HTTPS?|ALL|NO)_PROXY|.*_CA_(BUNDLE|CERTS)|SSL_CERT_.*",
    re.IGNORECASE,
)
"""The variables that tests inherit: where programs are, and how packages are downloaded."""
PACKAGE_SETTINGS = (".npmrc", ".pip", ".config/pip", ".config/uv")
"""What tests see of the user's home directory: how packages are downloaded."""
LOOPBACK = "localhost,127.0.0.1,::1"
CHECKOUT = Path(__file__).parent.parent
CACHES = {".git", ".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".venv", "__pycache__"}
"""Folders of the checkout to which tools write while tests run."""


def list_checkout(home: Path) -> set[Path]:
    """Return all files of the checkout but those of caches and of the machine's home, which may be in it."""
    listed: set[Path] = set()
    for folder, folders, files in os.walk(CHECKOUT):
        folders[:] = [name for name in folders if name not in CACHES and Path(folder, name) != home]
        listed.update(Path(folder, name) for name in [*files, *folders])
    return listed


def list_untracked(paths: set[Path]) -> list[Path]:
    """Return the files that no commit has: others may have arrived by a checkout during the test run."""
    if not paths:
        return []
    git = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True, text=True)
    tracked = {CHECKOUT / name for name in git.stdout.split("\0")}
    return sorted(paths - tracked - {folder for path in tracked for folder in path.parents})


def isolate(folder: Path) -> None:
    """Replace the environment variables of this process, whose workers inherit them, by ones that are always the same.

    The machine's home and that of the user are replaced by folders in `folder`. The machine's built environments and
    downloads are borrowed from the home that the caller has set.
    """
    user = make_user_home(folder / "user")
    default = borrow_machine(folder / "default")
    kept = {name: value for name, value in os.environ.items() if KEPT.fullmatch(name)}
    no_proxy = ",".join([LOOPBACK, *(kept[name] for name in ("no_proxy", "NO_PROXY") if kept.get(name))])
    os.environ.clear()
    os.environ.update(kept)
    os.environ.update(
        {
            "ASSAY_HOME": str(default.root),
            "ASSAY_SEEDS": "1",  # one trial per task and agent is enough for most tests
            "HOME": str(user),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            **dict.fromkeys(["no_proxy", "NO_PROXY"], no_proxy),
        }
    )
    time.tzset()


def make_user_home(folder: Path) -> Path:
    """Make a home directory with the package settings of the user, in which the suites of the checkout are trusted."""
    folder.mkdir()
    (folder / ".config/assay").mkdir(parents=True)
    (folder / ".config/assay/trusted").write_text(f"{CHECKOUT}\n")
    for name in PACKAGE_SETTINGS:
        original = Path(f"~/{name}").expanduser()
        if original.exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).symlink_to(original.absolute())
    return folder


def make_folder() -> Path:
    """Make a folder that sandboxes of another user can enter, unlike pytest's own temporary folders."""
    folder = Path(tempfile.mkdtemp(prefix="assay-test-", dir="/var/tmp"))
    folder.chmod(0o755)
    return folder


def borrow_machine(root: Path) -> Home:
    """Make a home that uses the built environments and downloads of the default home, so that none is made twice."""
    machine = Home.default()
    root.mkdir(exist_ok=True)
    (root / "environments").symlink_to(machine.environments.resolve())
    (root / "downloads").symlink_to(machine.downloads.resolve())
    return Home(root)


def remove_containers(user: Path) -> None:
    """Remove what Podman keeps in the home directory of an ordinary user: only Podman can, as it belongs to others."""
    if (folder := user / ".local/share/containers").exists():
        settings = os.environ | {"HOME": str(user)}
        subprocess.run(["podman", "unshare", "rm", "-rf", folder], env=settings, cwd="/", stderr=subprocess.DEVNULL)


def remove_home(root: Path) -> None:
    """Remove a home with the mounts that killed labs left behind."""
    slots.sweep(Home(root))
    shutil.rmtree(root)
