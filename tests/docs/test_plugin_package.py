"""The package of `docs/plugins.md` is installed and used as written."""

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from pages import BLOCK, ROOT, run_in_bash

from assay.core.home import Home

PAGE = (ROOT / "docs" / "plugins.md").read_text()


def build_wheel(project: Path) -> Path:
    """Zip a pure Python project as a build backend would; none is needed, and no network."""
    facts = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    name, version, source = facts["name"], facts["version"], project / "src"
    wheel, metadata = project / f"{name}-{version}-py3-none-any.whl", f"{name}-{version}.dist-info"
    groups = "".join(
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in entries.items())
        for group, entries in facts["entry-points"].items()
    )
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in (path for path in source.rglob("*") if path.is_file()):
            archive.write(path, path.relative_to(source))
        archive.writestr(f"{metadata}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{metadata}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{metadata}/entry_points.txt", groups)
        archive.writestr(f"{metadata}/RECORD", "")
    return wheel


@pytest.mark.slow
def test_an_installed_package_brings_a_suite_a_metric_an_agent_a_study_and_a_check(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = list(BLOCK.finditer(PAGE))
    for block in blocks:
        if block["file"]:
            path = tmp_path / block["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block["text"])
    wheel, packages = build_wheel(tmp_path / "gadgets"), tmp_path / "packages"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", packages, wheel]
    subprocess.run(pip, check=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(packages))
    monkeypatch.setenv("ASSAY_HOME", str(home.root))
    monkeypatch.setenv("COLUMNS", "200")
    commands = [line[2:] for block in blocks if block["language"] == "console" for line in block["text"].splitlines()]
    printed = {
        command.split()[1]: run_in_bash(command.replace("assay ", "python -m assay ", 1)) for command in commands
    }
    assert all(done.returncode == 0 for done in printed.values()), printed
    assert "share of guesses within one of the truth" in printed["tasks"].stdout
    grade = next(tmp_path.glob("runs/weights/trials/*/grade.json")).read_text()
    assert re.search(r'"score": ?0\.5\b', grade)  # 1 is within one of 0 and 2, not of 3 and 9
    assert "1 attempts" in printed["study"].stdout
    assert "4 answers" in printed["audit"].stdout


def test_every_kind_of_plugin_is_documented() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    assert {group for group in groups if group.startswith("assay.")} <= set(re.findall(r"\| `(assay\.\w+)` \|", PAGE))
