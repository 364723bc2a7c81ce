"""Reference solutions, from the weakest to the strongest."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

SEED = int(os.environ.get("SEED", "0"))
SPENDING = ["RoomService", "FoodCourt", "ShoppingMall", "Spa", "VRDeck"]
NUMBERS = ["Age", *SPENDING]
WORDS = ["HomePlanet", "CryoSleep", "Destination", "VIP"]
Answers = NDArray[Any]
Solution = Callable[[pd.DataFrame, Answers, pd.DataFrame], Answers]


def write_submission(solution: Solution) -> None:
    train, test = (pd.read_csv(f"data/{part}.csv") for part in ("train", "test"))
    transported = train["Transported"].to_numpy()
    test["Transported"] = solution(train.drop(columns="Transported"), transported, test) >= 0.5
    test[["PassengerId", "Transported"]].to_csv("submission.csv", index=False)


def everybody(x: pd.DataFrame, y: Answers, unseen: pd.DataFrame) -> Answers:
    return np.ones(len(unseen))


def age(x: pd.DataFrame, y: Answers, unseen: pd.DataFrame) -> Answers:
    return predict_chance(DecisionTreeClassifier(max_depth=3, random_state=SEED), x, y, unseen, ["Age"], [])


def destination(x: pd.DataFrame, y: Answers, unseen: pd.DataFrame) -> Answers:
    return predict_rate(x, y, unseen, "Destination")


def home_planet(x: pd.DataFrame, y: Answers, unseen: pd.DataFrame) -> Answers:
    return predict_rate(x, y, unseen, "HomePlanet")


def asleep(x: pd.DataFrame, y: Answers, unseen: pd.DataFrame) -> Answers:
    return predict_rate(x, y, unseen, "CryoSleep")


def spent_nothing(x: pd.DataFrame, y: Answers, unseen: pd.DataFrame) -> Answers:
    return np.asarray(unseen[SPENDING].sum(axis=1) == 0, dtype=float)


def decision_tree(x: pd.DataFrame, y: Answers, unseen: pd.DataFrame) -> Answers:
    return predict_chance(DecisionTreeClassifier(random_state=SEED), x, y, unseen, NUMBERS, WORDS)


def naive_bayes(x: pd.DataFrame, y: Answers, unseen: pd.DataFrame) -> Answers:
    return predict_chance(GaussianNB(), x, y, unseen, NUMBERS, WORDS)


def shallow_tree(x: pd.DataFrame, y: Answers, unseen: pd.DataFrame) -> Answers:
    return predict_chance(DecisionTreeClassifier(max_depth=6, random_state=SEED), x, y, unseen, NUMBERS, WORDS)


def nearest_neighbours(x: pd.DataFrame, y: Answers, unseen: pd.DataFrame) -> Answers:
    return predict_chance(KNeighborsClassifier(25), x, y, unseen, NUMBERS, WORDS)


def logistic_regression(x: pd.DataFrame, y: Answers, unseen: pd.DataFrame) -> Answers:
    return predict_chance(LogisticRegression(max_iter=1000), x, y, unseen, NUMBERS, WORDS)


def random_forest(x: pd.DataFrame, y: Answers, unseen: pd.DataFrame) -> Answers:
    return predict_chance(
        RandomForestClassifier(300, min_samples_leaf=3, random_state=SEED), x, y, unseen, NUMBERS, WORDS
    )


def boosted_trees(x: pd.DataFrame, y: Answers, unseen: pd.DataFrame) -> Answers:
    return predict_chance(LGBMClassifier(random_state=SEED, n_jobs=1, verbose=-1), x, y, unseen, NUMBERS, WORDS)


def cabins_and_groups(x: pd.DataFrame, y: Answers, unseen: pd.DataFrame) -> Answers:
    return predict_with_features(LGBMClassifier(random_state=SEED, n_jobs=1, verbose=-1), x, y, unseen)


def slow_boosted_trees(x: pd.DataFrame, y: Answers, unseen: pd.DataFrame) -> Answers:
    return predict_with_features(boosting(SEED), x, y, unseen)


def blend(x: pd.DataFrame, y: Answers, unseen: pd.DataFrame) -> Answers:
    models = [
        *(boosting(SEED + number) for number in range(5)),
        HistGradientBoostingClassifier(learning_rate=0.04, max_iter=200, max_leaf_nodes=12, random_state=SEED),
        ExtraTreesClassifier(400, min_samples_leaf=3, max_features=0.5, random_state=SEED),
    ]
    return np.mean([predict_with_features(model, x, y, unseen) for model in models], axis=0)


def predict_rate(x: pd.DataFrame, y: Answers, unseen: pd.DataFrame, column: str) -> Answers:
    """Return the share of transported passengers among those with the same value."""
    shares = pd.Series(y).groupby(x[column].astype(str).to_numpy()).mean()
    return unseen[column].astype(str).map(shares).fillna(0.5).to_numpy()


def predict_chance(
    model: Any, x: pd.DataFrame, y: Answers, unseen: pd.DataFrame, numbers: list[str], words: list[str]
) -> Answers:
    """Return the probabilities of a model on imputed, scaled and encoded columns."""
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), words),
    )
    words_as_text = [part.assign(**{name: part[name].astype(str) for name in words}) for part in (x, unseen)]
    return make_pipeline(columns, model).fit(words_as_text[0], y).predict_proba(words_as_text[1])[:, 1]


def predict_with_features(model: Any, x: pd.DataFrame, y: Answers, unseen: pd.DataFrame) -> Answers:
    features = add_features(pd.concat([x, unseen]))
    numbers = list(map(str, features.select_dtypes("number")))
    words = [name for name in map(str, features) if name not in numbers]
    return predict_chance(model, features[: len(x)], y, features[len(x) :], numbers, words)


def boosting(seed: int) -> LGBMClassifier:
    return LGBMClassifier(
        n_estimators=400, learning_rate=0.02, num_leaves=12, min_child_samples=25, subsample=0.7, subsample_freq=1,
        colsample_bytree=0.3, reg_lambda=3, random_state=seed, n_jobs=1, verbose=-1,
    )  # fmt: skip


def add_features(both: pd.DataFrame) -> pd.DataFrame:
    """Return features of cabin, group, name and spending over training and test rows together, without labels."""
    features = both[[*NUMBERS, *WORDS]].copy()
    group, cabin = both["PassengerId"].str[:4], both["Cabin"].str.split("/", expand=True)
    surname = both["Name"].str.split().str[-1]
    features["Deck"], features["Side"] = cabin[0], cabin[2]
    features["CabinNumber"] = pd.to_numeric(cabin[1])
    features["CabinRegion"] = features["CabinNumber"] // 300
    features["GroupSize"] = group.map(group.value_counts())
    features["FamilySize"] = surname.map(surname.value_counts())
    features["Alone"] = features["GroupSize"].eq(1).astype(int)
    features["Spent"] = both[SPENDING].sum(axis=1)
    features["SpentNothing"] = features["Spent"].eq(0).astype(int)
    features["Luxury"] = both[["RoomService", "Spa", "VRDeck"]].sum(axis=1)
    features["Basic"] = both[["FoodCourt", "ShoppingMall"]].sum(axis=1)
    features["GroupSpent"] = features["Spent"].groupby(group).transform("sum")
    features["GroupAge"] = both["Age"].groupby(group).transform("mean")
    for name in (*SPENDING, "Spent", "Luxury", "Basic", "GroupSpent"):
        features[name] = np.log1p(features[name])
    for name in ("HomePlanet", "Deck", "Side", "Destination"):
        features[name] = features[name].fillna(features[name].groupby(group).transform("first"))
    # Passengers in cryosleep spend nothing, so spending replaces missing values.
    features["CryoSleep"] = both["CryoSleep"].astype(object).fillna(features["Spent"].eq(0)).astype(str)
    return features


SOLUTIONS: list[Solution] = [
    everybody,
    age,
    destination,
    home_planet,
    asleep,
    spent_nothing,
    decision_tree,
    naive_bayes,
    shallow_tree,
    nearest_neighbours,
    logistic_regression,
    random_forest,
    boosted_trees,
    cabins_and_groups,
    slow_boosted_trees,
    blend,
]
