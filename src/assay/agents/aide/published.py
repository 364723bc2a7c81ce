"""`rules=published`: AIDE as MLE-bench ran it, with the decisions of that fork and the information of its prompts.

What differs from the default rules: the review model decides whether a node is buggy, what its metric is and whether
lower is better; the format of submissions is not checked; memory has all good nodes and no failures; an improvement
sees nothing of its parent but the code, a fix only code and output; scripts run one after another in the workspace
itself, whose folder `working` is kept, and as AIDE's interpreter runs them; a reply that cannot be read three times is
run as it is. The words are ours.
"""

import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from random import Random
from typing import TYPE_CHECKING, Any

from assay.agents.aide.context import preview_data
from assay.agents.aide.execute import Candidate, is_usable_metric, write_file, write_submission
from assay.agents.aide.policies import POLICIES
from assay.agents.outcomes import format_streams
from assay.agents.prompts import Templates
from assay.agents.replies import code_block, compiles
from assay.agents.workbench import Workbench
from assay.core.errors import PromptTooLong, UnsafePath
from assay.core.quantities import format_duration, format_size
from assay.core.text import cut_middle, plural
from assay.models import MAIN, Message, Tool
from assay.records import Journal
from assay.records.events import Execution, SearchNode

if TYPE_CHECKING:
    from assay.agents.aide.agent import Aide

REVIEW = "review"
_SCRIPT = "runfile.py"
_MAX_ATTEMPTS = 3
_MAX_COMPRESSION = 3
_MAX_KEPT_OUTPUT, _MAX_OUTPUT = 20_000, 5_100
_MEMORY_SEPARATOR = "\n-------------------------------\n"
# A link is a submission, too; the host does not follow it.
_FOLLOW = 'test -L "$1" && test -f "$1" && cp "$1" "$1.file" && mv -T "$1.file" "$1"'
_PACKAGES = (
    "numpy", "pandas", "scikit-learn", "statsmodels", "xgboost", "lightGBM", "torch", "torchvision", "torch-geometric",
    "bayesian-optimization", "timm",
)  # fmt: skip
_COMPETITOR = "You are a Kaggle grandmaster in a competition."
_ENGINEER = "You are an expert machine learning engineer with a task."
_REVIEW_TOOL = Tool(
    name="submit_review",
    description="Submit a review of the output of the script.",
    parameters={
        "type": "object",
        "properties": {
            "is_bug": {
                "type": "boolean",
                "description": "true if the output shows that the execution failed or had a bug, else false",
            },
            "has_csv_submission": {
                "type": "boolean",
                "description": "true if the code saves its predictions for the test data as `submission.csv` in the "
                "folder `./submission/`, else false; in any other folder, the answer is false",
            },
            "summary": {
                "type": "string",
                "description": "two or three sentences on the results, or on the bug or the missing submission; do not "
                "propose fixes or improvements",
            },
            "metric": {
                "type": "number",
                "description": "the value of the validation metric if the code ran successfully, else null",
            },
            "lower_is_better": {
                "type": "boolean",
                "description": "true if a lower value of the metric is better, as for an error, else false",
            },
        },
        "required": ["is_bug", "has_csv_submission", "summary", "metric", "lower_is_better"],
    },
)


class DirectionConflict(Exception):
    """Reviews disagree on whether a lower metric is better, at which the published agent ends, too."""


@dataclass(frozen=True)
class Review:
    """The review of a node: what it says decides."""

    is_bug: bool
    has_submission: bool
    summary: str
    metric: float | None
    lower_is_better: bool


class PublishedSearch:
    """The search of one trial."""

    def __init__(self, agent: "Aide", bench: Workbench, templates: Templates) -> None:
        self._agent, self._bench, self._templates = agent, bench, templates
        self._journal = Journal(bench.task.metric.direction)
        self._file = PurePosixPath(bench.task.submission.file).name
        self._role = _ENGINEER if bench.obfuscated else _COMPETITOR
        self._task = _describe_task(bench, templates)
        self._data = ""

    async def run(self) -> None:
        """Add nodes until the budget is used up; the best submission so far is always in its place."""
        self._data, _ = await preview_data(self._bench)
        while self._bench.clock.steps_left:
            await self._add_node()

    async def _add_node(self) -> None:
        bench, id = self._bench, len(self._journal.nodes)
        random = Random(f"{bench.seed} {id}")
        spent = id / bench.clock.budget.steps
        choice = POLICIES.load(self._agent.policy)(replace(self._journal, spent=spent), random, self._agent)
        bench.clock.step()
        node = SearchNode(id=id, operator=choice.operator, parents=choice.parents)
        plan, code = await self._write(node, random)
        node = node.model_copy(update={"plan": plan, "code": code})
        execution, submission = await self._execute(code)
        review = await self._review(node, execution)
        node = evaluate_node(node, execution, review, written=submission is not None)
        valid = submission is not None and await bench.check_submission(submission) is None
        node = await bench.record_node(node, submission if valid else None)
        self._journal = self._journal.put(node)
        if len({each.lower_is_better for each in self._journal.good}) > 1:
            raise DirectionConflict(f"the review of node {node.id} disagrees on whether lower is better")
        if submission is not None and self._journal.best is node:
            await write_submission(bench, Candidate(node, submission))
        await bench.snapshot()

    async def _write(self, node: SearchNode, random: Random) -> tuple[str, str]:
        """Return the plan and the script of a node; the raw reply is the script if no reply can be read."""
        text = ""
        for _ in range(_MAX_ATTEMPTS):
            text = await self._ask(node, random)
            plan, code = parse_reply(text)
            if plan and code:
                return plan, code
        return "", text

    async def _ask(self, node: SearchNode, random: Random) -> str:
        packages = ", ".join(f"`{name}`" for name in random.sample(_PACKAGES, len(_PACKAGES)))
        parent = self._journal.nodes[node.parents[0]] if node.parents else None
        for compression in range(_MAX_COMPRESSION + 1):
            memory = summarize_good(self._journal)
            prompt = self._templates.fill(
                node.operator,
                role=self._role,
                task=self._task,
                memory=cut_middle(memory, len(memory) // 4**compression) if compression else memory,
                code=code_block(parent.code, "python") if parent else "",
                output=_quote_output(parent.execution) if parent and parent.execution else "",
                format=self._templates.fill("format").strip(),
                guidelines=self._describe_guidelines(),
                packages=packages,
                data=self._data,
                submission=self._file,
            )
            try:
                return (await self._bench.ask(MAIN, [Message(role="user", text=prompt)])).message.text
            except PromptTooLong:
                if compression == _MAX_COMPRESSION:
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _describe_guidelines(self) -> str:
        clock = self._bench.clock
        return self._templates.fill(
            "guidelines",
            time_left=format_duration(clock.seconds_left),
            steps_left=clock.steps_left + 1,
            limit=format_duration(min(self._time_limit(), clock.seconds_left)),
            submission=self._file,
        ).strip()

    async def _execute(self, code: str) -> tuple[Execution, bytes | None]:
        """Run a script in the workspace, and return how it ended and the submission that it wrote, if any."""
        bench, path, limit = self._bench, f"submission/{self._file}", self._time_limit()
        if refusal := await write_file(bench, _SCRIPT, code.encode(errors="replace")):
            return Execution(ended="exit", code=1, seconds=0.0, output=refusal), None
        result = await bench.execute(published_command(_SCRIPT), seconds=limit)
        output = format_streams(result.stdout, result.stderr, _MAX_KEPT_OUTPUT)
        stopped = "; it was stopped at its time limit" if result.ended == "time" else ""
        output += f"\n\n(Execution time: {result.seconds:.0f} seconds of at most {format_duration(limit)}{stopped}.)"
        execution = Execution(ended=result.ended, code=result.code, seconds=result.seconds, output=output)
        return execution, await self._read_submission(path)

    async def _read_submission(self, path: str) -> bytes | None:
        bench = self._bench
        max_size = bench.task.submission.max_size
        try:
            return await bench.read(path, max_size=max_size)
        except UnsafePath as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return None
        await bench.execute(["sh", "-c", _FOLLOW, "sh", path], seconds=self._time_limit())
        with suppress(UnsafePath):
            return await bench.read(path, max_size=max_size)
        return None

    async def _review(self, node: SearchNode, execution: Execution) -> Review | None:
        """Return the review of a node; None if no readable one can be had."""
        prompt = self._templates.fill(
            "review",
            role=self._role,
            task=self._task,
            code=code_block(node.code, "python"),
            output=_quote_output(execution),
        )
        await self._bench.snapshot()  # a reply becomes durable only with a snapshot of the workspace that it is about
        messages = [Message(role="user", text=prompt)]
        for _ in range(_MAX_ATTEMPTS):
            reply = await self._bench.ask(REVIEW, messages, [_REVIEW_TOOL], tool_choice=_REVIEW_TOOL.name)
            calls = [call.arguments for call in reply.message.tool_calls if call.parse_error is None]
            if calls and (review := parse_review(calls[0])):
                return review
        return None

    def _time_limit(self) -> float:
        return self._agent.exec_seconds or self._bench.clock.seconds_left


@cache
def published_command(script: str) -> tuple[str, ...]:
    """Return the command that runs a script as AIDE does, in the folders that the published prompts describe."""
    interpreter = files("assay.agents.aide").joinpath("interpreter.py").read_text("utf-8")
    run = shlex.join(["exec", "python", "-W", "ignore", "-c", interpreter, script])
    return ("sh", "-c", "; ".join(["ln -sfn data input", "rm -rf submission", "mkdir -p submission working", run]))


def parse_reply(text: str) -> tuple[str, str]:
    """Return what precedes the first code block of a reply, and its blocks that are Python, joined.

    With a single fence, all of the reply is the block, without a fence at its beginning or end.
    """
    before, fence, _ = text.partition("```")
    blocks = re.findall(r"```(?:python)?\n*(.*?)\n*```", text, re.DOTALL)
    blocks = blocks or re.findall(r"^(?:```(?:python)?)?\n?(.*?)\n?(?:```)?$", text, re.DOTALL)[:1]
    return before.strip() if fence else "", "\n\n".join(block for block in blocks if block and compiles(block))


def parse_review(arguments: Mapping[str, Any]) -> Review | None:
    """Return the review in the arguments of a tool call; None if something is missing.

    As published, a metric without a decimal point counts as none.
    """
    bug, saved, lower = (arguments.get(name) for name in ("is_bug", "has_csv_submission", "lower_is_better"))
    summary, metric = arguments.get("summary"), arguments.get("metric")
    if not (isinstance(bug, bool) and isinstance(saved, bool) and isinstance(lower, bool) and isinstance(summary, str)):
        return None
    return Review(
        bug, saved, summary, metric if isinstance(metric, float) and is_usable_metric(metric) else None, lower
    )


def evaluate_node(node: SearchNode, execution: Execution, review: Review | None, *, written: bool) -> SearchNode:
    """Return the node with the verdict of its review; a failed execution or a missing submission overrule it."""
    if review is None:
        reason = "it has no readable review"
    elif not execution.succeeded:
        reason = "its execution failed"
    elif review.is_bug:
        reason = f"the review says that it is buggy: {review.summary}"
    elif review.metric is None:
        reason = "the review names no metric"
    elif not review.has_submission:
        reason = "the review says that it saves no submission"
    else:
        reason = "" if written else "it wrote no submission"
    good = review if not reason else None
    return node.model_copy(
        update={
            "status": "good" if good else "buggy",
            "execution": execution,
            "metric": good.metric if good else None,
            "lower_is_better": good.lower_is_better if good else None,
            "reason": reason,
            "review": review.summary if review else "",
        }
    )


def summarize_good(journal: Journal) -> str:
    """Return plan, review and metric of all good nodes, which is all that prompts have of the past."""
    entries = [
        f"Plan: {node.plan}\nResults: {node.review}\nValidation metric: {node.metric}\n" for node in journal.good
    ]
    return _MEMORY_SEPARATOR.join(entries)


def _quote_output(execution: Execution) -> str:
    return code_block(cut_middle(execution.output, _MAX_OUTPUT))


def _describe_task(bench: Workbench, templates: Templates) -> str:
    resources, budget = bench.task.resources, bench.clock.budget
    parts = [plural(resources.cores, "core"), f"{format_size(resources.memory)} of memory"]
    parts.append(plural(resources.gpus, "GPU") if resources.gpus else "no GPU")
    return templates.fill(
        "task",
        what="task" if bench.obfuscated else "competition",
        submission=PurePosixPath(bench.task.submission.file).name,
        description=bench.description.strip(),
        hardware=", ".join(parts),
        time=format_duration(budget.time),
        steps=f"{budget.steps:,}",
    ).strip()
