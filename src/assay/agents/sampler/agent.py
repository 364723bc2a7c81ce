"""The sampler: trains many pipelines and submits the one that its own validation on a few rows prefers."""

import json
from importlib.resources import files
from typing import Any, ClassVar, Literal

from pydantic import Field

from assay.agents.agent import Agent
from assay.agents.automl.agent import describe_task, find_obstacle
from assay.agents.workbench import Workbench
from assay.core.errors import UnsafePath
from assay.records import Journal
from assay.records.code import Solution
from assay.records.events import SearchNode
from assay.tasks import Task

SAMPLE = ("python", "-W", "ignore", "sample.py")
KEPT = "kept.json"
RESULTS = "candidates/results.jsonl"
_SCRIPTS = {"automl.py": "automl", "evaluate.py": "chooser", "sample.py": "sampler"}
"""The files that the search consists of, and the packages of their agents."""


class Sampler(Agent):
    """Trains pipelines with random settings and submits the one that is best on a few validation rows.

    Every pipeline is a node with a submission, so that studies of selection know what it could have picked. `greedy`
    changes the best pipeline so far; `noisy` validates each pipeline on other rows.
    """

    scripts: ClassVar[tuple[str, ...]] = (
        "assay.agents.automl:search.py",
        "assay.agents.chooser:evaluate.py",
        "assay.agents.sampler:sample.py",
    )

    calls: ClassVar[tuple[str, ...]] = ("command", "write", "read", "node")
    summary = "random pipelines picked by few validation rows; needs no model; for studies of selection"

    search: Literal["random", "greedy", "noisy"] = Field("random", description="how pipelines are chosen and validated")
    candidates: int = Field(24, ge=1, le=400, description="pipelines to train")
    rows: int = Field(30, ge=2, description="training rows that it validates on")
    max_rows: int = Field(3000, ge=10, description="training rows that pipelines are fitted to, at most")
    share: float = Field(0.9, gt=0, le=1, description="share of the remaining time to train for")

    def inapplicable(self, task: Task) -> str | None:
        """Refuse the tasks that automl refuses."""
        return find_obstacle("sampler", task)

    def find_solution(self, task: Task) -> Solution:
        """Return the training of the pipeline that it submits."""
        return Solution((*SAMPLE, KEPT), (KEPT, *_SCRIPTS))

    async def work(self, bench: Workbench) -> None:
        """Train all pipelines in one command, record each as a node, and submit the best by its own validation."""
        config = describe_task(bench.task) | {
            "seed": bench.seed,
            "search": self.search,
            "candidates": self.candidates,
            "rows": self.rows,
            "max_rows": self.max_rows,
            "seconds": bench.clock.seconds_left * self.share,
            "results": RESULTS,
        }
        await bench.write("sampler.json", json.dumps(config, indent=2))
        for name, folder in _SCRIPTS.items():
            source = "search.py" if folder == "automl" else name
            await bench.write(name, files("assay.agents").joinpath(folder, source).read_bytes())
        await bench.run(SAMPLE)
        journal, contents = Journal(bench.task.metric.direction), dict[int, bytes]()
        for record in await self._read_results(bench):
            content = await bench.read(record["file"], max_size=bench.task.submission.max_size)
            loss = float(record["loss"])
            kept = config | {"pipeline": record["pipeline"], "number": len(journal.nodes)}
            node = SearchNode(
                id=len(journal.nodes),
                operator="draft" if record["parent"] is None else "improve",
                parents=() if record["parent"] is None else (int(record["parent"]),),
                plan=json.dumps(record["pipeline"]),
                code=json.dumps(kept, indent=2),
                status="good",
                metric=loss,
                lower_is_better=True,
            )
            journal = journal.put(await bench.record_node(node, content))
            contents[node.id] = content
        if journal.best:
            await bench.write(bench.task.submission.file, contents[journal.best.id])
            await bench.write(KEPT, journal.best.code)
        await bench.snapshot()

    async def _read_results(self, bench: Workbench) -> list[dict[str, Any]]:
        """Return what the script wrote about each pipeline, as far as it came."""
        try:
            text = await bench.read(RESULTS)
        except UnsafePath:
            return []
        return [json.loads(line) for line in text.decode().splitlines()]
