"""Best of n with a language model: it proposes forests, hidden validation rows choose one, the test rows grade it.

`python examples/best_of_n.py [MODEL] [N]`; by default a small model that runs in this process, three times.
"""

import sys

import anyio

from assay.gym import LabEnv, Rewards, python, submit
from assay.models import MAIN, Message, Models, Prices, Sampling, Tool

TASK = "pocket/house-price"
OPTIONS = {f"depth {depth}, {leaf} rows per leaf": (depth, leaf) for depth in (1, 3, 6, 12) for leaf in (1, 5, 25)}
QUESTION = "Predict house prices with a random forest. Which maximum depth and rows per leaf should be tried next?"
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


async def propose(model: str, count: int) -> dict[str, str]:
    """Return programs by the option that the model chose, each time among those that are left."""
    programs: dict[str, str] = {}
    async with Models({MAIN: model}, prices=Prices()) as models:
        models.check()
        for seed in range(count):
            left = {"type": "string", "enum": [option for option in OPTIONS if option not in programs]}
            schema = {"type": "object", "properties": {"option": left}, "required": ["option"]}
            tool = Tool(name="choose", description="Choose one of the options.", parameters=schema)
            asked = [Message(role="user", text=QUESTION)]
            reply = await models.ask(MAIN, asked, [tool], choice="choose", sampling=Sampling(seed=seed))
            option = reply.message.tool_calls[0].arguments["option"]
            depth, leaf = OPTIONS[option]
            programs[option] = CODE.format(depth=depth, leaf=leaf)
    return programs


def main(model: str = "local/smollm2", count: str = "3") -> None:
    """Print what the best proposal scores on the test rows."""
    programs = anyio.run(propose, model, int(count))
    env = LabEnv(TASK, rewards=Rewards(score=0, validation=1))
    paid = {}
    for option, program in programs.items():
        env.reset(seed=0)
        paid[option] = env.step(python(program))[1]
        print(f"{option}: {paid[option]:.3f} on hidden validation rows")
    env.close()
    best = max(paid, key=paid.__getitem__)
    env = LabEnv(TASK)
    env.reset(seed=0)
    env.step(python(programs[best]))
    _, reward, _, _, info = env.step(submit())
    env.close()
    print(f"best of {len(paid)}: {best}, score {info['grade']['score']:.4f}, reward {reward:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
