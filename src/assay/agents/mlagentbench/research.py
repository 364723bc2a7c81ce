"""The published research agent: it reflects, carries its plan along, checks its facts, thinks, and acts."""

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field as Setting

from assay.agents.mlagentbench.actions import ACTIONS, Action
from assay.agents.mlagentbench.actions.files import content_of
from assay.agents.mlagentbench.actions.shortened import shortened
from assay.agents.mlagentbench.actions.thinking import LOG, add_to_log, retrieve
from assay.agents.mlagentbench.base import SHORTEST, Acting, Course
from assay.agents.mlagentbench.react import THOUGHT
from assay.agents.mlagentbench.summaries import FAST, ask, digest
from assay.agents.mlagentbench.text_protocol import show_turn
from assay.agents.mlagentbench.turns import Field, Move, Turn
from assay.agents.observation import ActionFailed
from assay.core.errors import ModelError, PromptTooLong

if TYPE_CHECKING:
    from assay.models import Reply

PLAN = Field(
    "Research Plan and Status",
    "the whole plan, with what is done and what came of it; put what is new in this answer between double asterisks",
)
REFLECTION = Field(
    "Reflection", "what the last observation means; after an error, what caused it and how to get rid of it"
)
FACT_CHECK = Field(
    "Fact Check", "for each statement that is new in the plan, whether an observation has confirmed it or it is a guess"
)


class Research(Acting):
    """Carries a plan from step to step, checks its facts, has long observations summed up, and can keep a log."""

    summary = "MLAgentBench's research agent: reflects, plans, checks facts, thinks and acts, step by step"
    thoughts: ClassVar[tuple[Field, ...]] = (REFLECTION, PLAN, FACT_CHECK, THOUGHT)
    prompt: ClassVar[str] = "research"

    retrieval: bool = Setting(False, description="keep a research log of all steps, and look things up in it")
    longest_observation: int = Setting(5_000, ge=500, description="characters beyond which an observation is summed up")

    def offered(self) -> list[Action]:
        """As for every agent; with a research log, also to reflect on it."""
        offered = super().offered()
        if self.retrieval and "Reflection" not in self.remove_actions:
            offered.insert(-1, ACTIONS["Reflection"])
        return list(dict.fromkeys(offered))

    def read(self, course: Course, reply: "Reply") -> Move:
        """As for every agent; the plan is carried along without the marks of what was new in it."""
        move = super().read(course, reply)
        plan = plain_plan(move.thoughts.get(PLAN.name, ""))
        return replace(move, thoughts={**move.thoughts, PLAN.name: plan}) if plan else move

    async def shown(self, course: Course, move: Move, observation: str) -> str:
        """A long observation is summed up by the fast model."""
        if len(observation) <= self.longest_observation:
            return observation
        return await self._summed_up(course, move, observation, self.longest_observation)

    async def condensed(self, course: Course, turn: Turn) -> str:
        """The same, for an observation of any length."""
        return await self._summed_up(course, turn.move, turn.observation, SHORTEST)

    async def memory(self, course: Course) -> str:
        """With a research log, and once it holds more than the last steps: what it says about the plan."""
        if not self.retrieval or len(course.turns) <= self.steps_in_context:
            return ""
        log = await content_of(course.means, LOG)
        plan = course.turns[-1].move.thoughts.get(PLAN.name, "")
        try:
            found = await retrieve(course.means, log.decode(errors="replace"), plan) if log else ""
        except ActionFailed as failure:
            await course.means.bench.note("no retrieval", cause=failure.observation.cause, why=str(failure))
            return ""
        return course.means.templates.fill("memory", found=found) if found else ""

    async def remember(self, course: Course) -> None:
        """With a research log: an entry about the last turn. It costs no step; only actions do."""
        if not self.retrieval:
            return
        means, last = course.means, course.turns[-1]
        try:
            entry = await ask(means.bench, FAST, means.templates.fill("log_entry", step=show_turn(last, observed=True)))
            await add_to_log(means, f"[Step {len(course.turns)}]\n{entry}")
        except (ModelError, PromptTooLong, ActionFailed) as fault:
            await means.bench.note("no entry in the research log", why=str(fault))
        await means.bench.snapshot()

    async def _summed_up(self, course: Course, move: Move, observation: str, most: int) -> str:
        means = course.means
        done = f"{move.action}: {json.dumps(move.arguments, ensure_ascii=False)}"
        about = {"thought": move.thoughts.get(THOUGHT.name, ""), "action": shortened(done, SHORTEST)}
        try:
            summary = await digest(
                means.bench, means.templates, observation, "observation", "observation_merge", **about
            )
        except (ModelError, PromptTooLong) as fault:
            await means.bench.note("no summary", why=str(fault))
            return shortened(observation, most)
        return f"(a summary, because it was {len(observation):,} characters long)\n{shortened(summary, most)}"


def plain_plan(plan: str) -> str:
    """A plan without fences and without the marks of what was new in it."""
    return re.sub(r"^\s*```\w*\s*$", "", plan, flags=re.MULTILINE).replace("**", "").strip()
