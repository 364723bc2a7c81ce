"""Attack a lab as the user who runs this script, and print the results as JSON."""

import json
import os
import sys
from pathlib import Path

import anyio

from assay.core.home import Home
from assay.lab import Limits, Setup, open_lab

SMALL = Limits(memory=200 * 10**6, processes=40, disk=16 * 10**6, file_size=64 * 10**6)

FILL = "import time\nfor i in range(64): open(f'part{i}', 'wb').write(bytes(1_000_000))\ntime.sleep(60)"
EAT = "import time; food = [bytearray(10_000_000) for _ in range(40)]; time.sleep(60)"
EAT_TOGETHER = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        food = bytearray(60_000_000)
        time.sleep(60)
time.sleep(60)
"""
# Memory that no process has mapped: files without a name, and shared memory and queues of System V.
EAT_UNMAPPED = """
import ctypes, os
libc, kept = ctypes.CDLL(None, use_errno=True), 0
try:
    while kept < 400_000_000:
        kept += os.write(os.memfd_create("food"), bytes(50_000_000))
except OSError:
    pass
print(kept, libc.shmget(0, ctypes.c_size_t(50_000_000), 0o1600), libc.msgget(0, 0o1600))
"""
BOMB = """
import os, time
made = 0
try:
    while made < 100:
        if os.fork() == 0:
            time.sleep(60)
        made += 1
except BlockingIOError:
    pass
print(made)
"""
# What code of the harness's own user could do to it without a namespace: signals, limits, tracing, its environment.
HARNESS = """
import ctypes, os, resource
for attack in (lambda: os.kill(PID, 0), lambda: resource.prlimit(PID, resource.RLIMIT_CPU, (1, 1)),
               lambda: open('/proc/PID/environ').read(1), lambda: open('/proc/PID/mem', 'rb'),
               lambda: os.sched_setaffinity(PID, [0])):
    try:
        attack()
        print('reached')
    except OSError:
        pass
try:
    os.setpriority(os.PRIO_USER, 0, 19)
except OSError:
    pass
"""
OWN_FILES = """
import os
path = FOLDER + '/precious'
for attack in (lambda: open(path).read(), lambda: open(path, 'w'), lambda: os.unlink(path),
               lambda: os.rename(path, path + '2'), lambda: os.truncate(path, 0), lambda: os.link(path, 'mine')):
    try:
        attack()
        print('changed')
    except OSError:
        pass
for attack in (lambda: os.chmod(path, 0), lambda: os.utime(path, (0, 0)), lambda: os.setxattr(path, 'user.x', b'x')):
    try:
        attack()
    except OSError:
        pass
"""
HIDE = "import os, time; os.mkdir('closed', 0o700); os.chmod('closed', 0); time.sleep(60)"


async def main(home: Home, environment: Path, data: Path, sandbox: str) -> None:
    (home.root / "precious").write_text("kept")
    (home.root / "precious").chmod(0o600)
    async with open_lab(home, Setup(environment, data=data, limits=SMALL), sandbox) as lab:

        async def python(code: str, seconds: float = 30) -> dict[str, object]:
            done = await lab.run(["python", "-c", code], seconds=seconds)
            return {"ended": done.ended, "code": done.code, "out": done.stdout.text, "err": done.stderr.text[-300:]}

        report: dict[str, object] = {"uid": os.getuid(), "enforced": dict(lab.sealing.enforced)}
        report["hello"] = await python("import os; print(os.getuid(), open('data/train.csv').read())")
        report["fill"] = await python(FILL)
        await lab.run(["sh", "-c", "rm part*"], seconds=10)
        report["eat"] = await python(EAT)
        report["eat together"] = await python(EAT_TOGETHER)
        report["eat unmapped"] = await python(EAT_UNMAPPED)
        report["bomb"] = await python(BOMB)
        report["write data"] = await python("open('data/train.csv', 'w')")
        report["connect"] = await python("import socket; socket.create_connection(('1.1.1.1', 80), 2)")
        before = os.getpriority(os.PRIO_PROCESS, 0)
        report["harness"] = await python(HARNESS.replace("PID", str(os.getpid())))
        report["slowed down"] = os.getpriority(os.PRIO_PROCESS, 0) != before
        report["own files"] = await python(OWN_FILES.replace("FOLDER", repr(str(home.root))))
        report["left"] = await python("import os; os.system('setsid sleep 7654321 &')")
        report["time"] = await python("import time; time.sleep(60)", seconds=0.5)
        await lab.write("notes/a.txt", b"1")
        kept = await lab.snapshot(home.root / "store")
        await lab.restore(home.root / "store", kept)
        report["read"] = (await lab.read("notes/a.txt", max_size=10)).decode()
        report["hide"] = await python(HIDE)
    precious = (home.root / "precious").stat()
    report["precious"] = [(home.root / "precious").read_text(), precious.st_mode & 0o777, precious.st_mtime > 10**9]
    report["left over"] = [str(path) for path in home.labs.iterdir()]
    print(json.dumps(report))


if __name__ == "__main__":
    anyio.run(main, Home(Path(sys.argv[1])), Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
