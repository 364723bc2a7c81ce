"""Read five sites, and predict 0 elsewhere."""

import pandas as pd

test = pd.read_csv("data/test.csv")
test["value"] = 0.0
for number in range(1, 6):
    readings = pd.read_csv(f"data/sites/site-{number:03}.csv")
    offset = (readings["value"] - 2 * readings["load"]).mean()
    rows = test["site"] == f"site-{number:03}"
    test.loc[rows, "value"] = offset + 2 * test.loc[rows, "load"]
test[["row", "value"]].to_csv("submission.csv", index=False)
