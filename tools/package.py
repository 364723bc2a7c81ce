"""Build the source archive and from it the wheel, install that into an empty environment, and use it: `make package`.

The environment has nothing but what the package declares. If uv is there, a second one is made with it. `--tag vX.Y.Z`
also checks that the version and the changelog fit the tag of a release.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
BUILD = "import sys; from setuptools import build_meta; print(getattr(build_meta, sys.argv[1])(sys.argv[2]))"
SMOKE = (
    ("assay", "--version"),
    ("assay", "tasks", "pocket/house-price"),
    ("assay", "new", "agent", "my_agent"),
    ("assay", "plan", "pocket/digits", "--agent", "my_agent.py:MyAgent"),
    ("assay", "agents"),
    ("python", "-c", "import assay; from assay.web.app import make_environment as pages; pages()"),
    (
        "python",
        "-c",
        "from assay.models import Models, Prices; Models({'main': 'scripted/r.json'}, prices=Prices()).check()",
    ),
)


def main() -> None:
    """Build, install and use the package."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tag", help="tag of the release, such as v0.2.0")
    version = read_version()
    if tag := parser.parse_args().tag:
        check_release(tag, version)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = build(folder, version)
        use(folder / "with-pip", [sys.executable, "-m", "venv"], ["bin/python", "-m", "pip", "install", "-q"], wheel)
        if uv := shutil.which("uv"):
            use(folder / "with-uv", [uv, "venv", "-q"], [uv, "pip", "install", "-q", "--python", "bin/python"], wheel)


def read_version() -> str:
    """Return the version, which is only in `assay/__init__.py`."""
    match = re.search(r'^__version__ = "(.+)"$', (ROOT / "src" / "assay" / "__init__.py").read_text(), re.M)
    assert match, "src/assay/__init__.py has no __version__"
    return match[1]


def check_release(tag: str, version: str) -> None:
    """Exit if a tag is not the version, or the changelog has no entries for it."""
    if tag != f"v{version}":
        raise SystemExit(f"the tag is {tag}, but __version__ is {version}")
    section = (ROOT / "CHANGELOG.md").read_text().partition(f"\n## {version} - ")[2].partition("\n## ")[0]
    if "\n- " not in section:
        raise SystemExit(f"CHANGELOG.md has no entries under '## {version} - DATE'")


def build(folder: Path, version: str) -> Path:
    """Write both files to dist/; the wheel is built from the source archive, so nothing can be missing from it."""
    venv.create(folder / "build", with_pip=True)
    python = folder / "build" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "setuptools>=77"], check=True)
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    run([python, "-c", BUILD, "build_sdist", DIST], ROOT)
    with tarfile.open(DIST / f"mlassay-{version}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    run([python, "-c", BUILD, "build_wheel", DIST], folder / f"mlassay-{version}")
    (wheel,) = DIST.glob("*.whl")
    print(f"dist/{wheel.name}: {wheel.stat().st_size:,} bytes")  # noqa: T201
    return wheel


def use(folder: Path, make: list[str], install: list[str], wheel: Path) -> None:
    """Install the wheel into a new environment and call what a first user calls."""
    run([*make, folder], ROOT)
    run([folder / word if word == "bin/python" else word for word in [*install, str(wheel)]], ROOT)
    (folder / "r.json").write_text('["Hello."]')
    for words in SMOKE:
        run([folder / "bin" / words[0], *words[1:]], folder)
    print(f"{folder.name}: installed and used")  # noqa: T201


def run(command: list[str | Path], folder: Path) -> None:
    """Run a command; if it fails, print what it printed and exit."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
