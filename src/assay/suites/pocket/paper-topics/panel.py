"""Reference solutions, from the weakest to the strongest."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier

SEED = int(os.environ.get("SEED", "0"))
TOPICS = 7
Labels = NDArray[np.int64]


class Graph:
    """The words of all papers, the normalized citations, and the known topics."""

    def __init__(self) -> None:
        papers = pd.read_csv("data/papers.csv", index_col="paper")["words"].fillna("")
        self.words = CountVectorizer(token_pattern=r"\d+").fit_transform(papers).astype(float)
        pairs = pd.read_csv("data/citations.csv")
        count = len(papers)
        links = sparse.coo_array((np.ones(len(pairs)), (pairs["paper"], pairs["other"])), shape=(count, count))
        self.links = (links + links.T).tocsr()
        loops = self.links + sparse.eye_array(count)
        scale = sparse.diags_array(1 / np.sqrt(np.asarray(loops.sum(axis=0)).ravel()))
        self.spread = (scale @ loops @ scale).tocsr()
        train = pd.read_csv("data/train.csv")
        self.known, self.topics = train["paper"].to_numpy(), train["topic"].to_numpy()
        self.unseen = pd.read_csv("data/test.csv")["paper"].to_numpy()

    def classify(self, model: Any, features: Any) -> Labels:
        return model.fit(features[self.known], self.topics).predict(features[self.unseen])


Solution = Callable[[Graph], Labels]


def write_submission(solution: Solution) -> None:
    graph = Graph()
    topics = np.asarray(solution(graph), dtype=int)
    pd.DataFrame({"paper": graph.unseen, "topic": topics}).to_csv("submission.csv", index=False)


def first_topic(graph: Graph) -> Labels:
    return np.zeros(len(graph.unseen), dtype=int)


def number_of_citations(graph: Graph) -> Labels:
    return graph.classify(
        RandomForestClassifier(50, random_state=SEED), np.asarray(graph.links.sum(axis=1)).reshape(-1, 1)
    )


def neighbors_by_words(graph: Graph) -> Labels:
    return graph.classify(KNeighborsClassifier(3), graph.words.toarray())


def forest_on_words(graph: Graph) -> Labels:
    return graph.classify(RandomForestClassifier(300, random_state=SEED), graph.words)


def logistic_regression_on_words(graph: Graph) -> Labels:
    return graph.classify(LogisticRegression(max_iter=500), graph.words)


def naive_bayes_on_words(graph: Graph) -> Labels:
    return graph.classify(MultinomialNB(alpha=0.5), graph.words)


def topics_of_citations(graph: Graph) -> Labels:
    shares = TruncatedSVD(40, random_state=SEED).fit_transform(graph.spread)
    return graph.classify(LogisticRegression(C=100, max_iter=1000), shares)


def vote_of_cited_papers(graph: Graph) -> Labels:
    start = one_hot(graph)
    votes = (graph.links @ start)[graph.unseen]
    return np.where(votes.sum(axis=1) > 0, votes.argmax(axis=1), naive_bayes_on_words(graph))


def spread_of_labels(graph: Graph) -> Labels:
    return propagate(graph, one_hot(graph), 30)[graph.unseen].argmax(axis=1)


def words_of_cited_papers(graph: Graph) -> Labels:
    return graph.classify(LogisticRegression(C=10, max_iter=500), graph.spread @ graph.words)


def smoothed_naive_bayes(graph: Graph) -> Labels:
    model = MultinomialNB(alpha=0.5).fit(graph.words[graph.known], graph.topics)
    shares = np.sqrt(model.predict_proba(graph.words))
    return propagate(graph, shares, 10)[graph.unseen].argmax(axis=1)


def words_two_steps_away(graph: Graph) -> Labels:
    return graph.classify(LogisticRegression(C=30, max_iter=1000), graph.spread @ (graph.spread @ graph.words))


def weighted_words_two_steps_away(graph: Graph) -> Labels:
    words = TfidfTransformer(sublinear_tf=True).fit_transform(graph.words)
    return graph.classify(LogisticRegression(C=300, max_iter=1000), graph.spread @ (graph.spread @ words))


def words_three_steps_away_and_smoothed(graph: Graph) -> Labels:
    return smooth(graph, deep_shares(graph, 3))


def means_of_depths(graph: Graph) -> Labels:
    return smooth(graph, np.mean([deep_shares(graph, depth) for depth in (2, 3, 4, 5)], axis=0))


def second_round(graph: Graph) -> Labels:
    """Learn again from the papers whose topic is nearly certain."""
    shares = propagate(graph, np.mean([deep_shares(graph, depth) for depth in (2, 3, 4, 5)], axis=0), 10)
    shares = shares / shares.sum(axis=1, keepdims=True)
    sure = np.argsort(-shares.max(axis=1))[: len(shares) // 2]
    known = np.r_[graph.known, np.setdiff1d(sure, graph.known)]
    topics = np.r_[graph.topics, shares.argmax(axis=1)[np.setdiff1d(sure, graph.known)]]
    features = spread_words(graph, 3)
    again = LogisticRegression(C=10, max_iter=1000).fit(features[known], topics).predict_proba(features)
    return smooth(graph, (again + shares) / 2)


def one_hot(graph: Graph) -> Any:
    start = np.zeros((len(graph.words.indptr) - 1, TOPICS))
    start[graph.known, graph.topics] = 1
    return start


def propagate(graph: Graph, shares: Any, rounds: int) -> Any:
    start = one_hot(graph)
    base = shares.copy()
    for _ in range(rounds):
        shares = 0.8 * (graph.spread @ shares) + 0.2 * base
        shares[graph.known] = start[graph.known]
    return shares


def spread_words(graph: Graph, depth: int) -> Any:
    features = TfidfTransformer(sublinear_tf=True).fit_transform(graph.words)
    for _ in range(depth):
        features = graph.spread @ features
    return features


def deep_shares(graph: Graph, depth: int) -> Any:
    features = spread_words(graph, depth)
    model = LogisticRegression(C=300, max_iter=1000).fit(features[graph.known], graph.topics)
    return model.predict_proba(features)


def smooth(graph: Graph, shares: Any) -> Labels:
    return propagate(graph, shares, 10)[graph.unseen].argmax(axis=1)


SOLUTIONS: list[Solution] = [
    first_topic,
    number_of_citations,
    neighbors_by_words,
    forest_on_words,
    logistic_regression_on_words,
    naive_bayes_on_words,
    topics_of_citations,
    vote_of_cited_papers,
    spread_of_labels,
    words_of_cited_papers,
    smoothed_naive_bayes,
    words_two_steps_away,
    weighted_words_two_steps_away,
    words_three_steps_away_and_smoothed,
    means_of_depths,
    second_round,
]
