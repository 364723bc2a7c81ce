"""A scripted model that searches the coin task; its replies depend only on the prompt.

The first draft is buggy and its fix is not; each improvement gets two more coins right, and a crossover one more than
the better of its parents.
"""

import re

COINS = 30
SCRIPT = """import csv
right = {right}
with open("data/test.csv") as test, open("submission.csv", "w") as out:
    out.write("coin,side\\n")
    for place, row in enumerate(csv.DictReader(test)):
        side = int(int(row["coin"]) % 3 == 0)
        out.write(f"{{row['coin']}},{{side if place < right else 1 - side}}\\n")
print("METRIC:", {metric})
"""


def script(right, metric=None):
    """Return a script that gets `right` coins right, and prints that as its metric unless another one is passed."""
    return SCRIPT.format(right=right, metric=f"{right} / {COINS}" if metric is None else metric)


def proposal(code, plan="I will try this."):
    """Return a reply in the required format."""
    return f"{plan}\n\n```python\n{code}\n```\n"


def answer(messages, tools):
    """Return the next reply."""
    prompt = messages[-1].text
    metrics = [
        round(float(number) * COINS)
        for number in re.findall(r"^This is solution \d+, with a metric of (\S+)\. ", prompt, re.M)
    ]
    if "# Buggy script" in prompt:
        return proposal(script(12), "I will fix it.")
    if "measures how much each part" in prompt:
        return proposal("print('without the coins: nothing')\nprint('METRIC: 0.1')", "I will measure.")
    if "# Second solution" in prompt:
        return proposal(script(min(COINS, max(metrics) + 1)), "I will join them.")
    if "# Solution to improve" in prompt:
        return proposal(script(min(COINS, metrics[0] + 2)), "I will get two more coins right.")
    if "this is the first solution" in prompt:
        return proposal("raise ValueError('a stupid mistake')", "I will begin.")
    return proposal(script(8 + len(re.findall(r"^- \d+ \(draft", prompt, re.M))), "I will start from scratch.")


HOUSES = """import csv, os
import numpy as np


def read(name):
    with open(f"data/{{name}}.csv") as file:
        return list(csv.DictReader(file))


def number(text):
    try:
        return float(text)
    except ValueError:
        return np.nan


def table(rows):
    values = np.array([[number(row[name]) for name in columns] for row in rows])
    return np.column_stack([np.ones(len(rows)), np.nan_to_num(values)])


def predict(known, rows):
    logs = np.log1p([float(row["SalePrice"]) for row in known])
    return table(rows) @ np.linalg.lstsq(table(known), logs, rcond=None)[0]


train, test = read("train"), read("test")
columns = {columns}
np.random.default_rng(int(os.environ["SEED"])).shuffle(train)
held_out, kept = train[: len(train) // 4], train[len(train) // 4 :]
errors = predict(kept, held_out) - np.log1p([float(row["SalePrice"]) for row in held_out])
print("METRIC:", np.sqrt(np.mean(errors**2)))
with open("submission.csv", "w") as out:
    out.write("row_id,SalePrice\\n")
    for row, price in zip(test, np.expm1(predict(train, test))):
        out.write(f"{{row['row_id']}},{{price}}\\n")
"""
FEW = '["LotArea", "YearBuilt", "GrLivArea"]'
MANY = '[name for name in test[0] if name != "row_id" and any(number(row[name]) > 0 for row in train)]'


def houses(messages, tools):
    """Return the next reply for house prices: a linear model on a missing column, then on three, then on all."""
    prompt = messages[-1].text
    if "measures how much each part" in prompt:
        return proposal("print('METRIC: 1')", "I will measure.")
    if "# Buggy script" in prompt:
        return proposal(HOUSES.format(columns=FEW), "The column does not exist; I will do without it.")
    if "# Solution to improve" in prompt or "# Second solution" in prompt:
        return proposal(HOUSES.format(columns=MANY), "I will use all numbers.")
    if "this is the first solution" in prompt:
        return proposal(HOUSES.format(columns='["Beauty"]'), "I will begin with a line.")
    return proposal(HOUSES.format(columns=FEW), "I will begin with three columns.")
