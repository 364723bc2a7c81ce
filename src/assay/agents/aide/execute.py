"""Executing the scripts of nodes in the lab, each in its own folder, and maintaining the best submission.

Scripts are untrusted: they may write anywhere in the workspace and delete all of it. So the best submission is kept
outside the lab and restored whenever scripts have run. The host touches the workspace only while none is running.
"""

import posixpath
import re
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import anyio

from assay.agents.outcomes import format_streams
from assay.agents.workbench import Workbench
from assay.core.errors import UnsafePath
from assay.lab.interface import Share
from assay.records.events import CommandResult, Execution, SearchNode

BEST_SOLUTION = "best_solution.py"
_SCRIPT = "solution.py"
_MAX_OUTPUT = 10_000
_CLEANUP_SECONDS = 60.0
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "LOKY_MAX_CPU_COUNT")
_METRIC_LINE = re.compile(r"^[ \t]*METRIC[ \t]*[:=](.*)$", re.MULTILINE)
_MAX_METRIC = 1e100
_ENDINGS = {
    "time": "it exceeded its time limit",
    "memory": "it ran out of memory",
    "disk": "it filled the disk",
    "output": "it printed too much",
}

_FAILED = "the script that should write it failed"
_FROM_STDIN = ("sh", "-c", f"cat > {_SCRIPT} && exec python {_SCRIPT}")

T = TypeVar("T")


@dataclass(frozen=True)
class Attempt:
    """The execution of a node's script, and its submission if that is valid; `reason` says what is wrong with it."""

    execution: Execution
    stdout: str
    reason: str | None = None
    submission: bytes | None = None


@dataclass(frozen=True)
class Candidate:
    """A node with the content of its submission."""

    node: SearchNode
    submission: bytes


@dataclass(frozen=True)
class Review:
    """A model's review of a script's output. It may call a node buggy, but never good."""

    buggy: bool
    summary: str
    metric: float | None = None


class NoMetric(Exception):
    """A script's output contains no usable metric; the message says why."""


async def execute_scripts(bench: Workbench, nodes: Sequence[SearchNode], seconds: float) -> list[Attempt]:
    """Run the scripts of some nodes in parallel, and check their submissions."""
    folders = {node.id: f"nodes/{node.id}" for node in nodes}
    results = await _run(bench, nodes, folders, seconds, {})
    attempts = [await _inspect(bench, folders, node, result) for node, result in zip(nodes, results, strict=True)]
    await _clean_up(bench, list(folders.values()))
    return attempts


async def execute_beside(bench: Workbench, node: SearchNode, seconds: float, share: Share) -> CommandResult:
    """Run the script of a node in a lab of its own."""
    script = node.code.encode(errors="replace")
    return await bench.run_fresh(_FROM_STDIN, seconds=seconds, stdin=script, lane=lane_of(node), share=share)


async def inspect_beside(bench: Workbench, node: SearchNode, result: CommandResult) -> Attempt:
    """Check the submission that a script left in a lab of its own."""
    execution = describe_execution(result)
    if node.operator == "ablate":
        return Attempt(execution, result.stdout)
    if not execution.succeeded:
        return Attempt(execution, result.stdout, _FAILED)
    if result.submission is None:
        return Attempt(execution, result.stdout, f"it wrote no {bench.task.submission.file}")
    content = bench.read_content(result.submission)
    return _make_attempt(bench, execution, result, await bench.validate(sent=content), content)


async def rerun_script(bench: Workbench, node: SearchNode, seconds: float, seed: int) -> str:
    """Run a script again with another seed and return its stdout; empty if it fails."""
    folders = {node.id: f"nodes/{node.id}-again"}
    (result,) = await _run(bench, [node], folders, seconds, {"SEED": str(seed)})
    await _clean_up(bench, list(folders.values()))
    return result.stdout if isinstance(result, CommandResult) and result.succeeded else ""


async def write_submission(bench: Workbench, best: Candidate) -> None:
    """Write the best submission so far to its place in the workspace, and its script next to it."""
    script = best.node.code.encode(errors="replace")
    for path, content in ((bench.task.submission.file, best.submission), (BEST_SOLUTION, script)):
        if refusal := await write_file(bench, path, content):
            await bench.note("submission not written", path=path, reason=refusal)


def evaluate_node(node: SearchNode, attempt: Attempt, review: Review | None = None) -> SearchNode:
    """Return the node with the result of its script.

    A review may add a summary, call the node buggy, and supply the metric if the script printed no line for it.
    """
    reason = None if attempt.execution.succeeded else _describe_ending(attempt.execution)
    if node.operator == "ablate":
        status = "measured" if attempt.execution.succeeded else "buggy"
        return node.model_copy(update={"status": status, "execution": attempt.execution, "reason": reason or ""})
    metric = None
    try:
        metric = parse_metric(attempt.stdout)
    except NoMetric as error:
        if review and not _METRIC_LINE.search(attempt.stdout):
            metric = review.metric
        if metric is None:
            reason = reason or str(error)
    reason = reason or attempt.reason
    if not reason and review and review.buggy:
        reason = f"a review found it buggy: {review.summary}"
    return node.model_copy(
        update={
            "status": "buggy" if reason else "good",
            "execution": attempt.execution,
            "metric": metric,
            "reason": reason or "",
            "review": review.summary if review else "",
        }
    )


def parse_metric(stdout: str) -> float:
    """Return the number on the last line `METRIC: number`; raise `NoMetric` if there is no usable one."""
    lines = _METRIC_LINE.findall(stdout)
    if not lines:
        raise NoMetric("it printed no line `METRIC: number`")
    text = lines[-1].strip()
    try:
        number = float(text)
    except ValueError:
        raise NoMetric(f"the value after METRIC: is not a number: {text[:100]!r}") from None
    if not is_usable_metric(number):
        raise NoMetric(f"its metric, {text[:100]}, is not finite or too large")
    return number


def is_usable_metric(number: float) -> bool:
    """Return whether a metric can be averaged with others without overflow."""
    return abs(number) <= _MAX_METRIC


def lane_of(node: SearchNode) -> str:
    """Return the name under which the record keeps the calls of a node that is evaluated in parallel with others."""
    return f"node {node.id}"


async def run_all(jobs: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
    """Run jobs concurrently and return all results in order; if any job failed, raise the first error.

    A failure does not cancel the other jobs: a reply that was paid for must get into the record.
    """
    results: dict[int, T] = {}
    errors: dict[int, Exception] = {}

    async def run(index: int, job: Callable[[], Awaitable[T]]) -> None:
        try:
            results[index] = await job()
        except Exception as error:  # noqa: BLE001 - raised again below, whatever it is
            errors[index] = error

    async with anyio.create_task_group() as tasks:
        for index, job in enumerate(jobs):
            tasks.start_soon(run, index, job)
    if errors:
        raise errors[min(errors)]
    return [results[index] for index in sorted(results)]


async def _run(
    bench: Workbench, nodes: Sequence[SearchNode], folders: Mapping[int, str], seconds: float, extra: Mapping[str, str]
) -> list[CommandResult | str]:
    """Run scripts in parallel; return how each ended, or why it could not be run."""
    scripts = [(f"{folders[node.id]}/{_SCRIPT}", node.code.encode(errors="replace")) for node in nodes]
    refusals = [await write_file(bench, path, code) for path, code in scripts]
    threads = str(max(1, bench.task.resources.cores // max(1, len(nodes))))
    variables = {**dict.fromkeys(_THREADS, threads), **extra}

    async def run(node: SearchNode, refusal: str | None) -> CommandResult | str:
        if refusal:
            return refusal
        command = _make_command(bench, folders[node.id], variables)
        return await bench.execute(command, seconds=seconds, lane=lane_of(node))

    return await run_all([partial(run, node, refusal) for node, refusal in zip(nodes, refusals, strict=True)])


def _make_command(bench: Workbench, folder: str, variables: Mapping[str, str]) -> list[str]:
    """Return the command that runs a script in its folder, together with the data and the starter code."""
    submission = bench.task.submission.file
    top = "/".join(".." for _ in folder.split("/"))
    starter = {name.split("/")[0] for name in bench.task.starter} - {submission.split("/")[0], _SCRIPT}
    parts = [
        f"cd {shlex.quote(folder)}",
        f"ln -sfn {top}/data data",
        *(f"cp -r {shlex.quote(posixpath.join(top, name))} . 2>/dev/null" for name in sorted(starter)),
        f"exec env {shlex.join(f'{name}={value}' for name, value in variables.items())} python {_SCRIPT}",
    ]
    return ["sh", "-c", "; ".join(parts)]


async def _inspect(
    bench: Workbench, folders: Mapping[int, str], node: SearchNode, result: CommandResult | str
) -> Attempt:
    if isinstance(result, str):
        return Attempt(Execution(ended="exit", code=1, seconds=0.0, output=result), "", result)
    execution = describe_execution(result)
    if node.operator == "ablate":
        return Attempt(execution, result.stdout)
    if not execution.succeeded:
        return Attempt(execution, result.stdout, _FAILED)
    path = f"{folders[node.id]}/{bench.task.submission.file}"
    reason = await bench.validate(path)
    content = None if reason else await bench.read(path, max_size=bench.task.submission.max_size)
    return _make_attempt(bench, execution, result, reason, content)


def describe_execution(result: CommandResult) -> Execution:
    """Return how a script ended, with its output."""
    output = format_streams(result.stdout, result.stderr, _MAX_OUTPUT)
    return Execution(ended=result.ended, code=result.code, seconds=result.seconds, output=output)


def _make_attempt(
    bench: Workbench, execution: Execution, result: CommandResult, reason: str | None, content: bytes | None
) -> Attempt:
    if reason:
        output = f"{execution.output}\n\nFormat check of {bench.task.submission.file}: {reason}"
        return Attempt(execution.model_copy(update={"output": output}), result.stdout, reason)
    return Attempt(execution, result.stdout, None, content)


def _describe_ending(execution: Execution) -> str:
    if execution.ended == "time":
        return f"{_ENDINGS['time']} ({execution.seconds:.0f} seconds)"
    return _ENDINGS.get(execution.ended) or f"it ended with exit code {execution.code}"


async def _clean_up(bench: Workbench, folders: Sequence[str]) -> None:
    """Remove everything but the scripts and their submissions, so that the disk does not fill up."""
    if not folders:
        return
    kept_names = (_SCRIPT, bench.task.submission.file)
    kept = [word for folder in folders for name in kept_names for word in ("!", "-path", f"{folder}/{name}")]
    command = ["find", *folders, "-mindepth", "1", *kept, "-delete"]
    # Folders that contain a kept file cannot be removed, as intended.
    await bench.execute(["sh", "-c", f"{shlex.join(command)} 2>/dev/null; true"], seconds=_CLEANUP_SECONDS)


async def write_file(bench: Workbench, path: str, content: bytes) -> str | None:
    """Write a file, making room first if something is in the way or the disk is full; return why it cannot be done."""
    try:
        await bench.write(path, content)
    except UnsafePath:
        await _make_room(bench, path)
    else:
        return None
    try:
        await bench.write(path, content)
    except UnsafePath as error:
        return str(error)
    return None


async def _make_room(bench: Workbench, path: str) -> None:
    """Remove whatever is at `path` or blocks a folder above it, and the files that nodes left behind."""
    above = [posixpath.join(*path.split("/")[:depth]) for depth in range(1, path.count("/") + 1)]
    parts = [
        *(f"if [ -L {folder} ] || [ ! -d {folder} ]; then rm -rf {folder}; fi" for folder in map(shlex.quote, above)),
        f"rm -rf {shlex.quote(path)}",
        "chmod u+rwx . nodes nodes/* 2>/dev/null",
        f"find nodes -type f ! -name {_SCRIPT} -delete 2>/dev/null",
        "true",
    ]
    await bench.execute(["sh", "-c", "; ".join(parts)], seconds=_CLEANUP_SECONDS)
