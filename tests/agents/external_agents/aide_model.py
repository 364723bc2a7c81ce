"""A scripted model for the AIDE package: scripts with and without a bug, and reviews of their output."""

import re
from itertools import chain, repeat

BODY = """import csv
with open("./input/test.csv") as test, open("./working/submission.csv", "w") as out:
    out.write("coin,side\\n")
    for row in csv.DictReader(test):
        coin = int(row["coin"])
        out.write(f"{{coin}},{{{side}}}\\n")
print("validation accuracy:", {score})
"""
# A submission is recorded once it is the same at two looks of the harness, which then writes the remaining budget.
WAIT = """import os, time
for look in range(3):
    before = os.stat("/lab/budget.json").st_ino
    while os.stat("/lab/budget.json").st_ino == before:
        time.sleep(0.01)
"""
GUESS = BODY.format(side="0", score=0.6) + WAIT
BUG = "raise ValueError('a deliberate bug')\n"
BEST = BODY.format(side="int(coin % 3 == 0)", score=1.0)
WORSE = BODY.format(side="1", score=0.4)
PROGRAMS = chain([GUESS, BUG, BEST], repeat(WORSE))


def answer(messages, tools):
    """Return a review if a tool is offered, otherwise the next script."""
    text = "\n".join(message.text for message in messages)
    if tools:
        (tool,) = tools
        accuracies = re.findall(r"validation accuracy: ([0-9.]+)", text)
        bug = not accuracies
        review = {"is_bug": bug, "summary": "It crashed." if bug else "It works.", "lower_is_better": False}
        return {
            "tool_calls": [
                {"name": tool.name, "arguments": {**review, "metric": float(accuracies[-1]) if accuracies else None}}
            ]
        }
    program = next(PROGRAMS)
    return f"A short plan.\n\n```python\n{program}```\n"
