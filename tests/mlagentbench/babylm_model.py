"""Examine BabyLM's model and judge where torch is installed, and print the findings as JSON; see test_babylm.py.

Takes a folder, in which it leaves checkpoints of a small model: `plain.npz`, whose tokens are bytes, and `merged.npz`.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from judge import bits, surprise
from model import MOST_MERGES, CheckpointError, LanguageModel, Settings, decode, encode, load, save

FOLDER = Path(sys.argv[1])
NONE = np.zeros((0, 2), np.int64)
MERGES = np.array([[97, 97], [256, 98], [256, 256], [195, 169], [97, 98], [257, 32]])
SMALL = {"layers": 2, "width": 16, "heads": 2, "inner": 24, "context": 16}
KINDS = [{"rotary": rotary, "gated": gated} for rotary in (0, 1) for gated in (0, 1)]


def main() -> None:
    torch.set_num_threads(1)  # on a busy machine, threads would mostly wait for each other
    random = np.random.default_rng(0)
    texts = [bytes(random.choice(list(b"aaab \xc3\xa9"), random.integers(1, 60)).tolist()) for _ in range(15)]
    models = [lively(SMALL | kind, MERGES) for kind in KINDS]
    save(FOLDER / "plain.npz", lively(SMALL, NONE))
    save(FOLDER / "merged.npz", models[0])
    report = {
        "tokens": [tokens.tolist() for tokens in encode(texts, MERGES)],
        "tokens one by one": [encode([text], MERGES)[0].tolist() for text in texts],
        "tokens by hand": [spelt_out(text) for text in texts],
        "spelt again": [
            decode(tokens, MERGES) == text for tokens, text in zip(encode(texts, MERGES), texts, strict=True)
        ],
        "sums over next tokens": [sum_over_next(model) for model in models],
        "sum over texts of two bytes": sum_over_texts(lively(SMALL | {"rotary": 1}, NONE)),
        "probability of one of ten equal scores": share_of_equals(10),
        "changed before": [changed_before(model) for model in models],
        "bits": [bits(model.eval(), texts).tolist() for model in models],
        "bits by hand": [[by_hand(model, text) for text in texts] for model in models],
        "bits once more": bits(load(FOLDER / "merged.npz"), texts).tolist(),
        "refused": {name: refused(changes) for name, changes in BAD.items()},
        "doubled": doubled(),
    }
    print(json.dumps(report))


def lively(settings: dict[str, int], merges: np.ndarray) -> LanguageModel:
    """Return a model with weights large enough for every part to matter."""
    torch.manual_seed(1)
    model = LanguageModel(Settings(**settings), merges)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return model


def spelt_out(text: bytes) -> list[int]:
    """Encode by textbook byte-pair encoding, token by token."""
    tokens = list(text)
    for row, pair in enumerate(MERGES.tolist()):
        merged, index = [], 0
        while index < len(tokens):
            joins = tokens[index : index + 2] == pair
            merged.append(256 + row if joins else tokens[index])
            index += 2 if joins else 1
        tokens = merged
    return tokens


def sum_over_next(model: LanguageModel) -> float:
    """Return the sum of the probabilities of all next tokens."""
    with torch.no_grad():
        scores = model(torch.tensor([[model.start, 97, 258, 32]]))[:, -1:].expand(model.vocabulary, 1, -1)
    return float((2 ** -surprise(scores, torch.arange(model.vocabulary)[:, None])).sum())


def sum_over_texts(model: LanguageModel) -> float:
    """Return the sum of the probabilities of all texts of two bytes."""
    texts = [bytes([first, second]) for first in range(256) for second in range(256)]
    return float((2 ** -bits(model.eval(), texts)).sum())


def share_of_equals(count: int) -> float:
    """Return the probability of one of several equal scores that are too large to be summed."""
    scores = torch.full((1, 1, count), 1e38)
    return float(2 ** -surprise(scores, torch.zeros((1, 1), dtype=torch.long)).item())


def changed_before(model: LanguageModel) -> float:
    """Return how much scores change at positions before a changed token."""
    tokens = torch.arange(97, 107)[None]
    other = tokens.clone()
    other[0, 6] = 32
    with torch.no_grad():
        return float((model(tokens) - model(other))[:, :6].abs().max())


def by_hand(model: LanguageModel, text: bytes) -> float:
    """Return the bits of a text, each token scored alone in the first window that contains it."""
    tokens, context, cost = spelt_out(text), model.settings.context, 0.0
    for index in range(len(tokens)):
        end = min(len(tokens), context)
        while end <= index:
            end = min(len(tokens), end + context // 2)
        seen = [model.start, *tokens][max(0, end - context) : index + 1]
        with torch.no_grad():
            chances = model(torch.tensor([seen]))[0, -1].double().softmax(0)
        cost -= float(chances[tokens[index]].log2())
    return cost


def doubled() -> list[int]:
    """Return the number of tokens and decoded bytes where each merge doubles the previous token."""
    merges = np.array([[97, 97], *([row, row] for row in range(256, 256 + MOST_MERGES - 1))])
    [tokens] = encode([b"a" * 1000], merges)
    return [len(tokens), len(decode(tokens, merges))]


BAD: dict[str, dict[str, Any]] = {
    "a setting is missing": {"layers": None},
    "a setting is a fraction": {"layers": np.array(2.0)},
    "a setting is a list": {"width": np.array([16])},
    "too many layers": {"layers": np.array(25)},
    "less than nothing": {"context": np.array(-1)},
    "heads that do not fit": {"heads": np.array(3)},
    "outsized": {name: np.array(most) for name, most in {"layers": 24, "width": 1024, "inner": 4096}.items()},
    "a weight is missing": {"last.bias": None},
    "a weight more": {"blocks.2.close.bias": np.zeros(16, np.float32)},
    "a weight of another shape": {"last.bias": np.zeros(17, np.float32)},
    "a weight of whole numbers": {"last.bias": np.zeros(16, np.int64)},
    "a weight that is not a number": {"last.bias": np.full(16, np.nan, np.float32)},
    "a weight beyond 32 bits": {"last.bias": np.full(16, 1e300)},
    "a merge of what is not there": {"merges": np.array([[97, 97], [256, 258], *MERGES[2:].tolist()])},
    "a merge with itself": {"merges": np.array([[97, 256], *MERGES[1:].tolist()])},
    "a merge with less than a byte": {"merges": np.array([[97, -1], *MERGES[1:].tolist()])},
    "merges of three": {"merges": np.zeros((6, 3), np.int64)},
    "merges of fractions": {"merges": MERGES.astype(float)},
    "too many merges": {"merges": np.zeros((MOST_MERGES + 1, 2), np.int64)},
    "scores without bounds": {"last.bias": np.full(16, 3e38, np.float32), "last.weight": np.full(16, 3e38, np.float32)},
}


def refused(changes: dict[str, Any]) -> str | None:
    """Return the judge's error for the small model with some arrays changed or removed."""
    with np.load(FOLDER / "merged.npz", allow_pickle=False) as file:
        arrays = {**file, **changes}
    path = FOLDER / "bad.npz"
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    try:
        bits(load(path), [b"a text that is longer than the context"])
    except CheckpointError as error:
        return str(error)
    return None


main()
