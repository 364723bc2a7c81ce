"""A scripted model for mini-swe-agent: lists files, trains, validates its submission, and submits."""

TRAIN = """cat > train.py <<'END'
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
train, test = pd.read_csv("data/train.csv"), pd.read_csv("data/test.csv")
known = test.select_dtypes("number").columns
model = RandomForestClassifier(30, random_state=0).fit(train[known].fillna(0), train["Transported"])
test["Transported"] = model.predict(test[known].fillna(0))
test[["PassengerId", "Transported"]].to_csv("submission.csv", index=False)
END
python train.py && wc -l submission.csv"""
CHECK = """cat > check.py <<'END'
import os, urllib.request
print(urllib.request.urlopen(os.environ["ANTHROPIC_BASE_URL"] + "/validate", b"").read().decode())
END
python check.py"""
COMMANDS = ["ls data", TRAIN, CHECK, "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"]


def answer(messages, tools):
    """Return the next command."""
    (tool,) = tools
    given = sum(message.role == "assistant" for message in messages)
    return {"text": "Next.", "tool_calls": [{"name": tool.name, "arguments": {"command": COMMANDS[given]}}]}
