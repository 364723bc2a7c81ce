"""The chooser: improves a pipeline by one constrained choice after another."""

import json
import math
import shlex
from collections.abc import Sequence
from importlib.resources import files
from typing import ClassVar, Literal

from pydantic import Field

from assay.agents.agent import Agent, ModelUse
from assay.agents.automl.agent import describe_task, find_obstacle, read_script
from assay.agents.chooser.choices import Choose, choose_at_random, choose_by_model
from assay.agents.chooser.pipelines import DESCRIPTIONS, PipelineChoice, pipeline_names
from assay.agents.observation import Observation
from assay.agents.outcomes import describe_end, format_streams
from assay.agents.prompts import Templates
from assay.agents.replies import UnreadableReply
from assay.agents.workbench import Workbench
from assay.core.errors import UnsafePath
from assay.core.text import one_line
from assay.grading.metrics import describe_metric
from assay.records.code import Solution
from assay.records.events import GAVE_UP
from assay.tasks import Task

KEEP, REVERT, PIPELINE = "keep", "revert", "pipeline"
PREDICTIONS, RESULT, CONFIG, KEPT = "candidate.csv", "result.json", "chooser.json", "kept.json"
EVALUATE = ("python", "-W", "ignore", "evaluate.py")
MAX_OUTPUT = 2_000
SHOWN_TRIES = 6


class Chooser(Agent):
    """Improves a pipeline by choices from lists: which pipeline, which parameter, which value, keep or revert."""

    scripts: ClassVar[tuple[str, ...]] = ("assay.agents.automl:search.py", "assay.agents.chooser:evaluate.py")

    summary = "every decision is a constrained choice, by a model or at random; for small models"
    asks_models: ClassVar[bool] = True
    calls: ClassVar[tuple[str, ...]] = ("command", "write", "note", "model", "action", "read")

    choices: Literal["model", "random"] = Field("model", description="who chooses: the model, or random draws")
    rounds: int = Field(6, ge=0, le=1000, description="changes to try after the first pipeline")
    share: float = Field(0.25, gt=0, le=1, description="max time of an evaluation, as a share of the time left")
    description_length: int = Field(1000, ge=0, description="max characters of the task's description in a prompt")
    max_format_errors: int = Field(3, ge=1, description="consecutive unreadable replies that end the trial")

    def model_use(self) -> ModelUse:
        """Ask no model if choices are random."""
        return "required" if self.choices == "model" else "none"

    def inapplicable(self, task: Task) -> str | None:
        """Refuse what `automl` refuses, because the pipelines are the same."""
        return find_obstacle("chooser", task)

    def find_solution(self, task: Task) -> Solution:
        """Return the evaluation of the pipeline that it kept last."""
        return Solution((*EVALUATE, KEPT), ("automl.py", "evaluate.py", KEPT))

    async def work(self, bench: Workbench) -> None:
        """Evaluate a pipeline, then change one thing at a time and keep or revert the change."""
        templates = Templates("assay.agents.chooser")
        if self.choices == "random":
            choose = choose_at_random(bench)
        else:
            choose = choose_by_model(bench, templates.fill("system"), self.max_format_errors)
        await bench.write("automl.py", read_script())
        await bench.write("evaluate.py", files("assay.agents.chooser").joinpath("evaluate.py").read_bytes())
        await bench.write(KEPT, json.dumps(describe_task(bench.task) | {"pipeline": None}, indent=2))
        try:
            await _Search(bench, choose, templates, self).run()
        except UnreadableReply as error:
            await bench.note(GAVE_UP, cause="format", reason=str(error))


class _Search:
    """The choices of one trial: what was tried, and what is kept."""

    def __init__(self, bench: Workbench, choose: Choose, templates: Templates, settings: Chooser) -> None:
        self._bench, self._choose, self._templates, self._settings = bench, choose, templates, settings
        self._pipelines = pipeline_names(bench.task.kind or "")
        self._tried: list[str] = []

    async def run(self) -> None:
        kept = PipelineChoice.default(await self._decide("Which pipeline should be tried first?", self._pipelines))
        if await self._evaluate(kept) is not None:
            await self._keep()
        for _ in range(self._settings.rounds):
            candidate = await self._change(kept)
            loss = await self._evaluate(candidate)
            if loss is None:
                continue  # without predictions there is nothing to keep
            question = f"Evaluated: {candidate}. Keep this change, or revert to {kept}?"
            if await self._decide(question, [KEEP, REVERT]) == KEEP:
                await self._keep()
                kept = candidate

    async def _change(self, kept: PipelineChoice) -> PipelineChoice:
        """Return the kept candidate with one change."""
        question = f"The current pipeline is {kept}. What should be changed next?"
        what = await self._decide(question, [*kept.parameters, PIPELINE])
        if what == PIPELINE:
            others = [name for name in self._pipelines if name != kept.pipeline]
            return PipelineChoice.default(await self._decide("Which pipeline should be tried instead?", others))
        question = f"{what} is {kept.parameters[what]}. Which value should be tried instead?"
        return kept.with_value(what, await self._decide(question, kept.other_values(what)))

    async def _decide(self, question: str, options: Sequence[str]) -> str:
        task, max_length = self._bench.task, self._settings.description_length
        explained = [f"{name} is {DESCRIPTIONS[name]}" for name in options if name in DESCRIPTIONS]
        prompt = self._templates.fill(
            "decision",
            description=one_line(self._bench.description, max_length) if max_length else task.title,
            metric=describe_metric(task),
            tried="\n".join(f"- {line}" for line in self._tried[-SHOWN_TRIES:]) or "- nothing yet",
            question=question,
            options="; ".join(explained) or ", ".join(options),
        )
        choice = await self._choose(prompt, options)
        await self._bench.note("choice", question=question, options=list(options), choice=choice)
        return choice

    async def _evaluate(self, candidate: PipelineChoice) -> float | None:
        """Return the validation loss of a candidate, whose predictions are then in the workspace; None if it failed."""
        bench, losses = self._bench, list[float]()

        async def perform() -> Observation:
            config = describe_task(bench.task) | {
                "seed": bench.seed,
                "pipeline": candidate.pipeline,
                "parameters": dict(candidate.parameters),
                "predictions": PREDICTIONS,
                "result": RESULT,
            }
            await bench.write(CONFIG, json.dumps(config, indent=2))
            seconds = self._settings.share * bench.clock.seconds_left
            done = await bench.execute(EVALUATE, seconds=seconds)
            cause, ending = describe_end(done)
            loss = await _read_loss(bench) if done.succeeded else None
            if loss is None:
                return Observation(
                    f"The evaluation {ending}.\n\n{format_streams(done.stdout, done.stderr, MAX_OUTPUT)}", cause
                )
            losses.append(loss)
            return Observation(f"Validation loss {loss:.5g}.")

        arguments = {"pipeline": candidate.pipeline, **candidate.parameters}
        await bench.act("evaluate", arguments, perform)
        self._tried.append(f"{candidate}: " + (f"validation loss {losses[0]:.5g}" if losses else "failed"))
        return losses[0] if losses else None

    async def _keep(self) -> None:
        """Submit the predictions of the last candidate."""

        async def perform() -> Observation:
            keep = f"cp {CONFIG} {KEPT} && mv {PREDICTIONS} {shlex.quote(self._bench.task.submission.file)}"
            done = await self._bench.execute(["sh", "-c", keep])
            cause, ending = describe_end(done)
            return Observation(f"Submitting the predictions {ending}.", cause)

        await self._bench.act(KEEP, {}, perform)


async def _read_loss(bench: Workbench) -> float | None:
    try:
        loss = float(json.loads(await bench.read(RESULT, max_size=1000))["loss"])
    except (UnsafePath, ValueError, KeyError, TypeError):
        return None
    return loss if math.isfinite(loss) else None
