"""An agent without a model that improves step by step: random pipelines, the best by validation is submitted.

Each pipeline is recorded as a node of a search, so reports draw its tree and nodes can be graded after the trial. Its
validation set is small, so that it often prefers a pipeline that only looks better: `assay study scaling` shows what
that costs as the gap between its own pick and the best it had.
"""

import json

from pydantic import Field

from assay.agents import Agent, Workbench
from assay.records import Journal
from assay.records.events import SearchNode
from assay.tasks import Task

SCRIPT = """
import json, os, random, sys
import numpy as np, pandas as pd
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

task, number, seed = json.loads(sys.argv[1]), int(sys.argv[2]), int(os.environ["SEED"])
chance = random.Random(1000 * seed + number)
train, test = (pd.read_csv(f"data/{task[part]}") for part in ("train", "test"))
target = train.pop(task["target"])

def features(table):
    if task["image"]:
        from PIL import Image
        return np.stack([np.asarray(Image.open(f"data/{name}")).ravel() for name in table[task["image"]]])
    known = pd.concat([train, test]).drop(columns=[task["id"]])
    coded = known.apply(lambda column: column if column.dtype.kind in "biuf" else pd.factorize(column)[0])
    coded = coded.fillna(coded.median()).astype(float)
    return (coded[: len(train)] if table is train else coded[len(train):]).to_numpy()

classes = task["kind"].endswith("classification")
depth, neighbors, strength = chance.choice([2, 4, 8, 16]), chance.choice([1, 5, 25, 100]), 10 ** chance.uniform(-4, 3)
trees, linear, nearest = (
    (ExtraTreesClassifier, LogisticRegression, KNeighborsClassifier)
    if classes
    else (ExtraTreesRegressor, Ridge, KNeighborsRegressor)
)
model = chance.choice([
    trees(n_estimators=40, max_depth=depth, random_state=seed),
    make_pipeline(StandardScaler(), linear(C=strength, max_iter=200) if classes else linear(alpha=strength)),
    make_pipeline(StandardScaler(), nearest(neighbors)),
])
y = target if classes else np.log1p(target)  # errors of prices are relative
rows = np.random.default_rng(seed).permutation(len(train))
valid, fit = rows[: task["validation"]], rows[task["validation"]:][:1500]
x, unseen = features(train), features(test)
model.fit(x[fit], y.iloc[fit])
guess = model.predict(x[valid])
value = np.mean(guess == y.iloc[valid]) if classes else -np.sqrt(np.mean((guess - y.iloc[valid]) ** 2))
sample = test[[task["id"]]].copy()
predictions = model.predict(unseen)
sample[task["column"]] = predictions if classes else np.expm1(predictions)
sample.to_csv(f"{number}.csv", index=False)
print(json.dumps({"pipeline": str(model), "value": float(value)}))
"""


class RandomSearch(Agent):
    """Tries a random pipeline in each step, and submits the best one by its own validation."""

    summary = "tries random pipelines"

    steps: int = Field(12, ge=1, description="pipelines to try")
    validation: int = Field(40, ge=10, description="rows to validate with")

    def inapplicable(self, task: Task) -> str | None:
        """Refuse what is not one column to predict."""
        data = task.data
        if not all((data.train, data.test, data.target, data.id)) or len(task.submission.columns) != 1:
            return "random search predicts one column of a table"
        return None

    async def work(self, bench: Workbench) -> None:
        """Try a pipeline in each step, record it as a node, and keep the best submission in the workspace."""
        task = bench.task
        (column,) = task.submission.columns
        about = task.data.model_dump(include={"train", "test", "target", "image", "id"})
        about |= {"kind": task.kind, "column": column, "validation": self.validation}
        await bench.write("search.py", SCRIPT)
        journal = Journal(task.metric.direction)
        for id in range(self.steps):
            bench.clock.step()
            result = await bench.execute(["python", "-W", "ignore", "search.py", json.dumps(about), str(id)])
            submission = None
            node = SearchNode(id=id, operator="draft", status="buggy", reason=result.stderr[-500:])
            if result.succeeded:
                submission, tried = await bench.read(f"{id}.csv"), json.loads(result.stdout)
                metric = tried["value"] if journal.direction == "higher" else -tried["value"]
                node = SearchNode(id=id, operator="draft", status="good", plan=tried["pipeline"], metric=metric)
            node = await bench.record_node(node, submission)
            journal = journal.put(node)
            if submission and journal.best is node:
                await bench.write(task.submission.file, submission)
            await bench.snapshot()
