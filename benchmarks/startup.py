"""Start-up time of `assay --help` relative to `python -c pass`, the least any Python program needs.

python benchmarks/startup.py [--times 9]
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

from figures import report


def main() -> None:
    """Start both commands in turn and print the ratio of their median times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=9)
    times = parser.parse_args().times
    commands = {"help": [sys.executable, "-m", "assay", "--help"], "bare": [sys.executable, "-c", "pass"]}
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(times):
        for name, command in commands.items():
            seconds[name].append(time_command(command))
    help_time, bare = (statistics.median(seconds[name]) for name in ("help", "bare"))
    report("assay --help", f"{1000 * help_time:.0f} ms", help_time / bare, f"python -c pass ({1000 * bare:.0f} ms)")


def time_command(command: list[str]) -> float:
    """Return how many seconds a command takes."""
    environment = dict(os.environ)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # otherwise every start would compile Assay again
    started = time.perf_counter()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
