"""The viewer on results of other harnesses: the pages of a run, as far as there is something to show."""

import json
from pathlib import Path

import pytest
from viewing import Client, serving

from assay.interop.exporters.atif import write_trajectories
from assay.interop.importers import read_results
from sample_run import Texts, write_run

HOSTILE = "<script>alert(1)</script> I will train gradient boosting."


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job folder of Harbor with the trajectories of a run of ours, whose model says hostile things."""
    folder = tmp_path_factory.mktemp("imported")
    run = write_run(folder / "run", seeds=1, texts=Texts(reply=HOSTILE))
    for path in write_trajectories(read_results([run.path]), folder / "trajectories"):
        trial = folder / "jobs" / "first" / path.parent.name
        (trial / "agent").mkdir(parents=True)
        path.rename(trial / "agent" / "trajectory.json")
        task, agent = path.parent.name.split("-")[0], path.parent.name.rsplit("-", 3)[1]
        result = {"task_name": f"tb/{task}", "trial_name": trial.name, "agent_info": {"name": agent},
                  "verifier_result": {"rewards": {"reward": float(agent == "research")}}}  # fmt: skip
        (trial / "result.json").write_text(json.dumps(result))
        (trial / "config.json").write_text(json.dumps({"trial_name": trial.name}))
    return folder / "jobs"


def test_pages_of_imported_results(jobs: Path):
    with serving(imported=[jobs]) as viewer:
        client = Client(viewer)
        address = client.get("/").headers["location"]
        overview = client.get(address)
        assert overview.status == 200
        assert "Imported from harbor" in overview.body and "not verified" in overview.body
        compared = client.get(f"{address}/compare").body
        assert "research" in compared and "as harbor reports, not verified" in compared
        assert client.get(f"{address}/failures").status == 200
        for page in ("curves", "search?q=train", "similar"):
            answer = client.get(f"{address}/{page}")
            assert answer.status == 404 and "have no records" in answer.body


def test_an_imported_trajectory_opens(jobs: Path):
    trial = next(path.parent for path in jobs.rglob("result.json") if "research" in path.parent.name)
    with serving(imported=[jobs]) as viewer:
        client = Client(viewer)
        page = client.get(f"{client.get('/').headers['location']}/trial/{trial.name}")
        assert page.status == 200
        assert "As harbor reports it, not verified" in page.body
        assert "I will train gradient boosting." in page.body
        assert "<script>alert" not in page.body
        (trial / "agent" / "trajectory.json").write_text('{"schema_version": "ATIF-v1.8", "steps": 3}')
        broken = client.get(f"{client.get('/').headers['location']}/trial/{trial.name}")
        assert broken.status == 422 and "not a trajectory" in broken.body
