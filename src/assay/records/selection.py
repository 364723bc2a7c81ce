"""Candidates for the final submission in a trial's log: which were offered, and which one hidden rows select."""

import math
from collections.abc import Iterable, Sequence
from typing import Literal

from assay.records.events import CallFinished, CandidateScore, Event, Offered, OfferResult, Picked, Restarted

MAX_CANDIDATES = 500
"""Candidates of a trial that are kept, and offers of an external agent that are answered; more are refused."""
MAX_CHECKS = 100
"""Offers of a trial whose format is told: that a candidate is invalid may tell a bit about hidden data."""
MAX_REPLIES = 30
"""Offers of a trial that are answered with a score or a rank: each answer tells something about hidden labels."""


def find_offers(events: Iterable[Event]) -> dict[str, Offered]:
    """Return the candidates of a trial by SHA-256, in the order of first offers; a restart makes earlier ones void."""
    offers: dict[str, Offered] = {}
    for event in events:
        if isinstance(event, Restarted):
            offers = {}
        elif isinstance(event, Offered):
            offers[event.candidate] = event
    return offers


def find_answers(events: Iterable[Event]) -> list[OfferResult]:
    """Return what the agent was told about its offers, in order; a restart makes earlier answers void."""
    answers: list[OfferResult] = []
    for event in events:
        if isinstance(event, Restarted):
            answers = []
        elif isinstance(event, CallFinished) and isinstance(event.result, OfferResult):
            answers.append(event.result)
    return answers


def find_pick(events: Sequence[Event]) -> Picked | None:
    """Return what was picked, once it was."""
    return next((event for event in reversed(events) if isinstance(event, Picked)), None)


def choose_candidate(
    scores: Iterable[CandidateScore], direction: Literal["higher", "lower"], own: str | None = None
) -> str | None:
    """Return the candidate with the best score on hidden rows; in a tie the agent's own, or else the oldest."""
    sign = 1 if direction == "higher" else -1
    scored = [entry for entry in scores if entry.score is not None and math.isfinite(entry.score)]
    best = max((sign * entry.score for entry in scored if entry.score is not None), default=None)
    tied = [entry.candidate for entry in scored if entry.score is not None and sign * entry.score == best]
    return own if own in tied else next(iter(tied), None)


def round_reply(score: float, error: float | None) -> float:
    """Return a score as an agent may learn it: in steps of about its standard error, so that no single row shows."""
    size = error if error else abs(score) / 100
    if not size:
        return score
    step = 2.0 ** math.ceil(math.log2(size))
    return round(score / step) * step
