"""A scripted model that works on any task of the suite: it explores, measures the starter, improves and measures it.

It uses only its prompt: the script to work on from the problem, its place in the plan from the steps that
are left, and how to better a script from the script itself.
"""

import json
import re

STEPS = 20
FIELDS = ("Reflection", "Research Plan and Status", "Fact Check", "Thought")
PLAN = (
    "Understand File", "List Files", "List Files", "Inspect Script Lines", "Execute Script", "Edit Script (AI)",
    "Execute Script", "Final Answer",
)  # fmt: skip
MEASURED = PLAN.index("Execute Script") + 1
"""The step after which the submission is the starter's."""

# For each task, parts of its starter and what replaces them; for clrs, only what makes it faster.
BETTER = {
    "clrs": {
        "BATCHES = 50\nGRAPHS = 8": "BATCHES = 5\nGRAPHS = 8",
    },
    "house-price": {
        "train, test = pd": 'FEATURES = ["GrLivArea", "OverallQual", "YearBuilt"]\ntrain, test = pd',
        "fit(kept[FEATURES], kept": "fit(train[FEATURES], train",
    },
    "vectorization": {
        """    output = np.zeros((batch, rows, columns, count))
    for image in range(batch):
        for row in range(rows):
            for column in range(columns):
                for number in range(count):
                    top, left = row * STRIDE, column * STRIDE
                    window = padded[image, top : top + tall, left : left + wide, :]
                    response = np.sum(window * filters[number]) + biases[number]
                    output[image, row, column, number] = max(response, 0.0)
    return output
""": """    windows = np.lib.stride_tricks.sliding_window_view(padded, (tall, wide), axis=(1, 2))[:, ::STRIDE, ::STRIDE]
    return np.maximum(np.tensordot(windows, filters, axes=((3, 4, 5), (3, 1, 2))) + biases, 0)
""",
    },
}


def answer(messages, tools):
    """Return the next reply: an edited script, a remark on a file, or the next action of the plan."""
    asked = messages[-1].text
    if asked.startswith("Edit the script"):
        script = asked.rpartition("````")[0].partition("````\n")[2]
        return f"````python\n{better(script)}````"
    if "You have " not in asked:
        return "It says what to submit and how the submission is graded."
    step = STEPS - int(asked.partition("You have ")[2].partition(" steps")[0])
    script = script_of(asked)
    arguments = (
        {"file_name": "description.md", "things_to_look_for": "what to submit"},
        {"dir_path": "."},
        {"dir_path": "data"},
        {"script_name": script, "start_line_number": 1, "end_line_number": 100},
        {"script_name": script},
        {"script_name": script, "edit_instruction": "Do it better.", "save_name": script},
        {"script_name": script},
        {"final_answer": "The edited script has written it."},
    )[step]
    thoughts = [f"{field}: I work on {script}; this is step {step + 1} of {len(PLAN)}." for field in FIELDS]
    return "\n".join([*thoughts, f"Action: {PLAN[step]}", f"Action Input: {json.dumps(arguments)}"])


def script_of(asked):
    """Return the script to work on: the one named in the plan, or else in the list of files."""
    planned = re.findall(r"I work on (\w+\.py);", asked)
    listed = re.findall(r"^(\w+\.py)$", asked, re.MULTILINE)
    if planned or not listed:
        return planned[-1] if planned else "a script not yet seen"
    return "train.py" if "train.py" in listed else listed[0]


def better(script):
    """Return a script with its known improvement, or else with another seed."""
    for changes in BETTER.values():
        if all(old in script for old in changes):
            for old, new in changes.items():
                script = script.replace(old, new)
            return script
    return script.replace('os.environ.get("SEED", "0")', 'os.environ.get("SEED", "0") + "1"')
