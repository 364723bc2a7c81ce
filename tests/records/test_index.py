"""The index of a run: faster than the records, and never different from them."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import zlib
from contextlib import closing
from pathlib import Path

import pytest

from assay.core.errors import RecordError
from assay.core.home import Home
from assay.records import RunFolder, State, TrialFile, TrialFolder, read_trials
from assay.records.index import MIN_TRIALS, find_index
from assay.tasks import Budget
from assay.tasks.model import Resources


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run just large enough for an index."""
    run = RunFolder(tmp_path_factory.mktemp("finished") / "run")
    run.add(make_file(seed) for seed in range(MIN_TRIALS))
    for trial in run.trials():
        trial.write_state(State(status="done", steps=trial.file.seed))
    return run


@pytest.fixture
def run(finished, tmp_path):
    """A copy of that run, which tests may change."""
    return RunFolder(Path(shutil.copytree(finished.path, tmp_path / "run")))


def make_file(seed: int) -> TrialFile:
    return TrialFile(
        id=f"coin-starter-{seed}-0123456789",
        task="pocket/digits",
        edition="v1",
        variant="real",
        agent="starter",
        label="starter",
        seed=seed,
        budget=Budget(time=600, steps=30),
        resources=Resources(),
        environment="core",
        sandbox="bubblewrap",
    )


def steps(run: RunFolder, home: Home, settling_ns: int = 0) -> list[int]:
    """Return the steps of all trials; without settling, what was written just now is stored at once."""
    return [trial.state.steps for trial in read_trials(run, home=home, settling_ns=settling_ns)]


def count_rows(run: RunFolder, home: Home) -> int:
    with closing(sqlite3.connect(find_index(run, home))) as connection:
        return connection.execute("select count(*) from trials").fetchone()[0]


def write_state(trial: TrialFolder, **changes: object) -> None:
    trial.write_state(trial.state.model_copy(update=changes))


def test_the_index_has_what_the_records_have(run, home):
    direct = [(trial.file, trial.state, trial.grade) for trial in run.trials()]
    for _ in range(2):  # from the records, then from the index
        trials = read_trials(run, home=home, settling_ns=0)
        assert [(trial.file, trial.state, trial.grade) for trial in trials] == direct
    assert count_rows(run, home) == MIN_TRIALS
    assert not list(run.path.rglob("*.sqlite*"))


COUNT_OPENED = """
import sys
import zlib
from pathlib import Path
from assay.core.home import Home
from assay.records import RunFolder, read_trials

opened = []
sys.addaudithook(lambda event, args: event == "open" and "state.json" in str(args[0]) and opened.append(args))
read_trials(RunFolder(Path(sys.argv[1])), home=Home(Path(sys.argv[2])))
print(len(opened))
"""


def test_only_trials_that_changed_are_read_from_their_records(run, home):
    steps(run, home)
    for trial in list(run.trials())[:2]:
        write_state(trial, steps=1000)
    command = [sys.executable, "-c", COUNT_OPENED, str(run.path), str(home.root)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "2\n"


@pytest.mark.parametrize("change", ["replaced", "in place", "in place, same size and time", "removed", "new trial"])
def test_no_change_of_a_trial_is_hidden(run, home, change):
    assert steps(run, home) == steps(run, home) == list(range(MIN_TRIALS))
    trial = list(run.trials())[7]
    state = trial.path / "state.json"
    expected = list(range(MIN_TRIALS))
    if change == "replaced":
        write_state(trial, steps=1000)
        expected[7] = 1000
    elif change == "removed":
        state.unlink()
        expected[7] = 0
    elif change == "new trial":
        run.add([make_file(MIN_TRIALS)])
        expected.append(0)
    else:
        before = state.stat()
        content = json.loads(state.read_text()) | {"steps": 9 if "same" in change else 1000}
        expected[7] = content["steps"]
        state.write_text(json.dumps(content, indent=2) + "\n")
        if "same" in change:
            os.utime(state, ns=(before.st_atime_ns, before.st_mtime_ns))
            while state.stat().st_ctime_ns == before.st_ctime_ns:  # until the clock of the file system has ticked
                os.utime(state, ns=(before.st_atime_ns, before.st_mtime_ns))
            assert (state.stat().st_size, state.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert steps(run, home) == expected
    assert steps(run, home) == expected


def test_a_trial_that_was_changed_just_now_is_not_stored(run, home):
    assert steps(run, home, settling_ns=10**18) == list(range(MIN_TRIALS))
    assert count_rows(run, home) == 0


def damage(path: Path, how: str) -> None:
    if how == "empty":
        path.write_bytes(b"")
    elif how == "not a database":
        path.write_bytes(b"nonsense" * 1000)
    elif how == "cut off":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    elif how == "a flipped bit":
        content = path.read_bytes()
        position = content.rindex(b'"steps":5') + len(b'"steps":5') - 1
        path.write_bytes(content[:position] + b"6" + content[position + 1 :])
    elif how == "other fields":
        with closing(sqlite3.connect(path)) as connection, connection:
            *values, state, grade, _ = connection.execute("select * from trials limit 1").fetchone()
            state = state.replace('"steps"', '"paces"')
            checksum = zlib.crc32(repr((*values, state, grade)).encode())
            changes = (state, checksum, values[0])
            connection.execute("update trials set state = ?, checksum = ? where name = ?", changes)
    else:
        statement = {
            "another version": "pragma user_version = 99",
            "no table": "drop table trials",
            "another type": "update trials set stamp = 5",
            "no plan": "delete from plans",
            "a changed plan": "update plans set content = cast(replace(content, 'starter', 'stranger') as blob)",
            "another trial's row": "update trials set name = name || 'x'",
        }[how]
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(statement)


@pytest.mark.parametrize(
    "how",
    ["empty", "not a database", "cut off", "a flipped bit", "another version", "no table", "another type", "no plan",
     "a changed plan", "another trial's row", "other fields"],
)  # fmt: skip
def test_a_damaged_index_is_rebuilt(run, home, how):
    steps(run, home)
    damage(find_index(run, home), how)
    assert steps(run, home) == list(range(MIN_TRIALS))
    assert count_rows(run, home) == MIN_TRIALS
    assert steps(run, home) == list(range(MIN_TRIALS))


def test_a_home_that_cannot_be_used_only_costs_time(run, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    assert steps(run, Home(tmp_path / "file")) == list(range(MIN_TRIALS))


def test_trials_that_left_the_run_leave_the_index(run, home):
    steps(run, home)
    run.remove(list(run.trials())[:3])
    run.add(make_file(seed) for seed in range(100, 103))
    assert steps(run, home) == [*range(3, MIN_TRIALS), 0, 0, 0]
    steps(run, home)
    assert count_rows(run, home) == MIN_TRIALS


def test_indexes_of_removed_runs_are_removed(run, home, tmp_path):
    steps(run, home)
    old = find_index(run, home)
    run.path.rename(tmp_path / "moved")
    moved = RunFolder(tmp_path / "moved")
    assert steps(moved, home) == list(range(MIN_TRIALS))
    assert find_index(moved, home).exists() and not old.exists()


def test_links_in_a_run_are_refused(run, home, tmp_path):
    steps(run, home)
    trial = next(run.trials()).path
    trial.rename(tmp_path / "elsewhere")
    trial.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RecordError, match="is a link"):
        steps(run, home)


def test_ids_are_validated_although_the_plan_is_known(run, home):
    path = list(run.trials())[7].path / "trial.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"id": 5}))
    with pytest.raises(RecordError, match=r"trial\.json: id"):
        read_trials(run, home=home, settling_ns=0)


def test_times_that_no_clock_has_are_read(run, home):
    for trial in run.trials():
        os.utime(trial.path / "state.json", ns=(0, 15_000_000_000 * 10**9))  # the year 2445
    assert steps(run, home) == list(range(MIN_TRIALS))
