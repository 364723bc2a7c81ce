"""A scripted model that solves the coin task for all MLAgentBench agents and in both protocols."""

import json

HEADS = """import csv
with open("data/test.csv") as test, open("submission.csv", "w") as out:
    out.write("coin,side\\n")
    for row in csv.DictReader(test):
        out.write(f"{row['coin']},{int(int(row['coin']) % 3 == 0)}\\n")
print("accuracy 1.0")
"""
EDIT = {"script_name": "train.py", "edit_instruction": "Every third shows its head.", "save_name": "train.py"}
STORY = [
    ("List Files", {"dir_path": "."}),
    ("Understand File", {"file_name": "data/train.csv", "things_to_look_for": "a rule"}),
    ("Python REPL", {"command": "import os; open('visits', 'a').write('x'); os.path.getsize('visits')"}),
    ("Execute Script", {"script_name": "train.py"}),
    ("Edit Script (AI)", EDIT),
    ("Execute Script", {"script_name": "train.py"}),
    ("Final Answer", {"final_answer": "Solved."}),
]
THOUGHTS = ("Reflection", "Research Plan and Status", "Fact Check", "Thought")
STEPS = 20


def answer(messages, tools):
    """Return the next reply, depending on the prompt and the remaining steps."""
    text = messages[-1].text
    if text.startswith("Edit the script"):
        return f"````python\n{HEADS}````"
    if "You have " not in text:
        return "Every third coin shows its head."
    action, arguments = STORY[STEPS - int(text.partition("You have ")[2].partition(" steps")[0])]
    if tools:
        name = action.lower().replace(" (ai)", "_ai").replace(" ", "_")
        keys = [name.lower().replace(" ", "_") for name in THOUGHTS]
        thoughts = {key: "Well." for key in keys if key in tools[0].parameters["properties"]}
        return {"tool_calls": [{"name": name, "arguments": {**thoughts, **arguments}}]}
    fields = [f"{name}: Well." for name in THOUGHTS if f"\n{name}: " in messages[0].text]
    return "\n".join([*fields, f"Action: {action}", f"Action Input: {json.dumps(arguments)}"])
