"""A scripted model that researches any task of the suite: it looks, measures the starter, betters it, measures again.

It knows nothing but what it is told: the script to work on from the problem, its place in the plan from the steps that
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

# For each task, what its starter has and what should be there. Miniatures are small, so they bear more epochs.
BETTER = {
    "babylm": {
        "layers=4, width=128, heads=4, inner=512": "layers=1, width=64, heads=2, inner=128",
        "BATCH = 8\nSTEP = 1e-3": "BATCH = 4\nSTEP = 1e-2",
    },
    "cifar10": {
        "EPOCHS = 5\nBATCH = 128": "EPOCHS = 10\nBATCH = 16",
        "lr=0.1, momentum=0.9": "lr=0.01, momentum=0.9",
    },
    "clrs": {
        "BATCH = 32\nLEARNING_RATE = 1e-3": "BATCH = 8\nLEARNING_RATE = 3e-3",
    },
    "fathomnet": {
        "SIDE = 256\nBATCH = 32": "SIDE = 64\nBATCH = 8",
        "in batches(kept):": "in [*batches(kept)] * 20:",
        "nn.Dropout(0.5), ": "",
        "chances > 0.5": "chances > 0.2",
    },
    "feedback": {
        ") -> None:\n        pass": ") -> None:\n        self.means = marks.mean()",
        "self.random.random((len(texts), len(TRAITS)))": "np.tile(self.means.to_numpy(), (len(texts), 1))",
    },
    "house-price": {
        "train, test = pd": 'FEATURES = ["GrLivArea", "OverallQual", "YearBuilt"]\ntrain, test = pd',
        "fit(kept[FEATURES], kept": "fit(train[FEATURES], train",
    },
    "identify-contrails": {
        "lr=1e-5": "lr=0.05",
        "in batches(records[len(held_out) :]):": "in [*batches(records[len(held_out) :])] * 10:",
    },
    "imdb": {
        "WIDTH = 32\nBATCH = 32": "WIDTH = 32\nBATCH = 8",
        "in torch.randperm(kept).split(BATCH):": "in torch.randint(kept, (20 * kept,)).split(BATCH):",
    },
    "llama-inference": {
        "normalized(states, scales[-1]) @ head": "normalized(states[:, -1:], scales[-1]) @ head",
    },
    "ogbn-arxiv": {
        "EPOCHS = 4": "EPOCHS = 40",
        "lr=1.0": "lr=0.01",
    },
    "parkinsons-disease": {
        "RandomForestRegressor(random": "RandomForestRegressor(10, criterion='absolute_error', random",
    },
    "spaceship-titanic": {
        '"HomePlanet", "CryoSleep", "Destination", "VIP", "Deck", "Side"': '"CryoSleep", "Side"',
        ".fit(x, y)": '.fit(known, train["Transported"])',
    },
    "vectorization": {
        "                for number in range(count):\n": "",
        "                    ": "                ",
        "np.sum(window * filters[number]) + biases[number]": "np.tensordot(filters, window, 3) + biases",
        "column, number] = max(": "column] = np.maximum(",
    },
}


def answer(messages, tools):
    """The next reply: an edited script, a remark on a file, or the next action of the plan."""
    asked = messages[-1].text
    if asked.startswith("Edit the script"):
        script = asked.rpartition("````")[0].partition("````\n")[2]
        return f"````python\n{better(script)}````"
    if "You have " not in asked:
        return "It says what to hand in, and how that is judged."
    step = STEPS - int(asked.partition("You have ")[2].partition(" steps")[0])
    script = script_of(asked)
    arguments = (
        {"file_name": "description.md", "things_to_look_for": "what to hand in"},
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
    """The script to work on: the one that is named in the plan, or else that the list of files shows."""
    planned = re.findall(r"I work on (\w+\.py);", asked)
    listed = re.findall(r"^(\w+\.py)$", asked, re.MULTILINE)
    if planned or not listed:
        return planned[-1] if planned else "a script not yet seen"
    return "train.py" if "train.py" in listed else listed[0]


def better(script):
    """A script with what is known to better it; one that is not known is tried with another seed."""
    for changes in BETTER.values():
        if all(old in script for old in changes):
            for old, new in changes.items():
                script = script.replace(old, new)
            return script
    return script.replace('os.environ.get("SEED", "0")', 'os.environ.get("SEED", "0") + "1"')
