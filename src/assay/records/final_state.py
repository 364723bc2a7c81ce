"""The state of a finished trial, which follows from its log alone."""

from collections.abc import Sequence

from assay.core.errors import InvalidSubmission
from assay.records.events import Event, Graded, Inapplicable, LabOpened, Submitted
from assay.records.failure import explain_failure
from assay.records.state import State


def opened_state(event: LabOpened) -> State:
    """Return the state of a trial whose lab has just been opened."""
    return State(
        status="running",
        epoch=event.epoch,
        started_at=event.time.isoformat(timespec="seconds"),
        sealing=event.sealing,
        answers=event.answers,
        load=event.load,
        processor=event.processor,
        gpu_model=event.gpu_model,
        cores=event.cores,
        memory=event.memory,
    )


def final_state(events: Sequence[Event]) -> State | None:
    """Return the state of a trial that has ended; None if nothing in its log ends it.

    A trial without a valid submission has failed because of its agent: other failures are not final.
    """
    submitted = next((event for event in events if isinstance(event, Submitted)), None)
    for event in events:
        if isinstance(event, Inapplicable):
            ended_at = event.time.isoformat(timespec="seconds")
            return State(status="inapplicable", reason=event.reason, epoch=event.epoch, ended_at=ended_at)
        if isinstance(event, Graded) and submitted:
            return _graded_state(events, submitted, event)
    return None


def _graded_state(events: Sequence[Event], submitted: Submitted, graded: Graded) -> State:
    state, grade = submitted.state, graded.grade
    changes: dict[str, object] = {"ended_at": graded.time.isoformat(timespec="seconds")}
    if grade.valid_submission:
        return state.model_copy(update={**changes, "status": "done", "cause": None, "error_type": None})
    failure, reason = explain_failure(events, submitted.submission, grade.why, state)
    changes |= {
        "status": "failed",
        "cause": "agent",
        "failure": failure,
        "error_type": state.error_type or InvalidSubmission.__name__,
        "reason": reason,
    }
    return state.model_copy(update=changes)
