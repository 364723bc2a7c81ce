"""Reference solutions, from the weakest to the strongest."""

import os
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMRegressor
from sklearn.decomposition import TruncatedSVD
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVR, LinearSVR
from sklearn.tree import DecisionTreeRegressor

SEED = int(os.environ.get("SEED", "0"))
YEARS = (1790, 2021)


def lengths(texts: Any) -> Any:
    return np.array([[len(text)] for text in texts], dtype=float)


def style(texts: Any) -> Any:
    marks = [",", ".", ";", "-", "#", "$", " I ", " we ", " our ", " the ", " of ", " which ", "'"]
    return np.array([[len(text), *(text.count(mark) for mark in marks)] for text in texts], dtype=float)


def words(**settings: Any) -> Any:
    return TfidfVectorizer(sublinear_tf=True, **settings)


def both() -> Any:
    return make_union(words(ngram_range=(1, 2), min_df=2), words(analyzer="char_wb", ngram_range=(2, 5), min_df=3))


class Blend:
    """The mean of models of words, characters and topics."""

    def fit(self, texts: Any, years: Any) -> "Blend":
        topics = make_pipeline(
            words(min_df=2), TruncatedSVD(150, random_state=SEED), StandardScaler(), SVR(C=60, gamma=0.004)
        )
        models = [
            make_pipeline(both(), Ridge(0.4)),
            make_pipeline(both(), LinearSVR(C=30, max_iter=3000, random_state=SEED)),
            topics,
        ]
        self.models = [model.fit(texts, years) for model in models]
        return self

    def predict(self, texts: Any) -> Any:
        return np.mean([model.predict(texts) for model in self.models], axis=0)


SOLUTIONS = {
    "mean": DummyRegressor(),
    "median": DummyRegressor(strategy="median"),
    "length": make_pipeline(FunctionTransformer(lengths), LinearRegression()),
    "tree-on-style": make_pipeline(FunctionTransformer(style), DecisionTreeRegressor(max_depth=4, random_state=SEED)),
    "style": make_pipeline(FunctionTransformer(style), StandardScaler(), Ridge(1.0)),
    "forest-on-style": make_pipeline(
        FunctionTransformer(style), ExtraTreesRegressor(200, min_samples_leaf=2, random_state=SEED)
    ),
    "hundred-words": make_pipeline(CountVectorizer(max_features=100), Ridge(1.0)),
    "neighbors": make_pipeline(words(min_df=2), KNeighborsRegressor(12, metric="cosine", weights="distance")),
    "five-hundred-words": make_pipeline(CountVectorizer(max_features=500), Ridge(30.0)),
    "boosting-on-words": make_pipeline(
        CountVectorizer(max_features=800, dtype=np.float32),
        LGBMRegressor(n_estimators=200, num_leaves=15, n_jobs=1, random_state=SEED, verbose=-1),
    ),
    "topics": make_pipeline(words(min_df=2), TruncatedSVD(100, random_state=SEED), Ridge(0.1)),
    "topics-and-kernel": make_pipeline(
        words(min_df=2), TruncatedSVD(150, random_state=SEED), StandardScaler(), SVR(C=60, gamma=0.004)
    ),
    "words": make_pipeline(words(min_df=2), Ridge(0.5)),
    "characters": make_pipeline(words(analyzer="char_wb", ngram_range=(2, 5), min_df=3), Ridge(0.4)),
    "words-and-characters": make_pipeline(both(), Ridge(0.4)),
    "blend": Blend(),
}


def write_submission(model: Any) -> None:
    train, test = pd.read_csv("data/train.csv"), pd.read_csv("data/test.csv")
    test["year"] = np.clip(model.fit(train["text"], train["year"]).predict(test["text"]), *YEARS)
    test[["passage", "year"]].to_csv("submission.csv", index=False)
