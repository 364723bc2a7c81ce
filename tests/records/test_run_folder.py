"""Run folders: which trials belong to a run."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from assay.records import RunFolder, TrialFile, find_runs, list_newest_runs


def trial_file(seed: int) -> TrialFile:
    identity = {
        "task": "pocket/digits",
        "edition": "v1",
        "variant": "real",
        "agent": "starter",
        "settings": {},
        "models": {},
        "seed": seed,
        "budget": {"time": 60.0, "steps": 5},
        "resources": {"cores": 1, "memory": 10**9, "disk": 10**9},
        "environment": "core",
        "sandbox": "bubblewrap",
    }
    return TrialFile.model_validate(identity | {"id": f"digits-starter-{seed}", "label": "starter"})


def test_concurrently_added_trials_are_all_listed(tmp_path: Path):
    files = [trial_file(seed) for seed in range(24)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda file: RunFolder(tmp_path / "run").add([file]), files))
    assert set(RunFolder(tmp_path / "run").file.trials) == {file.id for file in files}
    assert len(RunFolder(tmp_path / "run").file.trials) == len(files)


def make_runs(folder: Path, *names: str) -> None:
    """Make run folders, each older than the one before."""
    for age, name in enumerate(names):
        (folder / name).mkdir(parents=True)
        file = folder / name / "run.json"
        file.write_text("{}")
        os.utime(file, (10**9 - age, 10**9 - age))


def test_runs_are_found_at_any_depth_but_not_in_runs_links_and_hidden_folders(tmp_path: Path):
    make_runs(tmp_path, "b", "a/x/y", "a/x/y/trials/z", ".hidden/c", "node_modules/d")
    (tmp_path / "link").symlink_to(tmp_path / "b")
    assert sorted(find_runs(tmp_path)) == [tmp_path / "a/x/y", tmp_path / "b"]
    assert list(find_runs(tmp_path / "b")) == [tmp_path / "b"]
    assert list(find_runs(tmp_path, max_depth=1)) == [tmp_path / "b"]


def test_the_newest_runs_come_first_also_behind_links(tmp_path: Path):
    make_runs(tmp_path / "disk", "old", "older")
    make_runs(tmp_path / "here", "new")
    (tmp_path / "here" / "runs").symlink_to(tmp_path / "disk")
    here = tmp_path / "here"
    assert set(list_newest_runs(here)[:2]) == {here / "new", here / "runs" / "old"}
    assert list_newest_runs(here)[2] == here / "runs" / "older"


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_nobody_but_their_owner_can_read_records(tiny, umask: int):
    """Whatever the umask: they have prompts, replies and submissions."""
    before = os.umask(umask)
    try:
        done = tiny.call("run", "tiny", "--agent", "starter", "--seeds", "1", "--out", str(tiny.out))
    finally:
        os.umask(before)
    assert done.returncode == 0, done.stderr
    paths = [tiny.out, *tiny.out.rglob("*")]
    open_to_others = [str(path) for path in paths if not path.is_symlink() and path.stat().st_mode & 0o077]
    assert len(paths) > 10 and open_to_others == []
