"""Best of n with a language model: it proposes forests, hidden validation rows choose one, the test rows grade it.

`python examples/best_of_n.py [MODEL] [N]`; by default a small model that runs in this process, three times.
"""

import sys

import anyio

from assay.gym import LabEnv, Rewards, python, submit
from assay.models import MAIN, Message, Models, Prices, Sampling, Tool

TASK = "pocket/house-price"
DEPTHS, LEAVES = ("1", "3", "6", "12"), ("1", "5", "25")
QUESTION = (
    "Predict house prices with a random forest. Choose the maximum depth and the minimum number of rows per leaf."
)
CODE = """
import pandas as pd
from sklearn.ensemble import RandomForestRegressor
train, test = pd.read_csv("data/train.csv"), pd.read_csv("data/test.csv")
columns = test.select_dtypes("number").columns.drop("row_id")
model = RandomForestRegressor(50, max_depth={depth}, min_samples_leaf={leaf}, random_state=0)
model.fit(train[columns].fillna(-1), train["SalePrice"])
test["SalePrice"] = model.predict(test[columns].fillna(-1))
test[["row_id", "SalePrice"]].to_csv("submission.csv", index=False)
"""


async def propose(model: str, count: int) -> list[str]:
    """Return programs with settings that the model chose, each with another seed."""
    choices = {"depth": {"type": "string", "enum": list(DEPTHS)}, "leaf": {"type": "string", "enum": list(LEAVES)}}
    schema = {"type": "object", "properties": choices, "required": list(choices)}
    tool = Tool(name="forest", description="Train a random forest.", parameters=schema)
    programs = []
    async with Models({MAIN: model}, prices=Prices()) as models:
        models.check()
        for seed in range(count):
            sampling = Sampling(seed=seed, temperature=1.5)
            asked = [Message(role="user", text=QUESTION)]
            reply = await models.ask(MAIN, asked, [tool], choice="forest", sampling=sampling)
            programs.append(CODE.format(**reply.message.tool_calls[0].arguments))
    return programs


def main(model: str = "local/smollm2", count: str = "3") -> None:
    """Print what the best proposal scores on the test rows."""
    programs = anyio.run(propose, model, int(count))
    env = LabEnv(TASK, rewards=Rewards(score=0, validation=1))
    paid = []
    for program in programs:
        env.reset(seed=0)
        paid.append(env.step(python(program))[1])
    env.close()
    best = max(range(len(programs)), key=paid.__getitem__)
    env = LabEnv(TASK)
    env.reset(seed=0)
    env.step(python(programs[best]))
    _, reward, _, _, info = env.step(submit())
    env.close()
    print("validation:", ", ".join(f"{each:.3f}" for each in paid))
    print(f"best of {len(paid)}: score {info['grade']['score']:.4f}, reward {reward:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
