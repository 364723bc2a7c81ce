"""Predict which passengers were transported; the model is still missing."""

import pandas as pd
from sklearn.linear_model import LogisticRegression  # noqa: F401


def create_new_dataframe(data: pd.DataFrame, column_names: list[str]) -> pd.DataFrame:
    """Return the data with exactly these columns; those that it lacks are 0."""
    return data.reindex(columns=column_names, fill_value=0)


df = pd.read_csv("train.csv")
num_examples = len(df)
df = df.sample(frac=1, random_state=1)
train_data = df[: int(0.8 * num_examples)].copy()
val_data = df[int(0.8 * num_examples) + 1 :].copy()

for part in (train_data, val_data):
    part[["Deck", "Cabin_num", "Side"]] = part["Cabin"].str.split("/", expand=True)
train_data = train_data.drop("Cabin", axis=1)
val_data = val_data.drop("Cabin", axis=1)

TargetY = train_data["Transported"]
TargetY_test = val_data["Transported"]

# One column for each value of these features. Look at the other columns too: some may tell more.
selectColumns = ["HomePlanet", "CryoSleep", "Destination", "VIP", "Deck", "Side"]
ResourceX = pd.get_dummies(train_data[selectColumns])
ResourceX_test = pd.get_dummies(val_data[selectColumns])

model = train_accuracy = val_accuracy = None

# ***********************************************
# Define and train the model here. Set `model`, and set `train_accuracy` and `val_accuracy` to its accuracies.
# ***********************************************


# ***********************************************
# End of the training part
# ***********************************************

print(f"Train Accuracy: {train_accuracy}")
print(f"Validation Accuracy: {val_accuracy}")

test_data = pd.read_csv("test.csv")
test_data[["Deck", "Cabin_num", "Side"]] = test_data["Cabin"].str.split("/", expand=True)
test_data = test_data.drop("Cabin", axis=1)

test_X = pd.get_dummies(test_data[selectColumns])
test_X.insert(loc=17, column="Deck_T", value=0)  # no test passenger has a cabin on this deck

test_preds = model.predict(test_X)
pd.DataFrame({"PassengerId": test_data.PassengerId, "Transported": test_preds}).to_csv("submission.csv", index=False)
