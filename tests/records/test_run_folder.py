"""Run folders: which trials belong to a run."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from assay.records import RunFolder, TrialFile


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
