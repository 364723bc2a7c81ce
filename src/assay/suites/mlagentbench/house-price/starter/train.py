"""A first try: linear regression on 25 numeric columns; categorical columns are not used."""

import os

import pandas as pd
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import train_test_split

SEED = int(os.environ.get("SEED", "0"))
FEATURES = [
    "MSSubClass", "LotArea", "OverallQual", "OverallCond", "YearBuilt", "YearRemodAdd", "1stFlrSF", "2ndFlrSF",
    "LowQualFinSF", "GrLivArea", "FullBath", "HalfBath", "BedroomAbvGr", "KitchenAbvGr", "TotRmsAbvGrd", "Fireplaces",
    "WoodDeckSF", "OpenPorchSF", "EnclosedPorch", "3SsnPorch", "ScreenPorch", "PoolArea", "MiscVal", "MoSold", "YrSold",
]  # fmt: skip

train, test = pd.read_csv("data/train.csv"), pd.read_csv("data/test.csv")
kept, held_out = train_test_split(train, test_size=0.2, random_state=SEED)
model = LinearRegression().fit(kept[FEATURES], kept["SalePrice"])
for name, part in (("training", kept), ("held-out", held_out)):
    print(
        f"mean absolute error, {name} rows: {mean_absolute_error(part['SalePrice'], model.predict(part[FEATURES])):.0f}"
    )

test["SalePrice"] = model.predict(test[FEATURES])
test[["Id", "SalePrice"]].to_csv("submission.csv", index=False)
