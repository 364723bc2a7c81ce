"""Candidates that a trial offers for its final submission, and the choice among them on hidden rows.

A candidate is the content of a submission that was made in the trial's lab, with predictions for test and hidden rows.
Unless an agent may learn scores or ranks, no hidden label is read before its work has ended.
"""

import hashlib
import math
from collections.abc import Awaitable, Callable, Sequence

from anyio import Lock, to_thread

from assay.core.errors import InvalidSubmission, RefusedCode
from assay.data.selection import HiddenSplit, ScoredPart
from assay.lab.snapshots import SnapshotReader
from assay.records import Clock, EventLog
from assay.records.code import Code, decode_code
from assay.records.content_store import ContentStore
from assay.records.events import CandidateScore, Event, Offered, OfferOrigin, OfferResult, Picked, SnapshotTaken
from assay.records.selection import MAX_CANDIDATES, MAX_CHECKS, MAX_REPLIES, choose_candidate, find_offers, round_reply
from assay.records.state import Feedback, Selection
from assay.tasks import Task

CodeOutcome = tuple[bytes | None, str | None]
"""What code made in a fresh lab, or why it made nothing."""
ACCEPTED = "The candidate is kept."
FULL = f"a trial keeps at most {MAX_CANDIDATES} candidates, which take no more space than its workspace may"


class Offers:
    """The candidates of one trial.

    `find_problem` returns what is wrong with the format of a submission, or None. What earlier attempts of the trial
    offered is in the log and counts. `max_size` is how many bytes all candidates may have together. `run_code` runs
    code in a fresh lab, in a trial in which code is submitted.
    """

    def __init__(
        self,
        split: HiddenSplit,
        selection: Selection,
        feedback: Feedback,
        log: EventLog,
        contents: ContentStore,
        clock: Clock,
        find_problem: Callable[[bytes], str | None],
        max_size: int,
        run_code: Callable[[Code], Awaitable[CodeOutcome]] | None = None,
    ) -> None:
        self.selection = selection
        self._split, self._feedback = split, feedback
        self._log, self._contents, self._clock = log, contents, clock
        self._find_problem, self._run_code, self._max_size = find_problem, run_code, max_size
        self._offers = find_offers(log.events)
        self._told = 0
        self._asked: list[str] = []
        self._replies: dict[str, CandidateScore] = {}
        self._lock = Lock()

    @property
    def count(self) -> int:
        """How many candidates there are."""
        return len(self._offers)

    async def add(self, content: bytes, origin: OfferOrigin, code: Code | None = None) -> Offered | None:
        """Keep a candidate and the newest code that makes it, unless both are kept; None if there are too many."""
        async with self._lock:
            digest = hashlib.sha256(content).hexdigest()
            before = self._offers.get(digest)
            if before is None or (code and before.code != code.sha256):
                if before is None and origin != "end" and not self._has_space(len(content)):
                    return None
                problem = await to_thread.run_sync(self._find_problem, content) if before is None else before.problem
                self._contents.keep(content)
                used = self._clock.used
                offered = Offered(
                    candidate=digest,
                    size=len(content),
                    origin=origin,
                    step=used.steps,
                    elapsed=used.elapsed,
                    problem=problem,
                    code=self._contents.keep(code.encode()) if code else None,
                )
                self._offers[digest] = self._log.append(offered)
            return self._offers[digest]

    def _has_space(self, size: int) -> bool:
        """Whether another candidate of so many bytes may be kept."""
        used = sum(offered.size for offered in self._offers.values())
        return len(self._offers) < MAX_CANDIDATES and used + size <= self._max_size

    async def answer_code(self, code: Code | RefusedCode) -> OfferResult:
        """Keep what code that an agent offers makes in a fresh lab, and return what the agent may know about it."""
        if isinstance(code, RefusedCode):
            return OfferResult(reply=f"The code is refused: {code}.", problem=str(code))
        assert self._run_code is not None
        content, problem = await self._run_code(code)
        if content is None:
            return OfferResult(reply=f"In a fresh lab, {problem}.", problem=problem)
        return await self.answer(content, code)

    async def answer(self, content: bytes, code: Code | None = None) -> OfferResult:
        """Keep a candidate that an agent offers, and return what the agent may know about it."""
        offered = await self.add(content, "agent", code)
        if offered is None:
            return OfferResult(reply=f"The candidate is refused: {FULL}.", problem=FULL)
        digest = offered.candidate
        self._told += 1
        if self._told > MAX_CHECKS:
            return OfferResult(reply=f"{ACCEPTED} The format of at most {MAX_CHECKS} is checked.", candidate=digest)
        if offered.problem:
            reply = f"The candidate is invalid: {offered.problem}"
            return OfferResult(reply=reply, candidate=digest, problem=offered.problem)
        if self._feedback == "nothing":
            return OfferResult(reply=ACCEPTED, candidate=digest)
        self._asked.append(digest)
        if len(self._asked) > MAX_REPLIES:
            return OfferResult(reply=f"{ACCEPTED} At most {MAX_REPLIES} candidates are scored.", candidate=digest)
        for candidate in self._asked:
            if candidate not in self._replies:
                self._replies[candidate] = await to_thread.run_sync(self._judge, candidate, "feedback")
        return self._reply(digest)

    def replayed(self, result: OfferResult) -> None:
        """Count an answer that an agent got before the trial was interrupted."""
        self._told += result.candidate is not None
        if result.candidate and not result.problem and result.candidate in self._offers:
            self._asked.append(result.candidate)

    async def catch_up(self, events: Sequence[Event], path: str) -> None:
        """Offer what a process that was killed had saved, but had not offered yet."""
        taken = [event.snapshot for event in events if isinstance(event, SnapshotTaken)][-1:]
        for id in taken:
            file = SnapshotReader(self._contents.snapshots).load(id).files.get(path)
            if file:
                await self.add(self._contents.get_by_digest(file.sha256), "step")

    def code_of(self, candidate: str) -> Code | None:
        """Return the code that makes a candidate, if it is known."""
        digest = self._offers[candidate].code
        return decode_code(self._contents.get_by_digest(digest)) if digest else None

    async def pick(self, own: bytes | None, code: Code | None = None) -> tuple[bytes | None, Picked]:
        """Choose the final submission: its test rows, and the event that says how it was chosen.

        Where code is submitted, a candidate that no code makes is not selected.
        """
        digest = (await self.add(own, "end", code)).candidate if own is not None else None  # type: ignore[union-attr]
        part: ScoredPart = "hidden" if self._feedback == "nothing" else "pick"
        scores = [await to_thread.run_sync(self._judge, candidate, part) for candidate in self._offers]
        hidden = choose_candidate(
            [entry for entry in scores if self._run_code is None or self._offers[entry.candidate].code],
            self._split.prepared.task.metric.direction,
            digest,
        )
        chosen = hidden if self.selection == "hidden" and hidden else digest
        content = None if chosen is None else await to_thread.run_sync(self._test_rows, chosen)
        picked = Picked(
            selection=self.selection,
            pick=chosen,
            own=digest,
            hidden=hidden,
            submission=None if content is None else hashlib.sha256(content).hexdigest(),
            scores=tuple(scores),
        )
        return content, picked

    def _judge(self, candidate: str, part: ScoredPart) -> CandidateScore:
        if problem := self._offers[candidate].problem:
            return CandidateScore(candidate=candidate, problem=problem)
        return judge_candidate(self._split, self._contents.get_by_digest(candidate), part)

    def _reply(self, digest: str) -> OfferResult:
        entry = self._replies[digest]
        if entry.score is None:
            return OfferResult(reply=f"The candidate has no score: {entry.problem}", candidate=digest)
        if self._feedback == "score":
            score = round_reply(entry.score, entry.error)
            return OfferResult(reply=f"{ACCEPTED} Score: {score:.6g}.", candidate=digest, score=score)
        rank, count = rank_of(entry, list(self._replies.values()), self._split.prepared.task)
        return OfferResult(reply=f"{ACCEPTED} Rank: {rank} of {count}.", candidate=digest, rank=rank)

    def _test_rows(self, candidate: str) -> bytes:
        """Return the test rows of a submission; one whose rows cannot be told apart is graded as it is, as invalid."""
        content = self._contents.get_by_digest(candidate)
        try:
            return self._split.rows(content, "test")
        except InvalidSubmission:
            return content


def rank_of(entry: CandidateScore, entries: Sequence[CandidateScore], task: Task) -> tuple[int, int]:
    """Return the rank of a candidate that has a score, and of how many."""
    assert entry.score is not None
    sign = -1 if task.metric.direction == "lower" else 1
    scores = [other.score for other in entries if other.score is not None]
    return 1 + sum(sign * score > sign * entry.score for score in scores), len(scores)


def judge_candidate(split: HiddenSplit, content: bytes, part: ScoredPart) -> CandidateScore:
    """Return the score of a valid candidate on a part of the hidden rows."""
    from assay.grading.isolated import judge_isolated  # a run is driven without graders

    digest = hashlib.sha256(content).hexdigest()
    try:
        rows = split.rows(content, part)
    except InvalidSubmission as error:
        return CandidateScore(candidate=digest, problem=str(error))
    judged = judge_isolated(rows, split.part(part))
    if judged.score is not None and not math.isfinite(judged.score):
        return CandidateScore(candidate=digest, problem=f"its score is not a finite number ({judged.score})")
    noise = judged.noise.error if judged.noise else None
    known = noise if noise is not None and math.isfinite(noise) else None
    return CandidateScore(candidate=digest, score=judged.score, error=known, problem=judged.why)
