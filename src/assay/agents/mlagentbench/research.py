"""The published research agent: it reflects, maintains a plan, checks facts, thinks, and acts."""

import json
import re
from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from assay.agents.mlagentbench.actions import ACTIONS, RESEARCH_LOG, Action
from assay.agents.mlagentbench.actions.assistant import append_to_log, search_log
from assay.agents.mlagentbench.actions.files import read_workspace_file
from assay.agents.mlagentbench.base import SHORT_OBSERVATION, ActionAgent, AgentState
from assay.agents.mlagentbench.react import THOUGHT
from assay.agents.mlagentbench.summaries import FAST, ask_for_text, summarize
from assay.agents.mlagentbench.text_protocol import format_turn
from assay.agents.mlagentbench.turns import ActionCall, ThoughtField, Turn
from assay.agents.observation import ActionFailed
from assay.core.errors import ModelError, PromptTooLong
from assay.core.text import cut_middle
from assay.models import Reply

REFLECTION = ThoughtField(
    "Reflection", "what the last observation means; after an error, what caused it and how to fix it"
)
PLAN = ThoughtField(
    "Research Plan and Status",
    "the full plan, with the current status and confirmed results of each step; mark what is new in this reply with "
    "double asterisks",
)
FACT_CHECK = ThoughtField(
    "Fact Check", "for each statement that is new in the plan, whether an observation confirmed it or it is a guess"
)


class Research(ActionAgent):
    """Maintains a plan across steps, checks facts, has long observations summarized, and can keep a research log."""

    summary = "MLAgentBench's research agent: reflects, plans, checks facts, thinks and acts, step by step"
    thoughts: ClassVar[tuple[ThoughtField, ...]] = (REFLECTION, PLAN, FACT_CHECK, THOUGHT)
    prompt: ClassVar[str] = "research"

    retrieval: bool = Field(False, description="keep a research log of all steps and retrieve from it")
    max_observation: int = Field(5_000, ge=500, description="characters above which an observation is summarized")

    def offered_actions(self) -> list[Action]:
        """Return the usual actions; with a research log, also the one that reflects on it."""
        offered = super().offered_actions()
        if self.retrieval and "Reflection" not in self.remove_actions:
            offered.insert(len(offered) if self.rules == "published" else -1, ACTIONS["Reflection"])
        return list(dict.fromkeys(offered))

    def parse_reply(self, state: AgentState, reply: Reply) -> ActionCall:
        """Return the action call of a reply; the marks of what is new are removed from its plan."""
        call = super().parse_reply(state, reply)
        plan = strip_marks(call.thoughts.get(PLAN.name, ""))
        return replace(call, thoughts={**call.thoughts, PLAN.name: plan}) if plan else call

    async def shorten_observation(self, state: AgentState, call: ActionCall, observation: str) -> str:
        """Return an observation, summarized by the fast model if it is long."""
        if len(observation) <= self.max_observation:
            return observation
        return await self._summarize(state, call, observation, self.max_observation)

    async def condense(self, state: AgentState, turn: Turn) -> str:
        """Return a summary of an observation of any length."""
        return await self._summarize(state, turn.call, turn.observation, SHORT_OBSERVATION)

    async def recall(self, state: AgentState) -> str:
        """Return what the research log says about the plan, once it covers more than the steps in context."""
        if not self.retrieval or len(state.turns) <= self.steps_in_context:
            return ""
        log = await read_workspace_file(state.context, RESEARCH_LOG)
        if not log:
            return ""
        plan = state.turns[-1].call.thoughts.get(PLAN.name, "")
        try:
            memories = await search_log(state.context, log.decode(errors="replace"), plan)
        except ActionFailed as failure:
            await state.context.bench.note("no retrieval", cause=failure.observation.cause, reason=str(failure))
            return ""
        return state.context.templates.fill("memory", found=memories) if memories else ""

    async def update_memory(self, state: AgentState) -> None:
        """Add an entry about the last turn to the research log, if there is one; this takes no step."""
        if not self.retrieval:
            return
        context, last = state.context, state.turns[-1]
        prompt = context.templates.fill("log_entry", step=format_turn(last, with_observation=True))
        try:
            entry = await ask_for_text(context.bench, FAST, prompt)
            await append_to_log(context, f"[Step {len(state.turns)}]\n{entry}")
        except (ModelError, PromptTooLong, ActionFailed) as error:
            await context.bench.note("no entry in the research log", reason=str(error))
        await context.bench.snapshot()

    async def _summarize(self, state: AgentState, call: ActionCall, observation: str, max_length: int) -> str:
        context = state.context
        action = cut_middle(f"{call.action}: {json.dumps(call.arguments, ensure_ascii=False)}", SHORT_OBSERVATION)
        thought = call.thoughts.get(THOUGHT.name, "")
        try:
            summary = await summarize(
                context.bench,
                context.templates,
                observation,
                "observation",
                "observation_merge",
                thought=thought,
                action=action,
            )
        except (ModelError, PromptTooLong) as error:
            await context.bench.note("no summary", reason=str(error))
            return cut_middle(observation, max_length)
        return f"(summary of {len(observation):,} characters)\n{cut_middle(summary, max_length)}"


def strip_marks(plan: str) -> str:
    """Return a plan without code fences and without the marks of what is new in it."""
    return re.sub(r"^[ \t]*+```\w*+[ \t]*+$", "", plan, flags=re.MULTILINE).replace("**", "").strip()
