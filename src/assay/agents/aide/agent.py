"""AIDE's way to work, with a choice of search policies: a tree of whole scripts, the best of which is handed in."""

from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.resources.abc import Traversable
from random import Random
from typing import ClassVar

from pydantic import Field as Setting

from assay.agents.agent import Agent
from assay.agents.aide import POLICIES, Journal, Node, Rules
from assay.agents.aide.concurrency import side_by_side
from assay.agents.aide.context import system_prompt
from assay.agents.aide.draft import DraftConfig, write_script
from assay.agents.aide.execute import Attempt, Candidate, hand_in, run_again, try_scripts
from assay.agents.aide.journal import NOTE
from assay.agents.aide.operators import Prompts
from assay.agents.aide.outcomes import NoMetric, metric_in, settled
from assay.agents.aide.reviews import reviewed
from assay.agents.prompts import Templates
from assay.agents.workbench import Workbench
from assay.core.quantities import Seconds

ANOTHER_SEED = 1_000_003


@dataclass
class Course:
    """How far a search has come: its journal, and the submissions of the best nodes."""

    bench: Workbench
    terms: DraftConfig
    journal: Journal
    kept: dict[int, Candidate] = field(default_factory=dict)


class Aide(Rules, Agent):
    """Drafts, fixes, improves and merges whole scripts, each judged by its own validation, and keeps the best one."""

    summary = "searches a tree of whole-script solutions as AIDE and AIRA do: greedy, mcts, evolution or random"
    asks_models: ClassVar[bool] = True
    texts: ClassVar[Traversable | None] = None
    """A folder with texts that take the place of those in `templates`, for agents of one's own."""

    parallel: int | None = Setting(None, ge=1, description="scripts run at once; else as many as the lab has cores")
    exec_seconds: Seconds | None = Setting(None, description="time limit of one script; else a share of what is left")
    exec_share: float = Setting(0.2, gt=0, le=1, description="that share")
    review: bool = Setting(False, description="have the model in the role review look at what each script printed")
    confirm: int = Setting(0, ge=0, description="best nodes to run again with another seed before the final choice")
    tries: int = Setting(3, ge=1, description="how often one script is asked for until the answer can be read")
    memory: int = Setting(6_000, ge=0, description="characters about earlier nodes that the model is told")
    adaptive: bool = Setting(False, description="ask for more elaborate solutions the more were tried from one place")

    async def work(self, bench: Workbench) -> None:
        """Round by round until the steps are used; the best submission so far lies in its place all the time."""
        texts = Templates(self.texts)
        prompts = Prompts(texts, await system_prompt(bench, texts), self.memory, self.adaptive)
        terms = DraftConfig(bench, prompts, self.tries, partial(self._limit, bench))
        course = Course(bench, terms, Journal(bench.task.metric.direction))
        while bench.clock.steps_left > self._reserved(bench):
            await self._round(course)
        if self.confirm:
            await self._confirm(course)

    async def _round(self, course: Course) -> None:
        """Choose some nodes, have their scripts written, run them side by side, and keep what came of them."""
        bench = course.bench
        chosen = self._choose(course)
        for _ in chosen:
            bench.clock.step()
        written = await side_by_side([partial(write_script, course.terms, course.journal, node) for node in chosen])
        if faults := [fault for each in written for fault in each.faults]:
            await bench.note("unreadable replies", cause="format", why=faults)
        scripts = [each.node for each in written if each.node.code]
        tried = await try_scripts(bench, scripts, self._limit(bench))
        attempts = dict(zip((node.id for node in scripts), tried, strict=True))
        ran = [(node, attempts[node.id].tried) for node in scripts]
        reviews = await reviewed(bench, course.terms.prompts.texts, ran) if self.review else {}
        for node in (each.node for each in written):
            attempt = attempts.get(node.id)
            done = settled(node, attempt.tried, reviews.get(node.id)) if attempt else node
            await self._keep(course, done, attempt)
        await self._hand_in(course, course.journal.best)

    def _choose(self, course: Course) -> list[Node]:
        """The nodes of a round, one after the other: each choice knows of those before it."""
        bench, first = course.bench, len(course.journal.nodes)
        at_once = min(self.parallel or bench.task.resources.cores, bench.clock.steps_left - self._reserved(bench))
        for id in range(first, first + at_once):
            choice = POLICIES[self.policy](course.journal, Random(f"{bench.seed} {id}"), self)
            course.journal = course.journal.put(Node(id=id, operator=choice.operator, parents=choice.parents))
        return list(course.journal.nodes[first:])

    async def _keep(self, course: Course, node: Node, attempt: Attempt | None = None) -> None:
        """Put a node that is done into the journal and the record; the submissions of the best ones are at hand."""
        course.journal = course.journal.put(node)
        if node.good and attempt and attempt.submission is not None:
            course.kept[node.id] = Candidate(node, attempt.submission)
            best = sorted(course.kept, key=lambda id: (-course.journal.value(course.journal.nodes[id]), id))
            course.kept = {id: course.kept[id] for id in best[: max(1, self._reserved(course.bench))]}
        await course.bench.note(NOTE, node=node.model_dump(mode="json"))

    async def _confirm(self, course: Course) -> None:
        """Run the best nodes again with another seed, and hand in the one that is best over both runs."""
        bench, best, confirmed = course.bench, course.journal.best, list[Node]()
        for handed_in in course.kept.values():
            bench.clock.step()
            node = handed_in.node
            (stdout,) = await run_again(bench, [node], self._limit(bench), bench.seed + ANOTHER_SEED)
            with suppress(NoMetric):
                confirmed.append(node.model_copy(update={"again": metric_in(stdout)}))
                await self._keep(course, confirmed[-1])
            await self._hand_in(course, best)
        if confirmed:
            await self._hand_in(course, max(confirmed, key=course.journal.value))

    async def _hand_in(self, course: Course, best: Node | None) -> None:
        if best:
            await hand_in(course.bench, course.kept[best.id])
        await course.bench.snapshot()

    def _reserved(self, bench: Workbench) -> int:
        """Steps that are left for running the best nodes again."""
        return min(self.confirm, bench.clock.budget.steps // 2)

    def _limit(self, bench: Workbench) -> float:
        """How long one script may run."""
        return self.exec_seconds or bench.clock.seconds_left * self.exec_share
