"""Trajectories from records: of scripted agents that really ran, and of logs written for a single case."""

from pathlib import Path

import pytest

from assay.models.messages import Message, Reply, Usage
from assay.records import BudgetUsed, EventLog, State, SubmissionEntry, read_events
from assay.records.events import (
    ActionRequest,
    ActionResult,
    BudgetExhausted,
    CallFinished,
    CallStarted,
    CommandRequest,
    CommandResult,
    InfrastructureFailed,
    ModelRequest,
    ModelResult,
    NoteRequest,
    NoteResult,
    Restarted,
    Started,
    Submitted,
)
from assay.results.trajectory import FAILURE_KINDS, read_trajectory, summarize_trajectory
from assay.suites.mlagentbench.studies.figures import EvaluatedTrial, evaluate_trials, find_failure_cause
from assay.tasks import Budget

BUDGET = Budget(time=60, steps=20)


@pytest.fixture(scope="module")
def trials(scripted_run) -> dict[str, EvaluatedTrial]:
    """The trials of the run by the name of their script."""
    return {_name(trial.outcome.agent): trial for trial in evaluate_trials(scripted_run)}


def _name(agent: str) -> str:
    return Path(agent.rpartition(" · ")[2]).stem


def test_problems_that_were_recovered_from_are_listed_and_are_not_failures(trials):
    tough = trials["tough"]
    assert tough.trajectory.troubles == set(FAILURE_KINDS) - {"machine"}
    assert (tough.trajectory.end, tough.trajectory.fatal, tough.trajectory.submitted) == ("final answer", None, True)
    assert tough.outcome.valid and find_failure_cause(tough) is None


@pytest.mark.parametrize(
    ("name", "end", "submitted", "cause"),
    [
        ("mute", "gave up", True, None),  # the file in the workspace counts
        ("clumsy", "gave up", False, "format"),
        ("vague", "final answer", True, "invalid submission"),
        ("refused", "fault", False, "connection"),
        ("Crashes", "crash", False, "crash"),
        ("Idles", "content", False, "no submission"),
        ("Greedy", "budget", True, None),
        ("Steps", "content", True, None),
    ],
)
def test_every_failure_has_a_cause(trials, name, end, submitted, cause):
    trial = trials[name]
    assert (trial.trajectory.end, trial.trajectory.submitted, find_failure_cause(trial)) == (end, submitted, cause)


def test_running_out_of_steps_is_not_a_problem_and_steps_are_counted(trials):
    assert (trials["Greedy"].trajectory.steps, trials["Greedy"].trajectory.troubles) == (20, set())
    assert (trials["Steps"].trajectory.steps, trials["Steps"].trajectory.troubles) == (4, set())


def test_tokens_are_counted_by_role_and_add_up_to_the_total_of_the_trial(scripted_run, trials):
    (folder,) = [trial for trial in scripted_run.trials() if _name(trial.file.label) == "tough"]
    tough = trials["tough"].trajectory
    assert set(tough.usage) == {"main"}  # the fast model refused to answer
    assert tough.tokens == folder.state.tokens > 0
    assert tough.cost is None, "a scripted model has no price"
    assert (trials["Steps"].trajectory.tokens, trials["Steps"].trajectory.cost) == (0, 0.0)


def test_a_trial_that_has_not_started_is_unfinished(scripted_run, tmp_path):
    (first, *_) = scripted_run.trials()
    empty = type(first)(tmp_path)
    empty.create(first.file)
    assert read_trajectory(empty).end == "unfinished"


class Log:
    """A log that a test writes by hand."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, event):
        with EventLog(self.path, 1) as log:
            self.last = log.append(event)
        return self

    def start(self):
        return self.add(Started(trial="test", trial_file_sha256="0" * 64, attempt=1))

    def call(self, request, result, *, step=0, changes=False):
        self.add(CallStarted(request=request, step=step, changes=changes))
        return self.add(CallFinished(call=self.last.number, result=result, used=BudgetUsed()))

    def ask(self, role, usage):
        message = Message(role="assistant", text="")
        reply = Reply(
            message=message, stop="stop", usage=Usage(**usage), model="test", number=0, seconds=1.0, waited=0.0
        )
        return self.call(ModelRequest(role=role), ModelResult(reply=reply))

    def act(self, step, cause, name="Execute Script"):
        return self.call(ActionRequest(name=name), ActionResult(observation="", cause=cause, seconds=1.0), step=step)

    def command(self, step, ended="exit", code=0, stderr="", changes=True):
        result = CommandResult(ended=ended, code=code, stdout="", stderr=stderr, seconds=1.0)
        return self.call(CommandRequest(command=("true",), seconds=1.0), result, step=step, changes=changes)

    def note(self, topic, cause):
        return self.call(NoteRequest(topic=topic, cause=cause), NoteResult())

    def submitted(self, file="submission.csv", **state):
        return self.add(
            Submitted(submission=SubmissionEntry(at="2026-11-16T12:00:00+00:00", file=file), state=State(**state))
        )

    def trajectory(self, budget=BUDGET):
        return summarize_trajectory(read_events(self.path), State(), budget)


@pytest.fixture
def log(tmp_path) -> Log:
    return Log(tmp_path / "events.jsonl").start()


def test_cost_is_summed_by_role_and_unknown_if_any_price_is(log):
    log.ask("main", {"input_tokens": 100, "output_tokens": 10, "cost": 0.5})
    log.ask("main", {"input_tokens": 300, "cached_tokens": 40, "cost": 1.5})
    log.ask("fast", {"input_tokens": 7, "cost": 0.25})
    known = log.trajectory()
    assert known.usage["main"] == Usage(input_tokens=400, output_tokens=10, cached_tokens=40, cost=2.0)
    assert (known.tokens, known.cost) == (457, 2.25)
    log.ask("edit", {"input_tokens": 1, "cost": None})
    unknown = log.trajectory()
    assert (unknown.tokens, unknown.cost, unknown.usage["main"].cost) == (458, None, 2.0)


def test_replies_before_an_interruption_count_too(log):
    log.ask("main", {"input_tokens": 5, "cost": 1.0})
    log.add(CallStarted(request=CommandRequest(command=("true",), seconds=1.0), step=1, changes=True))  # killed here
    log.start().ask("fast", {"input_tokens": 3, "cost": 2.0})
    log.add(Restarted(reason="")).ask("main", {"input_tokens": 1, "cost": 4.0})
    trajectory = log.trajectory()
    assert {role: usage.cost for role, usage in trajectory.usage.items()} == {"main": 5.0, "fast": 2.0}
    assert trajectory.end == "unfinished"


def test_running_out_of_time_is_a_trouble_and_running_out_of_steps_is_not(log, tmp_path):
    log.act(1, None).add(BudgetExhausted(limit="time", reason="")).submitted(elapsed=60.2, steps=1)
    assert (log.trajectory().fatal, log.trajectory().troubles) == ("time", {"time"})
    # The same log under a larger budget of time: something else ran out.
    assert log.trajectory(Budget(time=100, steps=1)).fatal is None
    waited = Log(tmp_path / "waited.jsonl").start().act(1, None)
    waited.add(BudgetExhausted(limit="working_time", reason="")).submitted(elapsed=50.0, waited=30.0)
    assert waited.trajectory(Budget(time=60, working=20)).fatal == "time"
    assert waited.trajectory(Budget(time=60, working=21)).fatal is None


def test_a_step_with_an_action_counts_by_the_result_of_the_action(log):
    log.command(1, code=1, changes=False).command(1, code=2).act(1, None)
    assert log.trajectory().troubles == set()
    log.command(2, ended="memory", code=137).act(2, "memory")
    assert log.trajectory().troubles == {"memory"}


@pytest.mark.parametrize(
    ("ended", "code", "stderr", "trouble"),
    [
        ("exit", 1, "Traceback …\nValueError: no", "crash"),
        ("exit", 1, "Traceback …\nMemoryError", "memory"),
        ("exit", 1, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB", "memory"),
        ("memory", 137, "", "memory"),
        ("time", 137, "", "time"),
        ("signal", 139, "", "crash"),
        ("disk", 137, "", "crash"),
        ("output", 137, "", "crash"),
    ],
)
def test_commands_of_an_agent_without_actions_count_themselves(log, ended, code, stderr, trouble):
    log.command(1).command(2, ended, code, stderr).submitted(file=None, steps=2)
    assert (log.trajectory().troubles, log.trajectory().fatal, log.trajectory().end) == ({trouble}, trouble, "content")


def test_a_trouble_in_the_last_step_is_fatal_and_an_earlier_one_is_not(log):
    log.act(1, "crash").act(2, None).submitted()
    assert (log.trajectory().troubles, log.trajectory().fatal) == ({"crash"}, None)
    log.start().act(3, "connection").submitted()
    assert log.trajectory().fatal == "connection"


def test_a_refused_action_is_not_a_problem(log):
    assert log.act(1, "refused").act(2, "budget").trajectory().troubles == set()


@pytest.mark.parametrize(
    ("error_type", "trouble"),
    [("ModelError", "connection"), ("ModelUnavailable", "connection"), ("LabError", "machine")],
)
def test_an_infrastructure_failure_is_attributed_to_the_model_or_the_machine(log, error_type, trouble):
    assert log.add(InfrastructureFailed(error_type=error_type, message="it failed")).trajectory().fatal == trouble
    # After a successful resume it is no longer fatal.
    log.start().act(1, None, name="Final Answer").submitted()
    assert (log.trajectory().fatal, log.trajectory().troubles, log.trajectory().end) == (
        None,
        {trouble},
        "final answer",
    )


def test_a_final_answer_replayed_after_a_restart_counts(log):
    log.act(1, None, name="Final Answer").start().submitted()
    assert log.trajectory().end == "final answer"
    assert Log(log.path).act(2, "arguments", name="Final Answer").trajectory().end == "content"
