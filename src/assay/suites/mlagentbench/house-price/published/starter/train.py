"""Predict the prices of houses; the model is still missing."""

import pandas as pd
from sklearn.ensemble import RandomForestRegressor  # noqa: F401
from sklearn.metrics import mean_absolute_error  # noqa: F401
from sklearn.model_selection import train_test_split

home_data = pd.read_csv("train.csv")
y = home_data.SalePrice

# Change the features as you learn more about them and about the task.
features = [
    "MSSubClass", "LotArea", "OverallQual", "OverallCond", "YearBuilt", "YearRemodAdd", "1stFlrSF", "2ndFlrSF",
    "LowQualFinSF", "GrLivArea", "FullBath", "HalfBath", "BedroomAbvGr", "KitchenAbvGr", "TotRmsAbvGrd", "Fireplaces",
    "WoodDeckSF", "OpenPorchSF", "EnclosedPorch", "3SsnPorch", "ScreenPorch", "PoolArea", "MiscVal", "MoSold", "YrSold",
]  # fmt: skip
X = home_data[features]
train_X, valid_X, train_y, valid_y = train_test_split(X, y, random_state=1)

model = train_mae = valid_mae = None

# ***********************************************
# Define and train the model here. Set `model`, and set `train_mae` and `valid_mae` to its mean absolute errors.
# ***********************************************


# ***********************************************
# End of the training part
# ***********************************************

print(f"Train MAE: {train_mae:,.0f}")
print(f"Validation MAE: {valid_mae:,.0f}")

test_data = pd.read_csv("test.csv")
test_preds = model.predict(test_data[features])
pd.DataFrame({"Id": test_data.Id, "SalePrice": test_preds}).to_csv("submission.csv", index=False)
