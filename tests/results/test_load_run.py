"""A run as Python objects and as a pandas frame."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import assay
from assay.core.errors import UsageError
from assay.records.events import CallStarted, Graded, ModelRequest, ModelResult

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def run(scripted_run):
    return assay.load_run(scripted_run.path)


def test_a_frame_has_one_row_per_trial(run):
    frame = run.to_frame()
    assert list(frame.index) == [trial.id for trial in run.trials]
    for trial, (_, row) in zip(run.trials, frame.iterrows(), strict=True):
        state = trial.state
        assert (row["agent"], row["seed"], row["status"]) == (trial.file.label, trial.file.seed, state.status)
        assert (row["steps"], row["tokens"], row["seconds"]) == (state.steps, state.tokens, state.elapsed)
        if state.status == "done":
            assert row["score"] == trial.grade.score and row["valid"] and pd.isna(row["cause"])
        elif state.status == "failed":
            assert (row["cause"], row["error_type"]) == (state.cause, state.error_type)
            assert state.error_type and not row["valid"]


def test_events_are_typed_and_prompts_are_whole(run):
    asked = 0
    for trial in run.trials:
        assert [event.number for event in trial.events] == list(range(len(trial.events)))
        if trial.grade:
            (graded,) = [event for event in trial.events if isinstance(event, Graded)]
            assert graded.grade == trial.grade
        assert (trial.submission is not None) == bool(trial.grade and trial.grade.submission_exists)
        for event in trial.events:
            if isinstance(event, CallStarted) and isinstance(event.request, ModelRequest):
                asked += 1
                messages = trial.messages(event)
                assert len(messages) == event.request.shared + len(event.request.messages)
                assert messages == trial.messages(event.number)
        assert trial.model_calls == tuple(
            event.number
            for event in trial.events
            if isinstance(event, CallStarted) and isinstance(event.request, ModelRequest)
        )
        for call in trial.calls:
            if isinstance(call.result, ModelResult):
                assert trial.reply(call) == call.result.reply
    assert asked > 0
    with pytest.raises(UsageError, match="does not start a model call"):
        run.trials[0].messages(0)


def test_another_folder_is_refused(tmp_path):
    with pytest.raises(UsageError, match="not a run folder"):
        assay.load_run(tmp_path)


def test_importing_assay_loads_nothing_else():
    code = "import sys, assay; print([name for name in sys.modules if name.startswith('assay.') or name == 'pandas'])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
