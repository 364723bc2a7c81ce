"""The search agent: AIDE's tree search over complete scripts, with a choice of policies."""

import shlex
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath
from random import Random
from statistics import median
from typing import Any, ClassVar

from pydantic import Field

from assay.agents.agent import Agent, format_label
from assay.agents.aide.context import make_system_prompt
from assay.agents.aide.draft import Draft, DraftConfig, write_script
from assay.agents.aide.execute import (
    BEST_SOLUTION,
    Attempt,
    Candidate,
    NoMetric,
    Review,
    evaluate_node,
    execute_beside,
    execute_scripts,
    inspect_beside,
    parse_metric,
    rerun_script,
    run_all,
    write_submission,
)
from assay.agents.aide.operators import Memory, OperatorPrompts
from assay.agents.aide.policies import POLICIES, PolicySettings
from assay.agents.aide.published import PublishedSearch, published_command
from assay.agents.aide.review import review_attempts, review_output
from assay.agents.aide.workers import keep_busy
from assay.agents.prompts import Templates
from assay.agents.workbench import Workbench
from assay.core.plugins import split_path
from assay.core.quantities import Seconds
from assay.lab.interface import Share
from assay.records import Journal
from assay.records.code import Solution
from assay.records.events import CommandResult, SearchNode
from assay.tasks import Task

CONFIRMATION_SEED_OFFSET = 1_000_003


@dataclass
class SearchState:
    """The progress of a search: its journal, and the submissions of the best nodes."""

    bench: Workbench
    config: DraftConfig
    journal: Journal
    candidates: dict[int, Candidate] = field(default_factory=dict)
    gaps: list[float] = field(default_factory=list)
    """Metrics of nodes minus their scores on hidden rows, of those that were told."""

    def correct_metric(self, metric: float, told: float | None) -> float:
        """Return the score that was told; once no more are, the node's own metric, less the usual gap."""
        if told is None:
            return metric - median(self.gaps) if self.gaps else metric
        self.gaps.append(metric - told)
        return told


class Aide(PolicySettings, Agent):
    """Drafts, debugs, improves and crosses over complete scripts, each scored by its own validation.

    The best script's submission is what counts. With `rules=published` it is AIDE as MLE-bench ran it: it asks the role
    `review` about each node and runs scripts one after another; `exec_share`, `memory` and the settings for reviews,
    retries and confirmation do not apply.
    """

    scripts: ClassVar[tuple[str, ...]] = ("assay.agents.aide:preview.py",)

    summary = "tree search over complete scripts as in AIDE and AIRA: greedy, mcts, evolution, ablation, …"
    asks_models: ClassVar[bool] = True
    calls: ClassVar[tuple[str, ...]] = ("model", "command", "write", "read", "validation", "note", "node", "offer")
    templates: ClassVar[Traversable | None] = None
    """A folder with templates that replace those of this package, for custom agents."""

    parallel: int | None = Field(None, ge=1, description="scripts to run in parallel; default: the lab's cores")
    labs: int = Field(
        1,
        ge=1,
        le=64,
        description="labs beside each other that divide the trial's cores, memory and GPUs; each begins its next "
        "script as soon as the last one has ended, instead of waiting for all that run in parallel",
    )
    exec_seconds: Seconds | None = Field(None, description="time limit of a script; default: exec_share")
    exec_share: float = Field(0.2, gt=0, le=1, description="time limit of a script, as a share of the time left")
    review: bool = Field(False, description="have the model in the role `review` check the output of each script")
    feedback: bool = Field(
        False,
        description="with --feedback score: judge nodes by their score on hidden rows; once it is no longer told, by "
        "their own, corrected by the usual difference",
    )
    confirm: int = Field(0, ge=0, description="best nodes to rerun with another seed before the final choice")
    max_attempts: int = Field(3, ge=1, description="attempts to get a readable reply per script")
    memory: int = Field(6_000, ge=0, description="max characters about earlier nodes in a prompt")
    remember_failures: bool = Field(True, description="include failed nodes in what a prompt says about earlier ones")
    adaptive: bool = Field(False, description="ask for more complex solutions the more siblings were tried")

    def label(self, name: str) -> str:
        """Return its name in reports, without the hash of its policy."""
        return format_label(name, self.model_dump(mode="json", exclude_defaults=True, exclude={"policy_hash"}))

    @classmethod
    def settings_name_files(cls, settings: Mapping[str, Any]) -> bool:
        """Whether the policy is a file."""
        return split_path(str(settings.get("policy", ""))) is not None

    def find_solution(self, task: Task) -> Solution:
        """Return the script of the best node."""
        if self.rules != "published":
            return Solution(("python", BEST_SOLUTION), (BEST_SOLUTION,))
        copied = (f"submission/{PurePosixPath(task.submission.file).name}", task.submission.file)
        run, copy = shlex.join(published_command(BEST_SOLUTION)), shlex.join(("cp", *copied))
        return Solution(("sh", "-c", f"{run} && {copy}"), (BEST_SOLUTION,))

    async def work(self, bench: Workbench) -> None:
        """Search round by round until the steps are used; the best submission so far is always in place."""
        if self.rules == "published":
            folder = self.templates or files("assay.agents.aide").joinpath("templates", "published")
            await PublishedSearch(self, bench, Templates("assay.agents.aide", folder)).run()
            return
        templates = Templates("assay.agents.aide", self.templates)
        memory = Memory(self.memory, self.remember_failures)
        prompts = OperatorPrompts(templates, await make_system_prompt(bench, templates), memory, self.adaptive)
        config = DraftConfig(bench, prompts, self.max_attempts, partial(self._time_limit, bench))
        state = SearchState(bench, config, Journal(bench.task.metric.direction))
        if self.labs > 1:
            await keep_busy(self.labs, _Workers(self, state))
        while bench.clock.steps_left > self.reserved_steps(bench):
            await self._run_round(state)
        if self.confirm:
            await self._confirm_best(state)

    async def _run_round(self, state: SearchState) -> None:
        """Choose some nodes, have their scripts written, run them in parallel, and record the results."""
        bench = state.bench
        chosen = self._choose_nodes(state)
        for _ in chosen:
            bench.clock.step()
        drafts = await run_all([partial(write_script, state.config, state.journal, node) for node in chosen])
        reasons = [reason for draft in drafts for reason in draft.reasons]
        if reasons:
            await bench.note("unreadable replies", cause="format", reason="; ".join(reasons))
        nodes = [draft.node for draft in drafts if draft.node.code]
        results = await execute_scripts(bench, nodes, self._time_limit(bench))
        attempts = {node.id: attempt for node, attempt in zip(nodes, results, strict=True)}
        reviews = {}
        if self.review:
            executed = [(node, attempts[node.id]) for node in nodes]
            reviews = await review_attempts(bench, state.config.prompts.templates, executed)
        for node in (draft.node for draft in drafts):
            attempt = attempts.get(node.id)
            await self._record(state, evaluate_node(node, attempt, reviews.get(node.id)) if attempt else node, attempt)
        await self._submit(state, state.journal.best)

    def _choose_nodes(self, state: SearchState) -> list[SearchNode]:
        """Choose the nodes of a round one after another, each choice knowing the ones before it."""
        bench = state.bench
        count = min(self.parallel or bench.task.resources.cores, bench.clock.steps_left - self.reserved_steps(bench))
        return [self.choose_node(state) for _ in range(count)]

    def choose_node(self, state: SearchState) -> SearchNode:
        """Have the policy choose what to try next, knowing what is still being evaluated."""
        id = len(state.journal.nodes)
        known = replace(state.journal, spent=id / state.bench.clock.budget.steps)
        choice = POLICIES.load(self.policy)(known, Random(f"{state.bench.seed} {id}"), self)
        node = SearchNode(id=id, operator=choice.operator, parents=choice.parents)
        state.journal = state.journal.put(node)
        return node

    async def _record(self, state: SearchState, node: SearchNode, attempt: Attempt | None = None) -> None:
        """Put an evaluated node into the journal and the record, and keep the submissions of the best ones."""
        if self.feedback and node.good and attempt and attempt.submission is not None and state.bench.offers:
            result = await state.bench.offer(f"nodes/{node.id}/{state.bench.task.submission.file}")
            if node.metric is not None:
                node = node.model_copy(update={"metric": state.correct_metric(node.metric, result.score)})
        node = await state.bench.record_node(node, attempt.submission if attempt else None)
        state.journal = state.journal.put(node)
        if node.good and attempt and attempt.submission is not None:
            state.candidates[node.id] = Candidate(node, attempt.submission)
            ranked = sorted(state.candidates, key=lambda id: (-state.journal.value(state.journal.nodes[id]), id))
            kept = ranked[: max(1, self.reserved_steps(state.bench))]
            state.candidates = {id: state.candidates[id] for id in kept}

    async def _confirm_best(self, state: SearchState) -> None:
        """Rerun the best nodes with another seed, and submit the one that is best over both runs."""
        bench, best = state.bench, state.journal.best
        confirmed: list[SearchNode] = []
        for candidate in state.candidates.values():
            bench.clock.step()
            node = candidate.node
            seed = bench.seed + CONFIRMATION_SEED_OFFSET
            stdout = await rerun_script(bench, node, self._time_limit(bench), seed)
            with suppress(NoMetric):
                confirmed.append(node.model_copy(update={"rerun_metric": parse_metric(stdout)}))
                await self._record(state, confirmed[-1])
            await self._submit(state, best)
        if confirmed:
            await self._submit(state, max(confirmed, key=state.journal.value))

    async def _submit(self, state: SearchState, best: SearchNode | None) -> None:
        if best:
            await write_submission(state.bench, state.candidates[best.id])
            if state.bench.claims and best.metric is not None:
                await state.bench.claim(best.metric, did=best.plan)
        await state.bench.snapshot()

    async def develop_beside(self, state: SearchState, node: SearchNode, lab: int) -> "Developed":
        """Have the script of a node written, run it in a lab of its own, and have it reviewed."""
        draft = await write_script(state.config, state.journal, node)
        if not draft.node.code:
            return Developed(draft)
        share = Share(lab, self.labs)
        result = await execute_beside(state.bench, draft.node, self._time_limit(state.bench), share)
        review = None
        if self.review:
            review = await review_output(state.bench, state.config.prompts.templates, draft.node, result)
        return Developed(draft, result, review)

    async def take_result(self, state: SearchState, developed: "Developed") -> None:
        """Record what came of a node, and submit the best one so far."""
        bench, node = state.bench, developed.draft.node
        if developed.draft.reasons:
            await bench.note("unreadable replies", cause="format", reason="; ".join(developed.draft.reasons))
        attempt = await inspect_beside(bench, node, developed.result) if developed.result else None
        if attempt:
            node = evaluate_node(node, attempt, developed.review)
            if self.feedback and node.good and attempt.submission is not None:
                await bench.write(f"nodes/{node.id}/{bench.task.submission.file}", attempt.submission)
        await self._record(state, node, attempt)
        await self._submit(state, state.journal.best)

    def reserved_steps(self, bench: Workbench) -> int:
        """Return the number of steps reserved for rerunning the best nodes."""
        return min(self.confirm, bench.clock.budget.steps // 2)

    def _time_limit(self, bench: Workbench) -> float:
        """Return the time limit of a script in seconds."""
        return self.exec_seconds or bench.clock.seconds_left * self.exec_share


@dataclass(frozen=True)
class Developed:
    """A node with how its script ended in a lab of its own, if there is one, and what a review says."""

    draft: Draft
    result: CommandResult | None = None
    review: Review | None = None


@dataclass(frozen=True)
class _Workers:
    """A search whose labs do not wait for each other."""

    agent: Aide
    state: SearchState

    async def start(self, lab: int) -> Callable[[], Awaitable[Developed]] | None:
        bench = self.state.bench
        if bench.clock.steps_left <= self.agent.reserved_steps(bench):
            return None
        bench.clock.step()
        node = self.agent.choose_node(self.state)
        await bench.note("node begun", node=node.id, lab=lab)
        return partial(self.agent.develop_beside, self.state, node, lab)

    async def finish(self, result: Developed) -> None:
        await self.agent.take_result(self.state, result)
