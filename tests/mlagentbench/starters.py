"""Run starters on miniatures in sealed labs."""

from collections.abc import Mapping, Sequence

import anyio

from assay.core.errors import UnsafePath
from assay.core.home import Home
from assay.data import Prepared
from assay.lab import Completed, Limits, Setup, open_lab
from assay.lab.environments import find_environment
from assay.runs.trial_setup import write_starting_files


def run_starter(home: Home, data: Prepared, smaller: Mapping[str, str] | None = None, flags: str = "") -> bytes:
    """Run a starter in a fresh workspace and return its submission; `smaller` replaces what makes it expensive."""
    script = data.task.starter[str(data.task.starter_script)].decode()
    for old, new in (smaller or {}).items():
        assert old in script
        script = script.replace(old, new)
    completed, submission = run_script(home, data, script, flags.split())
    assert completed.code == 0, completed.stderr.text
    assert submission is not None
    return submission


def run_script(home: Home, data: Prepared, script: str, flags: Sequence[str] = ()) -> tuple[Completed, bytes | None]:
    """Run a script in place of the starter; return how it ended, and the submission if there is one."""
    return anyio.run(_run_script, home, data, script, flags)


async def _run_script(home: Home, data: Prepared, script: str, flags: Sequence[str]) -> tuple[Completed, bytes | None]:
    task = data.task
    setup = Setup(
        find_environment(home, task.environment),
        data=data.public,
        limits=Limits.from_resources(task.resources),
        variables={"OMP_NUM_THREADS": "1"},  # with data this small, threads would mostly wait for each other
    )
    async with open_lab(home, setup) as lab:
        assert lab.sealing.sealed
        await write_starting_files(lab, task)
        await lab.write(str(task.starter_script), script.encode())
        completed = await lab.run(["python", str(task.starter_script), *flags], seconds=300)
        try:
            return completed, await lab.read(task.submission.file, max_size=task.submission.max_size)
        except UnsafePath:
            return completed, None
