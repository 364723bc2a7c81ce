"""What a driver costs on a cluster: `python benchmarks/cluster.py [--trials 1000] [--only slurm]`, as root.

Trials of the starter run on the simulated nodes that the tests use, of Slurm and of Ray. The driver is killed in the
middle, as often as asked for, and the run is resumed. Each trial must then have been submitted and graded once. The
figure is the processor time of the drivers, with the commands that they call, per trial.
"""

import argparse
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from figures import report

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS / folder) for folder in ("cluster", "faults", "")]

from storm import Site, make_site  # noqa: E402

from assay.records import read_events  # noqa: E402
from isolation import isolate, remove_home  # noqa: E402
from tiny_run import TinyRun  # noqa: E402

OPTIONS = ("-c", "lease=10s", "-c", "retry_wait=1s")
POLL_SECONDS = 2.0


def main() -> None:
    """Run the trials on each kind of cluster, and print what their driver took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=2, help="how often the driver is killed")
    parser.add_argument("--only", choices=["slurm", "ray"], action="append")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assay-bench-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)  # labs run as a user of their own
        isolate(folder)
        for where in asked.only or ["slurm", "ray"]:
            with make_site(where, folder, random.Random(0)) as site:
                measure(where, site, folder / where, asked.trials, asked.kills)
        remove_home(folder / "default")


def measure(where: str, site: Site, out: Path, trials: int, kills: int) -> None:
    """Run so many trials with a driver that is killed, and check that each was done once."""
    run = site.make_run(out)
    words = [*run.run_words("starter", seeds=trials), *OPTIONS, *site.options]
    started, before = time.perf_counter(), _processor_time()
    for part in range(1, kills + 2):
        process = run.start(*(words if part == 1 else ["resume", str(out), "--quiet", *OPTIONS]))
        while process.poll() is None and (part > kills or _count_graded(out) < trials * part // (kills + 1)):
            time.sleep(POLL_SECONDS)
        if part <= kills and process.poll() is None:
            _kill_driver(process)
        _, stderr = process.communicate()
        if part > kills and process.returncode:
            raise SystemExit(stderr)
    seconds, processor = time.perf_counter() - started, _processor_time() - before
    check(run, trials)
    print(f"{where}: {trials:,} trials in {seconds:.0f} s, driver killed {kills} times, each trial done once")
    share = processor / trials
    report(f"driver of a trial on {where}", f"{1000 * share:.0f} ms of CPU", processor / seconds, "one processor")


def check(run: TinyRun, trials: int) -> None:
    """Fail unless every trial was submitted and graded once."""
    folders = list(run.folder.trials())
    wrong = [folder.path.name for folder in folders if folder.state.status != "done"]
    for folder in folders:
        kinds = [event.kind for event in read_events(folder.events)]
        wrong += [folder.path.name] * ((kinds.count("submitted"), kinds.count("graded")) != (1, 1))
    if wrong or len(folders) != trials:
        raise SystemExit(f"{len(folders)} of {trials} trials; not done, or not once: {', '.join(wrong)}")


def _kill_driver(process: "subprocess.Popen[str]") -> None:
    """Kill the command itself, which `nsenter` starts, or is."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    command = Path(f"/proc/{process.pid}/comm").read_text().strip()
    os.kill(int(children[0]) if command == "nsenter" else process.pid, signal.SIGKILL)


def _count_graded(out: Path) -> int:
    return sum(1 for _ in out.glob("trials/*/grade.json"))


def _processor_time() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
