"""A scripted model for the AIDE package: scripts with and without a bug, and reviews of their output."""

import re
from itertools import chain, repeat

BODY = """import pandas as pd
from sklearn.{module} import {model}
train, test = pd.read_csv("./input/train.csv"), pd.read_csv("./input/test.csv")
known = test.select_dtypes("number").columns
model = {model}({settings}).fit(train[known].fillna(0), train["Transported"])
test["Transported"] = model.predict(test[known].fillna(0))
test[["PassengerId", "Transported"]].to_csv("./working/submission.csv", index=False)
print("validation accuracy:", {score})
"""
GUESS = BODY.format(module="dummy", model="DummyClassifier", settings="", score=0.5)
BUG = "raise ValueError('a deliberate bug')\n"
BEST = BODY.format(module="ensemble", model="RandomForestClassifier", settings="30, random_state=0", score=0.75)
WORSE = BODY.format(module="dummy", model="DummyClassifier", settings="strategy='stratified'", score=0.4)
PROGRAMS = chain([GUESS, BUG, BEST], repeat(WORSE))


def answer(messages, tools):
    """Return a review if a tool is offered, otherwise the next script."""
    text = "\n".join(message.text for message in messages)
    if tools:
        (tool,) = tools
        found = re.findall(r"validation accuracy: ([0-9.]+)", text)
        bug = not found
        review = {"is_bug": bug, "summary": "It crashed." if bug else "It works.", "lower_is_better": False}
        return {
            "tool_calls": [{"name": tool.name, "arguments": {**review, "metric": float(found[-1]) if found else None}}]
        }
    program = next(PROGRAMS)
    return f"A short plan.\n\n```python\n{program}```\n"
