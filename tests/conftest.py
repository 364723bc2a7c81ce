"""Fixtures for all tests: homes of their own on this machine, the real command line, slow tests first."""

import itertools
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import hypothesis
import pytest

from assay.core.disk import file_lock
from assay.core.home import Home
from command_line import Assay, run_assay, start_fork_server
from isolation import (
    borrow_machine,
    isolate,
    list_checkout,
    list_untracked,
    make_folder,
    remove_containers,
    remove_home,
)
from tiny_run import TinyRun, prepare_tiny

# Timing on a busy machine proves nothing. `make test` must not fail by chance; `make test-random` looks for new cases.
hypothesis.settings.register_profile("random", deadline=None)
hypothesis.settings.register_profile("fixed", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("fixed")

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
MACHINE = pytest.StashKey[Path]()
CHECKOUT_FILES = pytest.StashKey[set[Path]]()
LEFT_BEHIND = pytest.StashKey[list[Path]]()


MAX_SECONDS = 20 * 60
"""After this long a test hangs: it fails, so that the whole run ends. Even the slowest takes a few minutes."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Have a test that hangs fail with the place where it hangs."""

    def give_up(*_: object) -> None:
        pytest.fail(f"{item.nodeid} hangs", pytrace=True)

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(MAX_SECONDS)
    try:
        return (yield)
    finally:
        signal.alarm(0)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Make one folder per test run, which all workers share, and hide the caller's environment from the tests."""
    worker = getattr(config, "workerinput", None)
    if worker:
        config.stash[SHARED_FOLDER] = Path(worker["shared_folder"])
        start_fork_server()  # before a test starts one that has not imported what the trials of others need
    else:
        machine = Home.default().root
        config.stash[SHARED_FOLDER] = make_folder()
        isolate(config.stash[SHARED_FOLDER])
        config.stash[MACHINE], config.stash[CHECKOUT_FILES] = machine, list_checkout(machine)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node) -> None:
    node.workerinput["shared_folder"] = str(node.config.stash[SHARED_FOLDER])


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        remove_containers(config.stash[SHARED_FOLDER] / "user")
        for root in config.stash[SHARED_FOLDER].iterdir():
            if root.is_dir():
                remove_home(root)
        shutil.rmtree(config.stash[SHARED_FOLDER])


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail if tests left files in the checkout."""
    stash = session.config.stash
    if CHECKOUT_FILES in stash:
        stash[LEFT_BEHIND] = list_untracked(list_checkout(stash[MACHINE]) - stash[CHECKOUT_FILES])
        if stash[LEFT_BEHIND] and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


NEED_ROOT = {
    "tests/cluster/test_ray.py": "needs root, to create network namespaces",
    "tests/cluster/test_slurm.py": "needs root, to create network namespaces",
    "tests/faults/test_disks.py": "needs root, to mount, freeze and shut down disks",
}


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    """Say of tests that need root that they do, if an ordinary user runs them; CI runs them as root."""
    reason = NEED_ROOT.get(item.nodeid.partition("::")[0])
    if reason and os.geteuid() != 0:
        item.add_marker(pytest.mark.skip(reason=reason))


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


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    """Print what tests left behind, and how many attacks and faults were tried.

    A test counts as one attack, unless it recorded how many it tried.
    """
    for path in config.stash.get(LEFT_BEHIND, []):
        terminalreporter.write_line(f"FAILED: left in the checkout: {path}", red=True)
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


class SharedHome(Protocol):
    """Returns the home of this name."""

    def __call__(self, name: str, fill: Callable[[Home], object] | None = None) -> Home: ...


@pytest.fixture(scope="session")
def shared_home(shared_folder: Path) -> SharedHome:
    """Homes by name that all workers share and that last for the test run; the first that asks for it fills it."""

    def shared_home(name: str, fill: Callable[[Home], object] | None = None) -> Home:
        root = shared_folder / name
        with file_lock(shared_folder / f"{name}.lock"):
            if not (root / "filled").exists():
                if root.exists():
                    remove_home(root)  # of a worker that failed
                home = borrow_machine(root)
                if fill:
                    fill(home)
                (root / "filled").touch()
        return Home(root)

    return shared_home


@pytest.fixture(scope="session")
def pocket_home(shared_home: SharedHome) -> Home:
    """A home in which the pocket suite is prepared, shared by all workers; tests must not change it."""

    def fill(home: Home) -> None:
        result = run_assay(home, "prepare", "pocket")
        assert result.returncode == 0, result.stderr

    return shared_home("pocket", fill)


@pytest.fixture
def assay(home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Assay:
    """The `assay` command: on the test's home unless another is passed, in this process unless `in_process=False`."""
    return Assay(home, monkeypatch, capsys)


@pytest.fixture
def tiny(home: Home, tmp_path: Path, assay: Assay) -> Iterator[TinyRun]:
    """A prepared tiny suite and a folder for its run."""
    prepare_tiny(home)
    run = TinyRun(home, tmp_path / "run", assay=assay)
    yield run
    run.close()
