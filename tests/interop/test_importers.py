"""Results of other harnesses as rows of the frame, read from real files of them, and the same results read back."""

import csv
import json
from pathlib import Path

import pytest

from assay.core.errors import AssayError, RecordError
from assay.interop.exporters.every_eval_ever import METADATA
from assay.interop.importers import IMPORTERS, Results, read_results
from assay.interop.trajectories import read_steps
from assay.results.frame import read_frame
from command_line import Assay
from sample_run import write_run

NOT_REPORTED = {"run", "waited", "validations", "attempts", "harness", "load"}
MEDIUMS = {
    "csv": {"percentile", "rank", "panel_size", "improvement", "sample_score", "failure", "score_error", "baseline"},
    "every-eval-ever": {"percentile", "rank", "panel_size", "improvement", "failure", "score_error", "waited_seconds"},
    "inspect": {"percentile", "rank", "panel_size", "improvement", "score_error", "budget", "hardware", "network",
                "description", "reason"},
    "mlebench": {"trial", "model", "seed", "seconds", "waited_seconds", "steps", "tokens", "cost", "sealed", "budget",
                 "hardware", "network", "description", "started_at", "ended_at", "reason", "error_type", "failure",
                 "status"},
}  # fmt: skip
"""What each format has no field for."""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory):
    """A run in which one agent is better than the other, and one trial crashed."""
    return write_run(tmp_path_factory.mktemp("runs") / "demo")


def export(medium: str, run: Path, folder: Path, assay: Assay) -> Path:
    """Write a run in a format and return the path to read."""
    match medium:
        case "csv":
            done = assay("report", run, "--csv", "--trials")
            (folder / "trials.csv").write_text(done.stdout)
            return folder / "trials.csv"
        case "every-eval-ever":
            done = assay("export", run, "--to", medium, folder)
        case "inspect":
            done = assay("export", run, "--inspect", folder)
        case "mlebench":
            done = assay("export", run, "--reports", folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("medium", MEDIUMS)
def test_a_run_read_back_has_the_same_rows(medium: str, demo, tmp_path: Path, assay: Assay):
    back = read_results([export(medium, demo.path, tmp_path, assay)]).frame
    first = read_frame(demo)
    key = ("agent", "task", "seed")
    own, other = (
        {tuple(cells[name] for name in key): cells for cells in frame.to_table().to_records()}
        for frame in (first, back)
    )
    if medium == "mlebench":  # reports do not name seeds
        own = {(agent, task, seed - 1): cells for (agent, task, seed), cells in own.items()}
    assert own.keys() == other.keys()
    ignored = NOT_REPORTED | MEDIUMS[medium]
    for name, cells in own.items():
        differing = {k: (v, other[name][k]) for k, v in cells.items() if k not in ignored and v != other[name][k]}
        assert not differing, name


def test_the_metadata_of_a_line_has_the_columns_of_the_frame(demo):
    assert set(METADATA) <= {column.name for column in read_frame(demo).to_table().columns}


def write_csv(path: Path, rows: list[dict[str, object]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, dict.fromkeys(name for row in rows for name in row))
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_what_a_csv_does_not_say_is_unknown(tmp_path: Path, assay: Assay):
    rows = [
        {"task": f"tb/t{n}", "agent": agent, "seed": seed, "success": int(agent == "b" or n == 0)}
        for n in range(8)
        for agent in "ab"
        for seed in range(3)
    ]
    path = write_csv(tmp_path / "results.csv", rows)
    row = read_results([path]).frame[0]
    assert (row.elapsed, row.steps, row.tokens, row.cost, row.sealed) == (None,) * 5
    assert (row.suite, row.metric, row.success, row.edition) == ("tb", "success", True, "unknown")
    done = assay("compare", path)
    assert "b is better than a on these 8 tasks" in done.stdout
    assert "a and b as csv reports, not verified; unknown: edition, variant, budget" in done.stdout.replace(
        "b and a", "a and b"
    )
    report = assay("report", path).stdout
    assert "Imported from csv: 48 trials as reported there, not verified." in report
    assert "Success: as csv reports it" in report


def harbor_trial(folder: Path, task: str, number: int, *, reward: float | None, agent: str = "terminus") -> None:
    """Write a trial as Harbor does: the fields of its result that it always has."""
    path = folder / f"{task}__{number}"
    (path / "agent").mkdir(parents=True)
    moments = {"started_at": "2026-11-01T10:00:00Z", "finished_at": "2026-11-01T10:05:00Z"}
    error = {"exception_type": "AgentTimeoutError", "exception_message": "too slow", "exception_traceback": "",
             "occurred_at": "2026-11-01T10:05:00Z"}  # fmt: skip
    result = {
        "id": "0", "task_name": f"tb/{task}", "trial_name": path.name, "trial_uri": "", "task_id": {"path": "x"},
        "source": "tb", "task_checksum": "ab" * 32, "config": {},
        "agent_info": {"name": agent, "version": "1", "model_info": {"name": "gpt-5", "provider": "openai"}},
        "agent_result": {"n_input_tokens": 1000, "n_output_tokens": 50, "cost_usd": 0.25},
        "verifier_result": None if reward is None else {"rewards": {"reward": reward}},
        "exception_info": error if reward is None else None, "agent_execution": moments, "verifier": None, **moments,
    }  # fmt: skip
    (path / "result.json").write_text(json.dumps(result))
    (path / "config.json").write_text(json.dumps({"trial_name": path.name}))


def test_a_job_of_harbor_and_a_csv_are_compared_by_success(tmp_path: Path, assay: Assay):
    jobs = tmp_path / "jobs" / "2026-11-01__10-00-00"
    for n in range(6):
        harbor_trial(jobs, f"t{n}", 0, reward=None if n == 5 else 1.0)
    (jobs / "config.json").write_text("{}")
    (jobs / "result.json").write_text(json.dumps({"id": "1", "stats": {}}))
    frame = read_results([tmp_path / "jobs"]).frame
    assert len(frame) == 6
    assert (frame[0].tokens, frame[0].cost, frame[0].elapsed, frame[0].model) == (1050, 0.25, 300.0, "openai/gpt-5")
    assert [row.success for row in frame] == [True] * 5 + [False]
    assert (frame[5].failure_name, frame[5].reason) == ("out of time", "too slow")
    other = write_csv(
        tmp_path / "own.csv", [{"task": f"t{n}", "suite": "tb", "agent": "mine", "success": 0} for n in range(6)]
    )
    done = assay("compare", tmp_path / "jobs", other)
    assert done.returncode == 0, done.stderr
    assert "different harness (harbor: terminus; csv: mine; on tb/t0)" in done.stdout
    assert "terminus as harbor reports, not verified" in done.stdout


def test_a_provider_that_fails_is_no_failure_of_the_agent(tmp_path: Path):
    for number, reward in enumerate([0.0, 1.0]):
        harbor_trial(tmp_path / "jobs", "t0", number, reward=reward)
        path = tmp_path / f"jobs/t0__{number}/result.json"
        error = {"exception_type": "AgentAuthenticationError", "exception_message": "Invalid API key"}
        path.write_text(json.dumps(json.loads(path.read_text()) | {"exception_info": error}))
    failed, solved = read_results([tmp_path / "jobs"]).frame
    assert (failed.score, failed.failure, failed.reason) == (None, "infrastructure", "Invalid API key")
    assert (solved.score, solved.success) == (1.0, True)


def test_partial_rewards_are_not_compared_with_success(tmp_path: Path, assay: Assay):
    harbor_trial(tmp_path / "jobs", "t0", 0, reward=0.4)
    other = write_csv(tmp_path / "own.csv", [{"task": "tb/t0", "agent": "mine", "success": 1}])
    done = assay("compare", tmp_path / "jobs", other)
    assert done.returncode == 2
    assert "mine and terminus differ in metric (success: mine; reward: terminus; on tb/t0)" in done.stderr


def test_hal_results_are_successes_and_failures(tmp_path: Path):
    content = {
        "config": {"agent_name": "Core Agent", "benchmark_name": "corebench_hard", "date": "2026-05-01",
                   "run_id": "corebench_1", "agent_args": {"model_name": "gpt-5"}},
        "results": {"successful_tasks": ["capsule-1"], "failed_tasks": ["capsule-2"], "total_cost": 3.0},
        "raw_eval_results": {"capsule-1": {"score": float("nan")}},
        "wall_clock_times": {"capsule-1": 12.5}, "task_step_counts": {"capsule-1": 7},
    }  # fmt: skip
    (tmp_path / "corebench_1_UPLOAD.json").write_text(json.dumps(content))
    first, second = read_results([tmp_path]).frame
    assert (first.task, first.success, first.elapsed, first.steps, first.cost) == (
        "corebench_hard/capsule-1", True, 12.5, 7, None,
    )  # fmt: skip
    assert (second.success, second.elapsed) == (False, None)


def test_a_published_grading_report_has_medals(tmp_path: Path):
    entry = {
        "competition_id": "leaf-classification", "score": 0.01, "gold_threshold": 0.0, "silver_threshold": 0.00791,
        "bronze_threshold": 0.01526, "median_threshold": 0.108345, "any_medal": True, "gold_medal": False,
        "silver_medal": False, "bronze_medal": True, "above_median": True, "submission_exists": True,
        "valid_submission": True, "is_lower_better": True, "created_at": "2024-10-01T00:00:00", "submission_path": "x",
    }  # fmt: skip
    for seed in range(2):
        path = tmp_path / "aide-group" / f"2024-10-0{seed + 1}_grading_report.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"total_runs": 1, "competition_reports": [entry]}))
    rows = read_results([tmp_path]).frame
    assert [row.seed for row in rows] == [0, 1]
    assert (rows[0].agent, rows[0].task, rows[0].medal, rows[0].success) == (
        "aide-group", "mlebench/leaf-classification", "bronze", True,
    )  # fmt: skip
    assert (rows[0].edition, rows[0].variant, rows[0].metric, rows[0].direction) == ("v1", "real", "log_loss", "lower")


def test_an_agent_of_two_harnesses_is_two_agents(tmp_path: Path):
    harbor_trial(tmp_path / "jobs", "t0", 0, reward=1.0, agent="aide")
    other = write_csv(tmp_path / "own.csv", [{"task": "tb/t0", "agent": "aide", "success": 1}])
    assert read_results([tmp_path / "jobs", other]).frame.agents == ["aide [harbor]", "aide [csv]"]


HOSTILE = {
    "nan.csv": "task,agent,score\na,b,nan\n",
    "text.csv": "task,agent,score\na,b,best\n",
    "seed.csv": "task,agent,seed,score\na,b,-1,1\n",
    "noagent.csv": "task,agent,score\na,,1\n",
    "bytes.csv": "task,agent,score\na,b\udcff,1\n",
    "x_grading_report.json": '{"competition_reports": [{"competition_id": 3}]}',
    "deep_grading_report.json": "[" * 5000,
    "hal_UPLOAD.json": '{"config": {}}',
    "log.eval": "PK\x03\x04 no archive",
    "x_samples.jsonl": '{"sample_id": null}\n',
    "nothing.csv": "a,b\n1,2\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_damaged_file_is_named_and_nothing_is_invented(name: str, tmp_path: Path):
    path = tmp_path / name
    path.write_bytes(HOSTILE[name].encode("utf-8", "surrogateescape"))
    with pytest.raises(AssayError, match=path.name.replace(".", r"\.")):
        read_results([path])


def test_links_are_not_followed(tmp_path: Path):
    secret = write_csv(tmp_path / "secret.csv", [{"task": "t", "agent": "a", "success": 1}])
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "link.csv").symlink_to(secret)
    with pytest.raises(AssayError, match="not a run folder, and no importer"):
        read_results([tmp_path / "results"])
    with pytest.raises(RecordError):
        read_results([tmp_path / "results" / "link.csv"])


def test_texts_of_others_are_on_one_line_and_short(tmp_path: Path):
    row = {"task": "t\n\x1b[31mred", "agent": "a" * 5000, "success": 1}
    [trial] = read_results([write_csv(tmp_path / "x.csv", [row])]).frame
    assert "\x1b" not in trial.task and "\n" not in trial.task
    assert len(trial.agent) <= 200


def test_two_kinds_of_results_in_a_folder_are_refused(tmp_path: Path):
    write_csv(tmp_path / "x.csv", [{"task": "t", "agent": "a", "success": 1}])
    harbor_trial(tmp_path, "t0", 0, reward=1.0)
    with pytest.raises(AssayError, match="several harnesses"):
        read_results([tmp_path])


def test_every_importer_is_registered():
    assert {IMPORTERS.load(name).name for name in IMPORTERS.names()} == set(IMPORTERS.names())


def test_twenty_agents_on_89_tasks_are_read_as_rows(tmp_path: Path):
    rows = [
        {"task": f"tb/t{task}", "agent": f"a{agent}", "seed": seed, "success": (task * agent + seed) % 2}
        for agent in range(20)
        for task in range(89)
        for seed in range(5)
    ]
    results: Results = read_results([write_csv(tmp_path / "x.csv", rows)])
    assert (len(results.frame), len(results.frame.agents), len(results.frame.tasks)) == (8900, 20, 89)


def _harbor(result: dict[str, object], trajectory: object = None) -> dict[str, object]:
    trial = {"trial_name": "x", "task_name": "o/t", "agent_info": {"name": "a"}, "config": {}}
    files = {"config.json": {}, "result.json": trial | {"verifier_result": {"rewards": {"reward": 1}}} | result}
    return files | ({"agent/trajectory.json": trajectory} if trajectory else {})


def _atif(**step: object) -> dict[str, object]:
    return {"schema_version": "ATIF-v1.2", "steps": [{"source": "agent", "message": "x", **step}]}


_SAMPLE = {"sample_id": "t", "model_id": "m", "evaluation": {"score": 1}}
_HUGE = int("9" * 400)
ODD_TYPES: dict[str, dict[str, object]] = {
    "EEE: results that are no list": {"x.json": {"evaluation_results": 5}, "x_samples.jsonl": _SAMPLE},
    "EEE: ids that are lists": {
        "x.json": {"evaluation_results": [{"evaluation_result_id": [1]}]},
        "x_samples.jsonl": _SAMPLE | {"evaluation_result_id": [1], "evaluation_name": {}},
    },
    "EEE: negative tokens": {"x_samples.jsonl": _SAMPLE | {"token_usage": {"total_tokens": -5}}},
    "HAL: huge integers": {
        "a_UPLOAD.json": {
            "config": {"agent_name": "a", "benchmark_name": "b"},
            "results": {"successful_tasks": ["t"], "failed_tasks": []},
            "wall_clock_times": {"t": _HUGE},
            "task_step_counts": {"t": _HUGE},
        }
    },
    "MLE-bench: a number of tasks": {"grading_report.json": {"competition_reports": [], "not_graded": 5}},
    "Harbor: a number of steps": _harbor({"step_results": 5}),
    "Harbor: a number of tool calls": _harbor({}, _atif(tool_calls=5, observation={"results": 7})),
    "Harbor: ids of tool calls that are lists": _harbor(
        {}, _atif(tool_calls=[{"tool_call_id": [1]}], observation={"results": [{"source_call_id": {}}]})
    ),
    "Harbor: a number of subagents": _harbor({}, _atif() | {"subagent_trajectories": 7}),
}


@pytest.mark.parametrize("files", ODD_TYPES.values(), ids=ODD_TYPES)
def test_values_of_other_types_are_refused_or_unknown(files: dict[str, object], tmp_path: Path):
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(content) + "\n")
    try:
        frame = read_results([tmp_path]).frame
    except AssayError as error:
        assert "has no trials" in str(error)
        return
    (row,) = frame
    assert row.tokens is None and row.steps is None and row.elapsed is None
    assert all(step.source == "agent" for step in read_steps(row))


def test_a_folder_of_a_trial_that_is_a_link_is_not_read(tmp_path: Path):
    job, secret = tmp_path / "job", tmp_path / "elsewhere"
    for name, content in _harbor({}).items():
        (job / name).parent.mkdir(exist_ok=True)
        (job / name).write_text(json.dumps(content))
    secret.mkdir()
    (secret / "trajectory.json").write_text(json.dumps(_atif()))
    (job / "agent").symlink_to(secret)
    with pytest.raises(RecordError, match="is a link or a special file"):
        read_results([job])
