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
HIDE = "import os, time; os.mkdir('closed', 0o700); os.chmod('closed', 0); time.sleep(60)"


async def main(home: Home, environment: Path, data: Path) -> None:
    async with open_lab(home, Setup(environment, data=data, limits=SMALL)) as lab:

        async def python(code: str, seconds: float = 30) -> dict[str, object]:
            done = await lab.run(["python", "-c", code], seconds=seconds)
            return {"ended": done.ended, "code": done.code, "out": done.stdout.text, "err": done.stderr.text[-300:]}

        report: dict[str, object] = {"uid": os.getuid(), "enforced": dict(lab.sealing.enforced)}
        report["hello"] = await python("import os; print(os.getuid(), open('data/train.csv').read())")
        report["fill"] = await python(FILL)
        await lab.run(["sh", "-c", "rm part*"], seconds=10)
        report["eat"] = await python(EAT)
        report["eat together"] = await python(EAT_TOGETHER)
        report["bomb"] = await python(BOMB)
        report["write data"] = await python("open('data/train.csv', 'w')")
        report["connect"] = await python("import socket; socket.create_connection(('1.1.1.1', 80), 2)")
        report["left"] = await python("import os; os.system('setsid sleep 7654321 &')")
        report["time"] = await python("import time; time.sleep(60)", seconds=0.5)
        await lab.write("notes/a.txt", b"1")
        kept = await lab.snapshot(home.root / "store")
        await lab.restore(home.root / "store", kept)
        report["read"] = (await lab.read("notes/a.txt", max_size=10)).decode()
        report["hide"] = await python(HIDE)
    report["left over"] = [str(path) for path in home.labs.iterdir()]
    print(json.dumps(report))


if __name__ == "__main__":
    anyio.run(main, Home(Path(sys.argv[1])), Path(sys.argv[2]), Path(sys.argv[3]))
