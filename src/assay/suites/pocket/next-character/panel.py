"""Reference solutions, from the weakest to the strongest: models of character sequences."""

import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

SEED = int(os.environ.get("SEED", "0"))
SYMBOLS = " abcdefghijklmnopqrstuvwxyz.,*"
SIZE = len(SYMBOLS)
Values = NDArray[np.float64]
Solution = Callable[[str, list[str]], Values]


def write_submission(solution: Solution) -> None:
    text = Path("data/train.txt").read_text()
    test, columns = pd.read_csv("data/test.csv"), pd.read_csv("data/sample_submission.csv", nrows=0).columns[1:]
    shares = solution(text, test["context"].tolist())
    shares = shares / shares.sum(axis=1, keepdims=True)
    pd.concat([test["context_id"], pd.DataFrame(shares, columns=columns)], axis=1).to_csv("submission.csv", index=False)


def uniform(text: str, contexts: list[str]) -> Values:
    return np.ones((len(contexts), SIZE))


def letters_only(text: str, contexts: list[str]) -> Values:
    return np.tile([1.0] * 27 + [0.1] * 3, (len(contexts), 1))


def frequencies(text: str, contexts: list[str]) -> Values:
    return np.tile([text.count(symbol) + 1.0 for symbol in SYMBOLS], (len(contexts), 1))


def after_one(text: str, contexts: list[str]) -> Values:
    return fixed_order(text, contexts, 1)


def after_two_of_a_little(text: str, contexts: list[str]) -> Values:
    return fixed_order(text[:60_000], contexts, 2)


def after_two(text: str, contexts: list[str]) -> Values:
    return fixed_order(text, contexts, 2)


def after_three(text: str, contexts: list[str]) -> Values:
    return fixed_order(text, contexts, 3)


def interpolated_three(text: str, contexts: list[str]) -> Values:
    return interpolate(text, contexts, 3)


def interpolated_four(text: str, contexts: list[str]) -> Values:
    return interpolate(text, contexts, 4)


def interpolated_five(text: str, contexts: list[str]) -> Values:
    return interpolate(text, contexts, 5)


def interpolated_seven(text: str, contexts: list[str]) -> Values:
    return interpolate(text, contexts, 7)


def discounted_five(text: str, contexts: list[str]) -> Values:
    return discount(text, contexts, 5, 0.7)


def discounted_seven(text: str, contexts: list[str]) -> Values:
    return discount(text, contexts, 7, 0.75)


def discounted_nine(text: str, contexts: list[str]) -> Values:
    return discount(text, contexts, 9, 0.75)


def mixture_of_orders(text: str, contexts: list[str]) -> Values:
    parts = [discount(text, contexts, order, 0.75) for order in (4, 6, 9)]
    return np.exp(np.mean(np.log(parts), axis=0))


def characters_and_words(text: str, contexts: list[str]) -> Values:
    return 0.6 * mixture_of_orders(text, contexts) + 0.4 * complete_words(text, contexts)


def fixed_order(text: str, contexts: list[str], order: int) -> Values:
    counts = count(text, order)
    return np.array([counts.get(context[-order:], np.zeros(SIZE)) + 0.1 for context in contexts])


def interpolate(text: str, contexts: list[str], order: int) -> Values:
    """Mix each order with the lower ones, by how many different characters were seen (Witten and Bell)."""
    tables = [count(text, length) for length in range(order + 1)]
    return np.array([mix(tables, context) for context in contexts])


def mix(tables: list[dict[str, Values]], context: str) -> Values:
    share = np.full(SIZE, 1 / SIZE)
    for order, table in enumerate(tables):
        seen = table.get(context[len(context) - order :])
        if seen is None:
            break
        kinds = np.count_nonzero(seen)
        share = (seen + kinds * share) / (seen.sum() + kinds)
    return share


def discount(text: str, contexts: list[str], order: int, amount: float) -> Values:
    """Subtract the same amount from every count and give it to the lower orders, which count kinds (Kneser and Ney)."""
    highest = count(text, order)
    tables = [kinds_before(text, length) for length in range(order)] + [highest]
    rows = []
    for context in contexts:
        share = np.full(SIZE, 1 / SIZE)
        for length, table in enumerate(tables):
            seen = table.get(context[len(context) - length :])
            if seen is None:
                break
            total = seen.sum()
            share = (np.maximum(seen - amount, 0) + amount * np.count_nonzero(seen) * share) / total
        rows.append(share)
    return np.array(rows)


def count(text: str, order: int) -> dict[str, Values]:
    counts: dict[str, Values] = defaultdict(lambda: np.zeros(SIZE))
    codes = {symbol: code for code, symbol in enumerate(SYMBOLS)}
    flat = text.replace("\n", " ")
    for end in range(order, len(flat)):
        counts[flat[end - order : end]][codes[flat[end]]] += 1
    return dict(counts)


def kinds_before(text: str, order: int) -> dict[str, Values]:
    """Return how many different characters precede each sequence, by its beginning and its last character."""
    flat = text.replace("\n", " ")
    codes = {symbol: code for code, symbol in enumerate(SYMBOLS)}
    counts: dict[str, Values] = defaultdict(lambda: np.zeros(SIZE))
    for piece in {flat[end - order - 1 : end + 1] for end in range(order + 1, len(flat))}:
        counts[piece[1:-1]][codes[piece[-1]]] += 1
    return dict(counts)


def complete_words(text: str, contexts: list[str]) -> Values:
    """Complete the present word by the words of the text that begin so, each as often as it occurs."""
    words = text.replace("\n", " ").split(" ")
    counts: dict[str, Values] = defaultdict(lambda: np.zeros(SIZE))
    for word in words:
        for end, symbol in enumerate(word + " "):
            counts[word[:end]][SYMBOLS.index(symbol)] += 1
    fallback = interpolate(text, contexts, 4)
    rows = []
    for context, lower in zip(contexts, fallback, strict=True):
        seen = counts.get(context.rsplit(" ", 1)[-1], np.zeros(SIZE))
        rows.append((seen + 5 * lower) / (seen.sum() + 5))
    return np.array(rows)


SOLUTIONS: list[Solution] = [
    uniform,
    letters_only,
    frequencies,
    after_one,
    after_two_of_a_little,
    after_two,
    after_three,
    interpolated_three,
    interpolated_four,
    interpolated_seven,
    interpolated_five,
    discounted_five,
    discounted_nine,
    discounted_seven,
    mixture_of_orders,
    characters_and_words,
]
