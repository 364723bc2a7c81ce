"""What is in the source tree is in the package that users install."""

import tomllib

from pages import ROOT

SOURCE = ROOT / "src" / "assay"


def test_every_file_belongs_to_a_python_package_or_to_the_package_data():
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["assay"]
    packaged = {path for pattern in patterns for path in SOURCE.glob(pattern)}
    files = [path for path in SOURCE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    modules = {path for path in files if path.suffix == ".py" and (path.parent / "__init__.py").exists()}
    assert modules
    assert [str(path) for path in files if path not in packaged | modules] == []


def test_every_pattern_of_the_package_data_matches_a_file():
    """A pattern that no longer matches drops files from the wheel, which no test of a checkout would notice."""
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["assay"]
    assert [pattern for pattern in patterns if not any(SOURCE.glob(pattern))] == []
