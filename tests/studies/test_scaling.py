"""How results grow with steps, time, cost, attempts and cores; every figure is worked by hand."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.core.home import Home
from assay.records import RunFolder, TrialFile
from assay.results.inference import expected_best, pass_at_k
from assay.results.progress import ProgressRow
from assay.studies.paper_figures import load_paper_figures
from assay.studies.scaling import ScalingSettings, compute_budget_curve, drop_resources, study_scaling
from assay.studies.trials import read_study_trials
from assay.tasks import load_plugin
from assay.tasks.model import Resources


def trial(task: str, *picks: tuple[float, bool, float | None]) -> list[ProgressRow]:
    """The progress of a trial: hours, whether its pick succeeds, and dollars, after each step."""
    defaults = dict.fromkeys(ProgressRow.__dataclass_fields__) | {"trial": task, "agent": "agent", "seed": 1}
    rows = []
    for step, (hours, success, cost) in enumerate(picks, start=1):
        used = {"task": task, "step": step, "elapsed": 3600 * hours, "tokens": 0, "cost": cost}
        best = success and not any(row.success for row in rows)
        judged = {"valid": True, "success": success, "picked": True, "best": best, "end": step == len(picks)}
        rows.append(ProgressRow(**(defaults | used | judged)))
    return rows


TRIALS = [
    # Picks nothing good in the end although it had it at hour 2.
    trial("s/a", (1, False, 1), (2, True, 3), (4, False, 4)),
    # Has a medal from hour 3 on and stops there.
    trial("s/b", (1, False, 1), (3, True, 2)),
]


def test_the_pick_at_each_hour_and_the_oracle_beside_it():
    hours = [1, 2, 3, 4]
    curve = compute_budget_curve("agent", TRIALS, "time", "success", [3600.0 * hour for hour in hours])
    assert [point.value.value for point in curve.points] == [0, 0.5, 1, 0.5]
    assert [point.oracle.value for point in curve.points] == [0, 0.5, 1, 1]
    assert [point.gap.value for point in curve.points] == [0, 0, 0, 0.5]
    assert [point.hours for point in curve.points] == [1, 2, 3, 3.5], "a trial that has ended takes no more time"
    assert [point.dollars for point in curve.points] == [1, 2, 2.5, 3]
    assert [point.per_hour and point.per_hour.value for point in curve.points] == [None, 0.5, 0.5, -1]
    assert [point.per_dollar and point.per_dollar.value for point in curve.points] == [None, 0.5, 1, -1]
    assert all(gain.low < gain.value < gain.high for point in curve.points[1:] for gain in (point.per_hour, point.gap))


def test_the_same_trials_over_cost_and_steps():
    curve = compute_budget_curve("agent", TRIALS, "cost", "success", [1, 2, 3, 4])
    assert [point.value.value for point in curve.points] == [0, 0.5, 1, 0.5]
    steps = [trial("s/a", (1, False, 0), (2, True, 0))]
    assert [point.level for point in compute_budget_curve("agent", steps, "steps", "success").points] == [1, 2]


def test_an_unknown_cost_is_an_error():
    unknown = [trial("s/a", (1, True, None))]
    with pytest.raises(UsageError, match="cost of agent is not known"):
        compute_budget_curve("agent", unknown, "cost", "success")
    with pytest.raises(UsageError, match="used no cost"):
        compute_budget_curve("agent", [trial("s/a", (1, True, 0.0))], "cost", "success")


def test_the_expected_best_of_k_is_pass_at_k_for_successes():
    for hits in range(5):
        values = [1.0] * hits + [0.0] * (4 - hits)
        for k in range(1, 5):
            assert expected_best(values, k) == pytest.approx(pass_at_k(4, hits, k))
    # Pairs of 0.1, 0.2, 0.4: best 0.2, 0.4, 0.4.
    assert expected_best([0.4, 0.1, 0.2], 2) == pytest.approx(1 / 3)


@pytest.mark.slow
def test_one_run_is_studied_over_steps_and_over_time(study, exam, tmp_path: Path):
    """Right coins after each step: 15, 30, 18; a medal takes 24. Two tasks, so the curve is 0, 1, 0."""
    points = study("scaling", "Climber", "early-coin", "late-coin", "--seeds", "1", "--over", "steps")["points"]
    assert [point["level"] for point in points] == [1, 2, 3]
    assert [point["value_rate"] for point in points] == [0, 1, 0]
    assert [point["oracle_rate"] for point in points] == [0, 1, 1]
    assert points[2]["per_unit"] == -1
    printed = exam("study", "scaling", tmp_path / "run", "--over", "time", "--levels", "0.001s,1h")
    assert printed.returncode == 0, printed.stderr
    rows = [line.split() for line in printed.stdout.splitlines()]
    # Nothing was submitted after a millisecond; after an hour it is as at the end: pick 0%, oracle 100%.
    levels = [(row[1], row[3]) for row in rows if row[:1] in (["0.0s"], ["1h"])]
    assert levels == [("0.0%", "0.0%"), ("0.0%", "100.0%")], printed.stdout
    assert ["24h", "8.7%"] in rows and ["100h", "11.8%"] in rows
    percentile = exam("study", "scaling", tmp_path / "run", "--over", "steps", "--measure", "percentile")
    assert percentile.returncode == 2 and "does not define percentile" in percentile.stderr


@pytest.mark.slow
def test_attempts_are_drawn_from_the_seeds(study):
    """One of three seeds succeeds on one of two tasks: pass@1 = 1/6, pass@2 = (1 − C(2,2)/C(3,2)) / 2, pass@3 = 1/2."""
    tables = study("scaling", "Gambler", "early-coin", "early-text", "--seeds", "3", "--over", "attempts")
    points = tables["points"]
    assert [point["value_rate"] for point in points] == pytest.approx([1 / 6, 1 / 3, 1 / 2])
    assert points[0]["value_high"] > 0.8, "two tasks say little about others"
    hours = [point["hours"] for point in points]
    assert hours == pytest.approx([hours[0], 2 * hours[0], 3 * hours[0]])
    assert points[1]["per_hour"] == pytest.approx(1 / 6 / hours[0])
    published = [(row["level"], row["share_rate"]) for row in tables["published"]]
    assert published == [(1, pytest.approx(0.087)), (6, 0.17), (1, pytest.approx(0.169)), (8, pytest.approx(0.341))]


def with_gpus(file: TrialFile, gpus: int) -> TrialFile:
    return file.model_copy(update={"resources": Resources(gpus=gpus)})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("factor", "text", "levels", "names"),
    [("cores", "1,2", [1, 2], ("1 core", "2 cores")), ("memory", "1GB,2GB", [10**9, 2 * 10**9], ("1GB", "2GB"))],
)
def test_resources_are_swept_and_paired(study, tmp_path: Path, factor, text, levels, names):
    """With the first level nothing succeeds, with the second everything: two tasks, so the exact p is 2 / 2²."""
    words = ["early-coin", "early-text", "--seeds", "1", "--over", factor, "--levels", text]
    tables = study("scaling", f"Demanding,needs={factor}", *words)
    assert [(point["level"], point["value_rate"]) for point in tables["points"]] == [(levels[0], 0), (levels[1], 1)]
    (step,) = tables["differences"]
    assert (step["difference"], step["p"], step["pairs"]) == pytest.approx((1, 0.5, 2), abs=0.01)
    assert (step["second"], step["first"]) == names
    # The same trials as if the levels were GPUs, which a machine for tests need not have.
    trials = [
        replace(trial, record=replace(trial.record, file=with_gpus(trial.record.file, gpus)))
        for trial in read_study_trials([RunFolder(tmp_path / "run")], drop_resources)
        for gpus in [levels.index(getattr(trial.record.file.resources, factor))]
    ]
    (curve,) = study_scaling(trials, ScalingSettings(over="gpus"), Home(tmp_path)).curves
    assert [(point.level, point.value.value) for point in curve.points] == [(0, 0), (1, 1)]
    assert [(step.second, step.first) for step in curve.steps] == [("0 GPUs", "1 GPU")]


def test_levels_must_fit_what_is_varied(exam, tmp_path: Path):
    words = ["study", "scaling", "exam", "--agent", "starter", "--out", str(tmp_path / "x")]
    assert "at least two levels" in exam(*words, "--over", "cores").stderr
    assert "0 is not a possible number of cores" in exam(*words, "--over", "cores", "--levels", "0,1").stderr
    assert "1.5 is not a possible number of steps" in exam(*words, "--over", "steps", "--levels", "1.5").stderr
    assert "not a duration" in exam(*words, "--over", "time", "--levels", "soon").stderr
    assert exam("study", "scaling", "exam", tmp_path, "--over", "time").returncode == 2
    for factor, levels in (("cores", "1,10000"), ("memory", "1GB,900TB"), ("gpus", "0,100")):
        refused = exam(*words, "--over", factor, "--levels", levels)
        assert refused.returncode == 2 and "--levels: this machine has" in refused.stderr, factor
    assert not (tmp_path / "x").exists(), "nothing is planned that cannot be run"


def test_the_published_figures_are_those_of_the_paper():
    paper = load_paper_figures()
    assert [curve.points for curve in paper.time] == [((86400, 8.7), (360000, 11.8))]
    assert paper.gpus[0].points == ((0, 9.1), (1, 8.7), (2, 10.2)) and paper.gpus[0].errors == (1.0, 0.5, 2.0)
    assert json.loads(paper.obfuscation.model_dump_json())["plain"] == [8.5, 0.6]


@pytest.mark.slow
def test_the_oracle_of_a_search_includes_solutions_that_it_did_not_pick(exam, tmp_path: Path):
    """Three scripts for a dollar each: 15 right and a boast, then 30 right and a modest claim, then 18 right.

    The search believes the first one to its end, so its own curve stays at 0; the oracle has a medal from step 2 on.
    """
    searcher = load_plugin(Path(__file__).parents[1] / "agents" / "scripted_searcher.py")
    replies = [
        {
            "text": searcher.proposal(searcher.script(right, claim)),
            "usage": {"output_tokens": 10},
        }
        for right, claim in ((15, 0.99), (30, 0.5), (18, 0.6))
    ]
    model = tmp_path / "replies.json"
    model.write_text(json.dumps(replies))
    run = tmp_path / "run"
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f"""format = "plan/1"
tasks = ["early-coin"]
agents = ["aide,parallel=1"]
models = ["scripted/{model}"]
seeds = 1
budget = {{ steps = 3 }}
prices = {{ "scripted/{model}" = {{ input = 0, output = 100000 }} }}
"""
    )
    done = exam("study", "scaling", plan, "--over", "steps", "--out", run, "--trust", "--quiet", "--json")
    assert done.returncode == 0, done.stderr
    points = json.loads(done.stdout)["tables"]["points"]["rows"]
    assert [(point["value_rate"], point["oracle_rate"]) for point in points] == [(0, 0), (0, 1), (0, 1)]
    assert [point["dollars"] for point in points] == [1, 2, 3]
    over_cost = exam("study", "scaling", run, "--over", "cost", "--levels", "1,2,3", "--csv")
    points = list(csv.DictReader(over_cost.stdout.splitlines()))
    assert [float(point["oracle_rate"]) for point in points] == [0, 1, 1]
    (finding,) = json.loads(exam("study", "violations", run, "--json").stdout)["tables"]["findings"]["rows"]
    assert (finding["rule"], finding["quote"]) == ("claimed-metric", "node 0 claims 0.99; the score is 0.5")
