"""Environments are built once and completely, from exact pins, and work at the path the lab sees."""

import json
import os
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from inside import Open, python

from assay.core.disk import hash_file
from assay.core.errors import LabError, UsageError
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.lab import Setup, open_lab
from assay.lab.environments import build_environment, find_environment
from assay.lab.import_check import check_imports
from assay.tasks import Registry

SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture
def own(home: Home) -> Home:
    """A home with environments of its own."""
    (home.root / "environments").unlink()
    return home


def test_a_built_environment_is_not_built_again(core: Path):
    before = core.stat().st_ctime_ns
    assert build_environment(Home.default(), "core", NoProgress()) == core
    assert core.stat().st_ctime_ns == before


@pytest.mark.anyio
async def test_core_has_what_its_pins_say_and_runs_in_the_lab(opened: Open, core: Path):
    record = json.loads((core / "environment.json").read_text())
    listed = (SOURCE / "assay/lab/environments/core.txt").read_text().splitlines()
    pins = dict(line.split()[0].split("==") for line in listed if "==" in line)
    assert {name.lower(): version for name, version in record["packages"].items()} == pins
    async with opened() as lab:
        done = await python(lab, "from flaml import AutoML; import xgboost, PIL; print(AutoML.__name__)", seconds=120)
        assert done.stdout.text == "AutoML\n", done.stderr.text
        script = await lab.run(["numpy-config", "--version"], seconds=60)
    assert script.stdout.text.strip() == pins["numpy"], script.stderr.text


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["mlebench", "torch"])
async def test_every_package_works_in_a_sealed_lab(home: Home, name: str):
    packages = {each.package.lower(): each for each in await check_imports(home, name)}
    assert {name: each.error for name, each in packages.items() if each.error} == {}
    assert {name: each.printed for name, each in packages.items() if each.printed} == {}
    assert packages["xgboost-cpu"].used and not packages["tzdata"].used
    assert {"mlebench": ("bson", "gridfs", "pymongo"), "torch": ("functorch", "torch", "torchgen")}[name] == (
        packages["pymongo" if name == "mlebench" else "torch"].modules
    )


def test_packages_that_cannot_be_imported_are_named(own: Home, assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    faults = {"missing": "import no_such_module", "crash": "import os; os.abort()", "fine": "print('hello')"}
    for name, code in faults.items():
        write_wheel(tmp_path / f"{name}-1.0-py3-none-any.whl", name, code)
    requirements = tmp_path / "faulty.txt"
    requirements.write_text("".join(f"{name}==1.0\n" for name in faults))
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    build_environment(own, str(requirements), NoProgress())
    checked = assay("lab", "check", requirements)
    assert checked.returncode == 1
    assert "missing: ModuleNotFoundError: No module named 'no_such_module'" in checked.stdout
    assert "ended with status -6" in checked.stdout
    assert "fine" in checked.stdout and "hello" in checked.stdout
    assert f"1 of 3 packages of {requirements} work in a sealed lab; 0 were used." in checked.stdout


def test_the_environment_does_not_contain_the_data_of_a_task(core: Path):
    sources = [source for task in Registry().tasks() for source in (*task.source.packages, *task.source.installed)]
    digests = {digest for source in sources for digest in source.members.values()}
    names = {Path(member).name for source in sources for member in source.members}
    assert "digits.csv.gz" in names
    assert not [path for path in core.rglob("*") if path.name in names and hash_file(path) in digests]


def test_a_file_to_exclude_must_exist(own: Home, tmp_path: Path):
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("without no/such/file.csv\n")
    with pytest.raises(LabError, match="no package has this file"):
        build_environment(own, str(requirements), NoProgress())


def test_every_user_can_read_it_and_only_its_owner_can_write(core: Path):
    for path in (core, core / "bin/python", core / "lib", core / "environment.json"):
        assert path.stat().st_mode & 0o005 == (0o005 if path.is_dir() or path.parent.name == "bin" else 0o004)
        assert not path.stat().st_mode & 0o022


def test_building_needs_nothing_but_the_standard_library():
    code = "import sys, assay.lab.environments; print([m for m in ('anyio', 'pydantic', 'rich') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], env={"PYTHONPATH": str(SOURCE)}, capture_output=True, text=True
    )
    assert done.stdout == "[]\n", done.stderr


def test_concurrent_builds_make_one_relocatable_environment(own: Home, tmp_path: Path):
    bare = tmp_path / "bare.txt"
    bare.write_text("# nothing but Python\n")
    with ThreadPoolExecutor(2) as pool:
        first, other = pool.map(lambda _: build_environment(own, str(bare), NoProgress()), range(2))
    assert first == other == find_environment(own, str(bare))
    assert [folder.name for folder in own.environments.iterdir()] == [first.name]
    moved = tmp_path / "moved"
    first.rename(moved)
    look = "import json, sys; print(sys.prefix, json.__cached__.endswith('.pyc'), 'test' in sys.modules)"
    done = subprocess.run(
        [moved / "bin/python", "-I", "-c", look],
        env={"LD_LIBRARY_PATH": str(moved / "lib")},
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"{moved} True False\n", done.stderr
    assert list(moved.glob("lib*/python3*/json/__pycache__/*.pyc"))
    assert not list(moved.glob("lib*/python3*/test"))


@pytest.mark.anyio
async def test_console_scripts_start_the_python_of_their_own_environment(
    own: Home, core: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    code = "import sys\n\ndef main():\n    print(sys.prefix, sys.argv[1:])\n"
    write_wheel(tmp_path / "hello-1.0-py3-none-any.whl", "hello", code)
    requirements = tmp_path / "agent.txt"
    requirements.write_text("hello==1.0\n")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    tools = build_environment(own, str(requirements), NoProgress())
    async with open_lab(own, Setup(core, tools=tools)) as lab:
        said = await lab.run(["/opt/agent/bin/hello", "a", "b c"], seconds=300)
        assert said.stdout.text == "/opt/agent ['a', 'b c']\n", said.stderr.text
        linked = await lab.run(["sh", "-c", "ln -s /opt/agent/bin/hello mine && ./mine"], seconds=300)
        assert linked.stdout.text == "/opt/agent []\n", linked.stderr.text
    async with open_lab(own, Setup(tools)) as lab:
        assert (await lab.run(["hello"], seconds=300)).stdout.text == "/opt/env []\n"


def write_wheel(path: Path, name: str, code: str, needs: str = "") -> None:
    """Write a package of one module with a console script of the same name, which calls its `main`."""
    info = f"{name}-1.0.dist-info"
    files = {
        f"{name}.py": code,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name} = {name}:main\n",
    }
    record = "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(name, text)


def test_a_failed_build_leaves_no_environment(own: Home, tmp_path: Path):
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("no-such-package-of-anybody==0.0.1\n")
    with pytest.raises(LabError, match="pip could not install"):
        build_environment(own, str(requirements), NoProgress())
    assert all(folder.name.startswith(".") for folder in own.environments.iterdir())
    with pytest.raises(LabError, match="assay lab build"):
        find_environment(own, str(requirements))


@pytest.mark.parametrize("line", ["numpy", "numpy>=2", "-r other.txt", "--index-url x", "git+ssh://x"])
def test_only_exact_pins_are_accepted(home: Home, tmp_path: Path, line: str):
    requirements = tmp_path / "requirements.txt"
    requirements.write_text(f"{line}\n")
    with pytest.raises(UsageError, match="exact pin"):
        find_environment(home, str(requirements))


def test_an_unknown_name_lists_the_known_ones(home: Home):
    with pytest.raises(UsageError, match=r"choose from aide, .*core"):
        find_environment(home, "nonsense")


HOSTILE = {
    "an absolute path": "without {secret}",
    "a path out of the packages": "without ../../../../../../../../../../../../{secret}",
    "a path with a folder above": "without numpy/../../../../{secret}",
    "a requirement with an address": "numpy @ file://{secret}",
    "a pin with an option": "numpy==1.0 --global-option=x",
    "a pin with an index": "numpy==1.0 --index-url http://127.0.0.1:9",
    "a pin with a continued line": "numpy==1.0 \\",
    "a marker with an address": "numpy==1.0 ; @ file:///x",
    "a pin with a variable": "numpy==${{HOME}}",
    "an editable": "-e {secret}",
    "an npm package by its address": "npm evil@git+file:///x",
    "an npm option": "npm --registry@1",
}


@pytest.mark.parametrize("line", HOSTILE.values(), ids=HOSTILE.keys())
def test_requirements_can_only_pin_packages_and_exclude_their_files(own: Home, tmp_path: Path, line: str):
    secret = tmp_path / "secret"
    secret.write_text("kept")
    requirements = tmp_path / "evil.txt"
    requirements.write_text(line.format(secret=secret) + "\n")
    with pytest.raises(UsageError):
        build_environment(own, str(requirements), NoProgress())
    assert secret.read_text() == "kept"


def test_code_that_runs_while_packages_are_built_sees_nothing_of_the_machine(
    own: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A wheel may depend on source code by its address, which pip builds although only wheels are allowed."""
    secret, escaped = tmp_path / "user" / "secret", tmp_path / "escaped"
    secret.parent.mkdir()
    secret.write_text("a key")
    backend = (
        "import os, pathlib\n"
        f"seen = [os.environ.get('OPENAI_API_KEY'), os.path.exists({str(secret)!r}), os.listdir('/tmp')]\n"
        f"try: pathlib.Path({str(escaped)!r}).write_text(str(seen))\n"
        "except OSError: pass\n"
        "raise SystemExit(f'code ran: {seen}')\n"
    )
    source = tmp_path / "index"
    source.mkdir()
    project = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    with zipfile.ZipFile(source / "evil-1.0.zip", "w") as archive:
        archive.writestr("evil-1.0/backend.py", backend)
        archive.writestr("evil-1.0/pyproject.toml", project)
    needs = f"Requires-Dist: evil @ file://{source}/evil-1.0.zip\n"
    write_wheel(source / "carrier-1.0-py3-none-any.whl", "carrier", "def main(): pass", needs)
    requirements = tmp_path / "evil.txt"
    requirements.write_text("carrier==1.0\n")
    monkeypatch.setenv("PIP_FIND_LINKS", str(source))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    monkeypatch.chdir(secret.parent)
    with pytest.raises(LabError, match=r"code ran: \[None, False, ") as failed:
        build_environment(own, str(requirements), NoProgress())
    assert not escaped.exists(), escaped.read_text()
    assert "a key" not in str(failed.value)


def test_packages_beside_a_local_index_are_installed(own: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As the simple repository API describes it, an index has a page per package, with links to files anywhere."""
    page, files = tmp_path / "mirror" / "simple" / "plain" / "index.html", tmp_path / "mirror" / "files"
    page.parent.mkdir(parents=True)
    files.mkdir()
    write_wheel(files / "plain-1.0-py3-none-any.whl", "plain", "def main(): pass")
    page.write_text('<a href="../../files/plain-1.0-py3-none-any.whl">plain-1.0-py3-none-any.whl</a>')
    (tmp_path / "plain.txt").write_text("plain==1.0\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", f"file://{tmp_path}/mirror/simple")
    built = build_environment(own, str(tmp_path / "plain.txt"), NoProgress())
    assert list(built.rglob("plain-1.0.dist-info"))


def test_requirements_of_a_stranger_are_not_built_without_a_sandbox(
    own: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "mine.txt"
    file.write_text("six==1.17.0\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LabError, match="built in a sandbox"):
        build_environment(own, str(file), NoProgress())


def test_modules_in_the_current_folder_are_not_run_by_a_build(
    own: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "pip.py").write_text("import pathlib; pathlib.Path(__file__).with_name('PWNED').touch()")
    write_wheel(tmp_path / "fine-1.0-py3-none-any.whl", "fine", "def main(): pass")
    (tmp_path / "fine.txt").write_text("fine==1.0\n")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.chdir(tmp_path)
    build_environment(own, "fine.txt", NoProgress())
    assert not (tmp_path / "PWNED").exists()
