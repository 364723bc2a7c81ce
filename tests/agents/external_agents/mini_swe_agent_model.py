"""A scripted model for mini-swe-agent: lists files, writes and validates its submission, and submits."""

TRAIN = """cat > solve.py <<'END'
import csv
with open("data/test.csv") as test, open("submission.csv", "w") as out:
    out.write("coin,side\\n")
    for row in csv.DictReader(test):
        out.write(f"{row['coin']},{int(int(row['coin']) % 3 == 0)}\\n")
END
python solve.py && wc -l submission.csv"""
CHECK = """cat > check.py <<'END'
import os, urllib.request
print(urllib.request.urlopen(os.environ["ANTHROPIC_BASE_URL"] + "/validate", b"").read().decode())
END
python check.py"""
COMMANDS = ["ls data", TRAIN, CHECK, "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"]


def answer(messages, tools):
    """Return the next command."""
    (tool,) = tools
    answered = sum(message.role == "assistant" for message in messages)
    return {"text": "Next.", "tool_calls": [{"name": tool.name, "arguments": {"command": COMMANDS[answered]}}]}
