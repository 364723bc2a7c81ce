"""An agent without a model: it writes a script into the lab and runs it.

assay --trust --tasks examples/my-suite run waves --agent examples/own_agent.py:Forest,trees=50 --out runs/waves
"""

from pydantic import Field

from assay.agents import Agent, Workbench

SCRIPT = """
import pandas as pd
from sklearn.ensemble import RandomForestRegressor

train, test = pd.read_csv("data/train.csv"), pd.read_csv("data/test.csv")
model = RandomForestRegressor({trees}, random_state={seed}).fit(train[["a", "b"]], train["height"])
test["height"] = model.predict(test[["a", "b"]])
test[["point", "height"]].to_csv("submission.csv", index=False)
"""


class Forest(Agent):
    """Fit a random forest and submit its predictions."""

    summary = "fits a random forest"
    trees: int = Field(100, ge=1, description="number of trees")

    async def work(self, bench: Workbench) -> None:
        """Write the script, run it, and check the format of the submission."""
        await bench.write("forest.py", SCRIPT.format(trees=self.trees, seed=bench.seed))
        await bench.run(["python", "forest.py"])
        await bench.validate()
