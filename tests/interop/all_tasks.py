"""All tasks under Harbor's own job runner, in labs: `python tests/interop/all_tasks.py [TASK|SUITE…]`.

Exports each task, runs the oracle, an agent that does nothing and one that writes its own reward, grades the
submissions once more, and prints a line for each task and a count. Tasks that are done already are not run again.
`make test` runs three of them.
"""

import json
import os
import platform
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data.store import prepare
from assay.interop.harbor.dataset import folder_name, write_task
from assay.interop.harbor.parity import grade_again
from assay.tasks import Registry

sys.path.insert(0, str(Path(__file__).parents[1]))
from outside import newer_python, outside_python

FOLDER = Path("harbor-ledger")
AGENTS = [{"name": "oracle"}, {"name": "nop"}, {"import_path": "cheating_agent:Cheater"}]
MLEBENCH = '; extra == "mlebench"'
TRIVIAL = 0.001
"""The reward that doing nothing may have: metrics of random floors are not exactly at 0."""


def run_job(folder: Path, python: Path, home: Home) -> None:
    """Run Harbor on a task, with each agent."""
    config = {
        "job_name": folder.name,
        "jobs_dir": str(FOLDER.absolute() / "jobs"),
        "agents": AGENTS,
        "tasks": [{"path": str(folder.absolute())}],
        "environment": {"import_path": "assay.interop.harbor.environment:Lab"},
    }
    file = FOLDER / "jobs" / f"{folder.name}.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(config))
    variables = {
        "ASSAY_HOME": str(home.root),
        "ASSAY_PYTHON": platform.python_version(),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "PYTHONPATH": str(Path(__file__).parent),
    }
    command = [python.with_name("harbor"), "run", "-c", file, "-q", "-y"]
    subprocess.run(command, env=os.environ | variables, capture_output=True)


def judge(job: Path, home: Home) -> str:
    """Return what is wrong with the trials of a task; nothing if all is as it should be."""
    trials = {trial.agent: trial for trial in grade_again([job], home)}
    wrong = [name for name in ("oracle", "nop", "cheater") if name not in trials]
    if wrong:
        return f"no result of {', '.join(wrong)}"
    problems = [f"{name} has another score" for name, trial in trials.items() if not trial.agrees]
    problems += [f"the oracle gets {trials['oracle'].reward:g}"] if trials["oracle"].reward < 1 else []
    for name in ("nop", "cheater"):
        problems += [f"{name} gets {trials[name].reward:g}"] if trials[name].reward > TRIVIAL else []
    return "; ".join(problems)


def main(names: list[str]) -> int:
    """Print the ledger."""
    home, registry = Home.default(), Registry()
    graders = [line.partition(";")[0] for line in requires("mlassay") or [] if line.endswith(MLEBENCH)]
    python = outside_python("harbor>=0.24,<0.26", *graders, python=newer_python())
    FOLDER.mkdir(exist_ok=True)
    passed = total = 0
    for task in registry.select_all(names) if names else registry.tasks():
        folder, job = FOLDER / "tasks" / folder_name(task), FOLDER / "jobs" / folder_name(task)
        folder.parent.mkdir(exist_ok=True)
        total += 1
        try:
            if not (job / "result.json").exists():
                variant = "synthetic-0" if (task.folder / "synthetic.py").is_file() else "real"
                write_task(folder, prepare(home, task, None, variant, progress=NoProgress()), home)
                run_job(folder, python, home)
            problem = judge(job, home)
        except Exception as error:  # noqa: BLE001 - the ledger goes on
            problem = f"{type(error).__name__}: {error}"
        passed += not problem
        print(f"{task.id:60} {problem or 'passed'}", flush=True)
    print(f"{passed} of {total} tasks pass")
    return 0 if passed == total else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
