"""Fixtures for all tests: homes of their own on this machine, the real command line, slow tests first."""

import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

from assay.core.disk import file_lock
from assay.core.home import Home
from assay.lab.host import slots
from in_process import make_caller, start_fork_server
from tiny_run import TinyRun, TinyRunHere, prepare_tiny

hypothesis.settings.register_profile("assay", deadline=None)  # timing on a busy machine proves nothing
hypothesis.settings.load_profile("assay")

os.environ.setdefault("ASSAY_SEEDS", "1")  # one trial per task and agent is enough for most tests

Assay = Callable[..., subprocess.CompletedProcess[str]]
MakeOnce = Callable[[str, Callable[[Home], None]], Home]

BATTERIES = {
    "tests/lab": "attacks on labs",
    "tests/faults": "faults",
    "tests/records/test_hostile_records.py": "attacks with records",
    "tests/records/test_hostile_bundles.py": "hostile bundles",
    "tests/agents/test_hostile_texts.py": "attacks with replies of models",
    "tests/agents/test_external_endpoint.py": "requests of external agents, honest and hostile,",
    "tests/data/test_damaged_raw_data.py": "damaged or hostile archives",
}

SHARED_FOLDER = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    """Make one folder per test run, which all workers share."""
    worker = getattr(config, "workerinput", None)
    config.stash[SHARED_FOLDER] = Path(worker["shared_folder"]) if worker else make_folder()
    if worker:
        start_fork_server()  # before a test starts one that has not imported what the trials of others need


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node) -> None:
    node.workerinput["shared_folder"] = str(node.config.stash[SHARED_FOLDER])


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        for root in config.stash[SHARED_FOLDER].iterdir():
            if root.is_dir():
                remove_home(root)
        shutil.rmtree(config.stash[SHARED_FOLDER])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let every worker start with files that hold slow tests, so that none is left with a long test at the end.

    At first each worker gets an equal part of the list, in its order; later they take tests from each other.
    """
    slow_files = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow_files)
    parts: list[list[pytest.Item]] = [[] for _ in range(int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))]
    for _, file in itertools.groupby(items, key=lambda item: item.path):
        min(parts, key=len).extend(file)
    items[:] = itertools.chain.from_iterable(parts)


def pytest_terminal_summary(terminalreporter) -> None:
    """Print how many attacks and faults were tried; a test counts as one, unless it recorded how many it tried."""
    for start, noun in BATTERIES.items():
        reports = {
            outcome: [
                report
                for report in terminalreporter.stats.get(outcome, [])
                if getattr(report, "when", None) == "call" and report.nodeid.startswith(start)
            ]
            for outcome in ("passed", "failed")
        }
        tried = sum(dict(report.user_properties).get("tried", 1) for group in reports.values() for report in group)
        if tried:
            broken = len(reports["failed"])
            terminalreporter.write_line(f"{start}: {tried} {noun} tried, {broken} broke something")


@pytest.fixture(scope="session")
def shared_folder(request: pytest.FixtureRequest) -> Path:
    """A folder that all workers of this test run share; what they write to it must be locked."""
    return request.config.stash[SHARED_FOLDER]


@pytest.fixture
def home() -> Iterator[Home]:
    """A fresh home that borrows the machine's built environments and downloads, so that nothing is installed twice."""
    root = make_folder()
    yield borrow_machine(root)
    remove_home(root)


@pytest.fixture(scope="module")
def module_home() -> Iterator[Home]:
    """The same for all tests of a module, which may prepare data in it."""
    root = make_folder()
    yield borrow_machine(root)
    remove_home(root)


@pytest.fixture(scope="session")
def make_once(shared_folder: Path) -> MakeOnce:
    """Returns a home of this name that all workers share; the first that asks for it fills it with `make`."""

    def make_once(name: str, make: Callable[[Home], None]) -> Home:
        root = shared_folder / name
        with file_lock(shared_folder / f"{name}.lock"):
            if not (root / "made").exists():
                if root.exists():
                    remove_home(root)  # of a worker that failed
                make(borrow_machine(root))
                (root / "made").touch()
        return Home(root)

    return make_once


@pytest.fixture(scope="session")
def prepared_home(make_once: MakeOnce) -> Home:
    """A home in which the pocket suite is prepared, shared by all workers; tests must not change it."""

    def make(home: Home) -> None:
        result = run_assay(home, "prepare", "pocket")
        assert result.returncode == 0, result.stderr

    return make_once("prepared", make)


@pytest.fixture
def assay(home: Home) -> Assay:
    """The `assay` command on a fresh home, in a process of its own."""
    return lambda *words, **options: run_assay(home, *words, **options)


@pytest.fixture
def assay_prepared(prepared_home: Home) -> Assay:
    """The `assay` command on the prepared home."""
    return lambda *words, **options: run_assay(prepared_home, *words, **options)


@pytest.fixture
def assay_here(home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Assay:
    """The `assay` command on a fresh home, in this process."""
    return make_caller(home, monkeypatch, capsys)


@pytest.fixture
def assay_prepared_here(
    prepared_home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Assay:
    """The `assay` command on the prepared home, in this process."""
    return make_caller(prepared_home, monkeypatch, capsys)


@pytest.fixture
def tiny(home: Home, tmp_path: Path) -> Iterator[TinyRun]:
    """A prepared tiny suite and a folder for its run."""
    prepare_tiny(home)
    run = TinyRun(home, tmp_path / "run")
    yield run
    run.close()


@pytest.fixture
def tiny_here(home: Home, tmp_path: Path, assay_here: Assay) -> Iterator[TinyRunHere]:
    """The same, with commands in this process."""
    prepare_tiny(home)
    run = TinyRunHere(home, tmp_path / "run", assay_here)
    yield run
    run.close()


def make_folder() -> Path:
    """Make a folder that sandboxes of another user can enter, unlike pytest's own temporary folders."""
    folder = Path(tempfile.mkdtemp(prefix="assay-test-", dir="/var/tmp"))
    folder.chmod(0o755)
    return folder


def remove_home(root: Path) -> None:
    """Remove a home with the mounts that killed labs left behind."""
    slots.sweep(Home(root))
    shutil.rmtree(root)


def borrow_machine(root: Path) -> Home:
    """Make a home that uses the machine's built environments and downloads."""
    machine = Home.default()
    root.mkdir(exist_ok=True)
    (root / "environments").symlink_to(machine.environments)
    (root / "downloads").symlink_to(machine.downloads)
    return Home(root)


def run_assay(home: Home, *words: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own and capture its output."""
    return subprocess.run(
        [sys.executable, "-m", "assay", *map(str, words)],
        env=os.environ | {"ASSAY_HOME": str(home.root), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=600,
        **options,  # type: ignore[call-overload]
    )
