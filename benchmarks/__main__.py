"""Run all benchmarks and print their figures in one table: `make bench`, or `python benchmarks [--full]`.

Figures are ratios measured within one run, so that they can be compared between machines. Run on an idle machine.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from figures import COLLECT, Figure, read_figures
from rich.console import Console
from rich.table import Table

FOLDER = Path(__file__).parent
BENCHMARKS = {
    "startup.py": [],
    "prepare.py": [],
    "grading.py": ["--rows", "1000000"],
    "steps.py": [],
    "gym.py": ["--episodes", "200"],
    "runs.py": ["--trials", "20"],
    "compare.py": [],
    "page.py": ["--trials", "1000"],
}
"""Each benchmark, with the arguments that keep a normal run to a few minutes."""
FULL = {"prepare.py": ["--full"]}
"""Arguments for a full run, where the default is not it."""


def main() -> int:
    """Run the benchmarks one after the other; fail if one of them fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="also 10 million rows, 10 GB of raw data and 1,000 trials")
    full = parser.parse_args().full
    failed = []
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        path = Path(folder) / "figures.jsonl"
        path.touch()
        for script, arguments in BENCHMARKS.items():
            print(f"\n{script}", flush=True)
            command = [sys.executable, str(FOLDER / script), *(FULL.get(script, []) if full else arguments)]
            if subprocess.run(command, env=os.environ | {COLLECT: str(path)}).returncode:
                failed.append(script)
        show(read_figures(path))
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def show(figures: list[Figure]) -> None:
    """Print the table."""
    table = Table(title="Assay benchmarks")
    for name in ("measured", "value", "ratio", "relative to", "goal", ""):
        table.add_column(name, justify="right" if name in ("value", "ratio", "goal") else "left")
    for figure in figures:
        goal = "" if figure.goal is None else f"{figure.goal:g}"
        table.add_row(figure.name, figure.value, f"{figure.ratio:.2f}", figure.baseline, goal, figure.verdict)
    console = Console()
    console.print()
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
