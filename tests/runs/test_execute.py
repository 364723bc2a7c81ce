"""Plans are executed from Python as by the command line, and nothing is printed."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from assay.core.errors import AssayError, UsageError
from assay.core.home import Home
from assay.core.progress import Advance, NoProgress
from assay.data import prepare
from assay.records import RunFolder, State, TrialFolder
from assay.runs import Plan, PlanConfig, Reporting, add_trials, check_infrastructure, choose_run_folder, execute_trials
from assay.tasks import Registry

TINY = Path(__file__).parent.parent / "tiny"


class Stages:
    """Progress that only remembers the stages."""

    def __init__(self) -> None:
        self.titles: list[str] = []

    @contextmanager
    def stage(self, what: str, total: float | None = None) -> Iterator[Advance]:
        self.titles.append(what)
        yield lambda amount: None


@pytest.fixture
def plan(home: Home) -> Plan:
    coin = Registry([TINY]).task("tiny/coin")
    prepare(home, coin, progress=NoProgress())
    return Plan(tasks=(coin,), agents=(("starter", {}),), seeds=2, tasks_folder=TINY)


def test_the_trials_of_a_plan_run_to_their_grades_and_nothing_is_printed(plan, home, tmp_path, capsys):
    config, stages, sentences = PlanConfig(out=tmp_path / "run", cores=2), Stages(), []
    run = choose_run_folder(config)
    reporting = Reporting(stages, sentences.append)
    files = add_trials(run, [plan], config, home, reporting)
    assert [file.seed for file in files] == [1, 2] == [trial.file.seed for trial in run.trials()]
    assert execute_trials(run, config, home, reporting) is None
    assert [trial.state.status for trial in run.trials()] == ["done", "done"]
    assert all(trial.grade.score is not None for trial in run.trials())
    assert stages.titles == ["2 trials on 2 cores"]
    assert [sentence for sentence in sentences if "busy" not in sentence] == []
    assert capsys.readouterr() == ("", "")


def test_what_the_limits_of_a_run_leave_unstarted_is_returned_and_runs_later(plan, home, tmp_path):
    run, config = RunFolder(tmp_path / "run"), PlanConfig(total_time=1e-9, cores=1)
    add_trials(run, [plan], config, home)
    unstarted = execute_trials(run, config, home)
    assert unstarted.trials == 2 and not any(trial.state.final for trial in run.trials())
    assert execute_trials(run, PlanConfig(), home, resumed=True) is None
    assert all(trial.state.status == "done" for trial in run.trials())


def test_only_the_trials_asked_for_are_run(plan, home, tmp_path):
    run = RunFolder(tmp_path / "run")
    first, second = (file.id for file in add_trials(run, [plan], PlanConfig(), home))
    execute_trials(run, PlanConfig(), home, only=[second])
    assert [trial.path.name for trial in run.trials() if trial.state.final] == [second] != [first]


def test_a_run_can_be_executed_in_another_thread(plan, home, tmp_path):
    run = RunFolder(tmp_path / "run")
    add_trials(run, [plan], PlanConfig(), home)
    worker = threading.Thread(target=execute_trials, args=(run, PlanConfig(), home))
    worker.start()
    worker.join()
    assert all(trial.state.status == "done" for trial in run.trials())


def test_a_wrong_executor_is_refused_before_the_run_has_a_folder(plan, home, tmp_path):
    run = RunFolder(tmp_path / "run")
    with pytest.raises(UsageError, match="slurm settings require"):
        add_trials(run, [plan], PlanConfig(slurm={"partition": "gpu"}), home)
    assert not run.path.exists()


def test_failures_of_the_infrastructure_are_an_error_that_names_the_first(plan, home, tmp_path):
    run = RunFolder(tmp_path / "run")
    files = add_trials(run, [plan], PlanConfig(), home)
    check_infrastructure(run)
    failed = State(status="failed", cause="infrastructure", reason="no disk")
    TrialFolder(run.path / "trials" / files[0].id).write_state(failed)
    with pytest.raises(AssayError, match=r"1 of 2 trials could not run \(no disk\)"):
        check_infrastructure(run)
