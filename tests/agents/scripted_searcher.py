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
    if "# Second solution" in prompt:
        return proposal(script(min(COINS, max(metrics) + 1)), "I will join them.")
    if "# Solution to improve" in prompt:
        return proposal(script(min(COINS, metrics[0] + 2)), "I will get two more coins right.")
    if "this is the first solution" in prompt:
        return proposal("raise ValueError('a stupid mistake')", "I will begin.")
    return proposal(script(8 + len(re.findall(r"^- \d+ \(draft", prompt, re.M))), "I will start from scratch.")


HOUSES = """import os
import numpy as np
import pandas as pd
{imports}

SEED = int(os.environ["SEED"])
train, test = pd.read_csv("data/train.csv"), pd.read_csv("data/test.csv")
columns = {columns}
held_out = train.sample(frac=0.25, random_state=SEED)
kept = train.drop(held_out.index)


def fitted(table):
    return {model}.fit(table[columns].fillna(-1), np.log1p(table["SalePrice"]))


errors = fitted(kept).predict(held_out[columns].fillna(-1)) - np.log1p(held_out["SalePrice"])
print("METRIC:", np.sqrt(np.mean(errors**2)))
test["SalePrice"] = np.expm1(fitted(train).predict(test[columns].fillna(-1)))
test[["row_id", "SalePrice"]].to_csv("submission.csv", index=False)
"""
FEW = '["LotArea", "YearBuilt", "GrLivArea"]'
MANY = '[name for name in test.select_dtypes("number") if name != "row_id"]'
LINEAR = {"imports": "from sklearn.linear_model import LinearRegression", "model": "LinearRegression()"}
TREES = {
    "imports": "from sklearn.ensemble import HistGradientBoostingRegressor",
    "model": "HistGradientBoostingRegressor(max_iter=80, random_state=SEED)",
}


def houses(messages, tools):
    """Return the next reply for house prices: a linear model on a missing column, then on three, then trees."""
    prompt = messages[-1].text
    if "# Buggy script" in prompt:
        return proposal(HOUSES.format(columns=FEW, **LINEAR), "The column does not exist; I will do without it.")
    if "# Solution to improve" in prompt or "# Second solution" in prompt:
        return proposal(HOUSES.format(columns=MANY, **TREES), "I will use trees on all numbers.")
    if "this is the first solution" in prompt:
        return proposal(HOUSES.format(columns='["Beauty"]', **LINEAR), "I will begin with a line.")
    return proposal(HOUSES.format(columns=FEW, **LINEAR), "I will begin with three columns.")
