"""Agents whose submissions are as tests need them."""

from assay.agents import Agent, Workbench
from assay.records.events import SearchNode


class Guesses(Agent):
    """Runs the starter, and then calls every coin by the parity of its seed."""

    async def work(self, bench: Workbench) -> None:
        """Act."""
        await bench.run(["python", "train.py"])
        await bench.run(["sh", "-c", f"sed '2,$s/,.*/,{bench.seed % 2}/' submission.csv > new; mv new submission.csv"])


class Searches(Agent):
    """Records three nodes, the second of which it measures best, and submits something else."""

    async def work(self, bench: Workbench) -> None:
        """Act."""
        for id, metric in enumerate((0.5, 0.9, 0.6)):
            content = self._guess(2**id)
            await bench.run(["sh", "-c", f"printf '{content}' > submission.csv"])
            await bench.record_node(SearchNode(id=id, operator="draft", status="good", metric=metric), content.encode())
        await bench.run(["sh", "-c", f"printf '{self._guess(0)}' > submission.csv"])

    def _guess(self, heads: int) -> str:
        return "coin,side\n" + "".join(f"{coin},{int(coin % 16 < heads)}\n" for coin in range(30, 60))
