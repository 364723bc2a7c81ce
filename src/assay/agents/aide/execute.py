"""Running the scripts of nodes in the lab, each in a folder of its own, and keeping the best submission in its place.

Scripts are anybody's code: they may write wherever the workspace is, and remove all of it. So what was handed in is
kept here and put back whenever scripts have run. The host touches the workspace only when none runs.
"""

import hashlib
import posixpath
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from assay.agents.aide.concurrency import side_by_side
from assay.agents.aide.journal import Node, Ran
from assay.agents.aide.outcomes import Tried
from assay.agents.mlagentbench.actions.shortened import streams
from assay.agents.workbench import Workbench
from assay.core.errors import UnsafePath
from assay.lab.interface import Completed

BEST_SOLUTION = "best_solution.py"
_SCRIPT = "solution.py"
_OUTPUT = 10_000
_TIDY_SECONDS = 60.0
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "LOKY_MAX_CPU_COUNT")


@dataclass(frozen=True)
class Attempt:
    """What came of a node's script, and the content of its submission if its form is valid."""

    tried: Tried
    submission: bytes | None = None


@dataclass(frozen=True)
class Candidate:
    """A node with the content of its submission."""

    node: Node
    submission: bytes


async def try_scripts(bench: Workbench, nodes: Sequence[Node], seconds: float) -> list[Attempt]:
    """Run the scripts of some nodes side by side, and see what came of each."""
    folders = {node.id: f"nodes/{node.id}" for node in nodes}
    ended = await _run(bench, nodes, folders, seconds, {})
    attempts = [await _look_at(bench, folders[node.id], how) for node, how in zip(nodes, ended, strict=True)]
    await _tidy(bench, list(folders.values()))
    return attempts


async def run_again(bench: Workbench, nodes: Sequence[Node], seconds: float, seed: int) -> list[str]:
    """What scripts print when they are run once more with another seed; nothing where they fail."""
    folders = {node.id: f"nodes/{node.id}-again" for node in nodes}
    ended = await _run(bench, nodes, folders, seconds, {"SEED": str(seed)})
    await _tidy(bench, list(folders.values()))
    return [how.stdout.text if isinstance(how, Completed) and how.succeeded else "" for how in ended]


async def hand_in(bench: Workbench, best: Candidate) -> None:
    """Make the best submission so far the trial's, and keep the script that made it beside it."""
    script = best.node.code.encode(errors="replace")
    for path, content in ((bench.task.submission.file, best.submission), (BEST_SOLUTION, script)):
        if why := await _put(bench, path, content):
            await bench.note("not handed in", path=path, why=why)


def lane_of(node: Node) -> str:
    """What the record calls the course of a node that is tried beside others."""
    return f"node {node.id}"


async def _run(
    bench: Workbench, nodes: Sequence[Node], folders: Mapping[int, str], seconds: float, settings: Mapping[str, str]
) -> list[Completed | str]:
    """How the scripts ended, or why they could not be run."""
    scripts = [(f"{folders[node.id]}/{_SCRIPT}", node.code.encode(errors="replace")) for node in nodes]
    refused = [await _put(bench, path, code) for path, code in scripts]
    threads = str(max(1, bench.task.resources.cores // max(1, len(nodes))))
    variables = {**dict.fromkeys(_THREADS, threads), **settings}

    async def run(node: Node, why: str | None) -> Completed | str:
        command = _command(bench, folders[node.id], variables)
        return why or await bench.execute(command, seconds=seconds, lane=lane_of(node))

    return await side_by_side([partial(run, node, why) for node, why in zip(nodes, refused, strict=True)])


def _command(bench: Workbench, folder: str, variables: Mapping[str, str]) -> list[str]:
    """Run a script in its folder, in which it finds the data and the code to begin with."""
    handed_in = bench.task.submission.file
    up = "/".join(".." for _ in folder.split("/"))
    beside = {name.split("/")[0] for name in bench.task.starter} - {handed_in.split("/")[0], _SCRIPT}
    parts = [
        f"cd {shlex.quote(folder)}",
        f"ln -sfn {up}/data data",
        *(f"cp -r {shlex.quote(posixpath.join(up, name))} . 2>/dev/null" for name in sorted(beside)),
        f"exec env {shlex.join(f'{name}={value}' for name, value in variables.items())} python {_SCRIPT}",
    ]
    return ["sh", "-c", "; ".join(parts)]


async def _look_at(bench: Workbench, folder: str, how: Completed | str) -> Attempt:
    if isinstance(how, str):
        return Attempt(Tried(Ran(ended="exit", code=1, seconds=0.0, output=how), "", how))
    said = streams(how.stdout.text, how.stderr.text, _OUTPUT)
    ran = Ran(ended=how.ended, code=how.code, seconds=how.seconds, output=said)
    if not ran.succeeded:
        return Attempt(Tried(ran, how.stdout.text, "the script that should write it failed"))
    path = f"{folder}/{bench.task.submission.file}"
    fault = await bench.validate(path)
    if fault:
        told = f"{said}\n\nThe check of {bench.task.submission.file}: {fault}"
        return Attempt(Tried(ran.model_copy(update={"output": told}), how.stdout.text, fault))
    content = await bench.read(path, most=bench.task.submission.max_size)
    return Attempt(Tried(ran, how.stdout.text, None, hashlib.sha256(content).hexdigest()), content)


async def _tidy(bench: Workbench, folders: Sequence[str]) -> None:
    """Remove what scripts left behind except themselves and their submissions, so that the disk does not fill up."""
    if not folders:
        return
    wanted = (_SCRIPT, bench.task.submission.file)
    kept = [word for folder in folders for name in wanted for word in ("!", "-path", f"{folder}/{name}")]
    look = ["find", *folders, "-mindepth", "1", *kept, "-delete"]
    # Folders above what is kept cannot be removed, which is as it should be.
    await bench.execute(["sh", "-c", f"{shlex.join(look)} 2>/dev/null; true"], seconds=_TIDY_SECONDS)


async def _put(bench: Workbench, path: str, content: bytes) -> str | None:
    """Write a file; where something is in the way or the disk is full, make room first. Says why it cannot be done."""
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
    """Remove whatever lies at `path` or in place of a folder above it, and what nodes left behind."""
    above = [posixpath.join(*path.split("/")[:depth]) for depth in range(1, path.count("/") + 1)]
    parts = [
        *(f"if [ -L {place} ] || [ ! -d {place} ]; then rm -rf {place}; fi" for place in map(shlex.quote, above)),
        f"rm -rf {shlex.quote(path)}",
        "chmod u+rwx . nodes nodes/* 2>/dev/null",
        f"find nodes -type f ! -name {_SCRIPT} -delete 2>/dev/null",
        "true",
    ]
    await bench.execute(["sh", "-c", "; ".join(parts)], seconds=_TIDY_SECONDS)
