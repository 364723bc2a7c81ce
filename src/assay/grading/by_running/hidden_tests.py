"""Judge a workspace: hidden tests run on its files, in a lab of their own.

The submission is an archive of what the agent left (`pack_workspace`), which is unpacked only inside of that lab, where
none of the agent's processes live on. The tests, `private/tests/`, are at `/tests` there. `/tests/test.sh` writes the
reward to `/logs/verifier/reward.json`, as `{"reward": 0.5}`, or to `/logs/verifier/reward.txt`, as Harbor's tests do;
whatever the agent had left at these paths is removed before. A reward of 1 or more is success.
"""

import io
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from assay.core.errors import InvalidSubmission, NotPrepared, RecordError, UnsafePath
from assay.core.home import Home
from assay.core.quantities import format_duration, format_size
from assay.core.text import quote
from assay.core.untrusted import parse_json
from assay.grading.result import Judgement
from assay.tasks.rules import Submission

if TYPE_CHECKING:
    from assay.data.store import Prepared
    from assay.lab.interface import Lab, SandboxName

ARCHIVE = "workspace.tar"
"""The name of such a submission."""
OUTSIDE = ".outside"
"""The folder of the workspace with the paths of the task that are outside of it, such as `/logs`."""
SCRIPT = "test.sh"

_ARCHIVE = ".submission.tar"
_LINKS = {"/tests": f"{OUTSIDE}/tests", "/logs": f"{OUTSIDE}/logs"}
_LOGS = f"{OUTSIDE}/logs/verifier"
_MAX_REWARD = 2**20
_UNPACK = f"""\
import os, shutil, tarfile
with tarfile.open({_ARCHIVE!r}) as archive:
    archive.extractall(".", filter="tar")
os.remove({_ARCHIVE!r})
for path in ({_LOGS!r}, {_LINKS["/tests"]!r}):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.remove(path)
os.makedirs({_LOGS!r})
"""


async def pack_workspace(lab: "Lab", rules: Submission) -> bytes:
    """Return the files that are submitted of a workspace as an archive that depends on nothing else.

    `UnsafePath` if they are too large, or cannot be read.
    """
    from assay.lab.snapshots import open_object

    with tempfile.TemporaryDirectory() as name:
        store = Path(name)
        snapshot = await lab.snapshot(store)
        if snapshot.size > rules.max_size:
            raise UnsafePath(f"the workspace has {snapshot.size:,} bytes; at most {rules.max_size:,} can be submitted")
        output = io.BytesIO()
        with tarfile.open(fileobj=output, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for path in sorted({*snapshot.folders, *snapshot.links, *snapshot.files}):
                if rules.paths and not any(path == part or path.startswith(f"{part}/") for part in rules.paths):
                    continue
                member = tarfile.TarInfo(path)
                if path in snapshot.folders:
                    member.type, member.mode = tarfile.DIRTYPE, snapshot.folders[path] | 0o700
                    archive.addfile(member)
                elif path in snapshot.links:
                    member.type, member.linkname = tarfile.SYMTYPE, snapshot.links[path]
                    archive.addfile(member)
                else:
                    file = snapshot.files[path]
                    member.size, member.mode = file.size, file.mode & 0o777 | 0o600
                    with open_object(store, file.sha256) as content:
                        archive.addfile(member, content)
        return output.getvalue()


async def run_tests(content: bytes, prepared: "Prepared", *, home: Home, sandbox: "SandboxName") -> Judgement:
    """Run the tests of a task on a submitted workspace; `InvalidSubmission` if it cannot be unpacked."""
    from assay.lab import open_lab
    from assay.lab.environments import find_environment
    from assay.lab.interface import Limits, Setup

    task = prepared.task
    tests = _read_tests(prepared)
    setup = Setup(
        find_environment(home, task.environment_for(prepared.variant)),
        limits=Limits.from_resources(task.resources),
        links={**task.layout.links, **_LINKS},
        variables=task.layout.test_variables,
    )
    async with open_lab(home, setup, sandbox=sandbox) as lab:
        sealed = lab.sealing.sealed
        try:
            await lab.write(_ARCHIVE, content)
            unpacked = await lab.run(["python", "-c", _UNPACK], seconds=task.submission.judge_time)
            if not unpacked.succeeded:
                raise InvalidSubmission(f"The workspace cannot be unpacked: {_last_line(unpacked.stderr.text)}.")
            for path, file in tests.items():
                await lab.write(f"{_LINKS['/tests']}/{path}", file)
        except (UnsafePath, OSError) as error:
            raise InvalidSubmission(f"The workspace cannot be tested: {error}.") from None
        command = f'cd -- "$0" && exec /bin/bash /tests/{SCRIPT}'
        ended = await lab.run(["/bin/sh", "-c", command, task.layout.folder], seconds=task.submission.judge_time)
        if ended.ended == "time":
            limit = format_duration(task.submission.judge_time)
            return Judgement(why=f"The tests did not end within {limit}.", sealed=sealed)
        if ended.ended == "memory":
            limit = format_size(task.resources.memory)
            return Judgement(why=f"The tests took more than {limit} of memory.", sealed=sealed)
        try:
            reward = await _read_reward(lab, _last_line(ended.stderr.text))
        except InvalidSubmission as error:
            return Judgement(why=str(error), sealed=sealed)
    return Judgement(score=reward, sealed=sealed)


def _read_tests(prepared: "Prepared") -> dict[str, bytes]:
    folder = prepared.private / "tests"
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    if SCRIPT not in files:
        raise NotPrepared(f"{prepared.task.id} has no {folder / SCRIPT}; prepare it again")
    return files


async def _read_reward(lab: "Lab", last: str) -> float:
    """Return what the tests wrote; without a reward, which a workspace can prevent, the submission has failed."""
    for name in ("reward.json", "reward.txt"):
        try:
            content = await lab.read(f"{_LOGS}/{name}", max_size=_MAX_REWARD)
        except UnsafePath:
            continue
        try:
            return read_reward(content, is_json=name.endswith("json"))
        except (RecordError, ValueError) as error:
            raise InvalidSubmission(f"The tests wrote a {name} that cannot be read: {error}.") from None
    raise InvalidSubmission(f"The tests wrote no reward; the last line of their errors is {last}.")


def read_reward(content: bytes, *, is_json: bool) -> float:
    """Return a reward: the number in a text, or `reward` of a JSON object, or the only number that it has."""
    if not is_json:
        return _finite(content.decode().strip())
    values = parse_json(content, "reward.json")
    if isinstance(values, dict):
        values = values.get("reward", next(iter(values.values())) if len(values) == 1 else None)
    return _finite(values)


def _finite(value: object) -> float:
    number = float(value) if isinstance(value, str | int | float) else float("nan")
    if not abs(number) < float("inf"):
        raise ValueError(f"{quote(str(value)[:40])} is not a reward")
    return number


def _last_line(text: str) -> str:
    return quote((text.strip().splitlines() or [""])[-1][:200])
