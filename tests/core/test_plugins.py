"""One door for plug-ins: registered names and `path.py:name`."""

import subprocess
import sys
from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.core.plugins import Plugins, split_path

AGENTS = Plugins[type]("agents", "agent", lambda value: isinstance(value, type))


def test_registered_plugins_are_listed_and_loaded_by_name() -> None:
    assert {"aide", "starter"} <= set(AGENTS.names())
    assert AGENTS.load("starter").__name__ == "Starter"
    entry = AGENTS.entry("starter")
    assert entry is not None and entry.module == "assay.agents.starter"
    assert AGENTS.entry("nobody") is None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("startr", "no agent is called 'startr'; did you mean starter?"),
        ("code.py", "code.py is a file; name what it defines: code.py:Mine"),
        ("empty.py", "empty.py is a file; name what it defines: empty.py:NAME"),
        ("missing.py:Mine", "missing.py is missing"),
        ("code.py:Yours", "code.py defines no agent Yours"),
        ("code.py:Mime", "code.py defines no agent Mime; did you mean Mine?"),
        ("code.py:number", "code.py defines no agent number"),
        (
            "near.py:Mine",
            "near.py cannot be imported: {folder}/near.py:1: ModuleNotFoundError: No module named 'code_'; "
            "for the file next to it, write: from . import code_",
        ),
        ("broken.py:Mine", "broken.py cannot be imported: {folder}/broken.py:2: ZeroDivisionError: division by zero"),
    ],
)
def test_what_cannot_be_loaded_is_explained(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "code.py").write_text("class Mine:\n    pass\n\n\nnumber = 1\n")
    (tmp_path / "near.py").write_text("import code_\n")
    (tmp_path / "code_.py").write_text("")
    (tmp_path / "broken.py").write_text("class Mine:\n    half = 1 / 0\n")
    (tmp_path / "empty.py").write_text("")
    with pytest.raises(UsageError) as error:
        AGENTS.load(name, tmp_path)
    assert str(error.value).replace(f"{tmp_path}/missing", "missing").removeprefix(f"{tmp_path}/") == message.format(
        folder=tmp_path
    )


def test_a_path_is_relative_to_the_folder_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text("class Mine:\n    value = 1\n")
    assert AGENTS.load("code.py:Mine", tmp_path).value == 1
    assert AGENTS.load(f"{tmp_path}/code.py:Mine").value == 1


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a/b.py:C", (Path("a/b.py"), "C")),
        ("ray://host:1", None),
        ("ray:local", None),
        ("mlebench:low", None),
        ("aide", None),
        ("code.py", None),
    ],
)
def test_only_a_python_file_with_a_name_is_a_path(name: str, parts: tuple[Path, str] | None) -> None:
    assert split_path(name) == parts


def test_a_kind_that_nothing_registers_has_no_plugins() -> None:
    nothing = Plugins[type]("nothing-of-the-kind", "thing")
    assert nothing.names() == []
    with pytest.raises(UsageError, match="no thing is registered"):
        nothing.load("first")


def _register(folder: Path, package: str, entry: str) -> None:
    metadata = folder / f"{package}-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(f"[assay.things]\n{entry}\n")


def test_two_packages_that_register_one_name_are_both_named(tmp_path: Path) -> None:
    _register(tmp_path, "alpha", "mine = alpha:Mine")
    _register(tmp_path, "beta", "mine = beta:Mine")
    program = "from assay.core.plugins import Plugins; Plugins('things', 'thing').load('mine')"
    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert "UsageError: several packages register the thing mine: alpha:Mine, beta:Mine" in done.stderr
