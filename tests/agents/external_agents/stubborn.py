"""An external agent that writes two valid submissions, then an incomplete one, and ignores the request to end."""

import signal
import time
from pathlib import Path

BUDGET = Path("/lab/budget.json")
signal.signal(signal.SIGTERM, lambda *_: Path("asked").write_text("to end"))


def wait_for_looks(number):
    """Wait until the harness has polled that often: it writes the remaining budget each time."""
    for _ in range(number):
        before = BUDGET.stat().st_ino
        while BUDGET.stat().st_ino == before:
            time.sleep(0.01)


head = "coin,side\n"
for side in (0, 1):
    Path("new.csv").write_text(head + "".join(f"{coin},{side}\n" for coin in range(30, 60)))
    Path("new.csv").rename("submission.csv")
    wait_for_looks(3)
Path("submission.csv").write_text(head + "30,")
Path("torn").write_text("")
while True:
    signal.pause()
