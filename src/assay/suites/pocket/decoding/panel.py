"""Reference solutions from slow to fast: the starter with one improvement after another."""

from pathlib import Path

NORMALIZE = """

def normalize(states):
    centered = states - states.mean(axis=-1, keepdims=True)
    return centered / np.sqrt(centered.var(axis=-1, keepdims=True) + 1e-5)
"""
HEAD = '''"""A reference solution."""

import numpy as np


def decode(prompt, steps, embedding, weights, feed):
'''
FEED = """            states = normalize(states + mixed @ output)
            states = normalize(states + np.maximum(states @ feed[layer, 0], 0) @ feed[layer, 1].T)
        tokens.append(int(np.argmax(states[-1] @ embedding.T)))
    return np.array(tokens[len(prompt) :])
"""
START = """    tokens = list(prompt)
    for _ in range(int(steps)):
        states = embedding[tokens]
        for layer in range(len(weights)):
            query, key, value, output = weights[layer]
"""


def whole(attention: str) -> str:
    """Return a solution that computes all positions again for each token, with this code for attention."""
    return HEAD + START + attention + FEED + NORMALIZE


def cached(before: str, attention: str, *, prefill: str = "", feed: str = "") -> str:
    """Return a solution that keeps keys and values, and computes only the newest position."""
    step = feed or (
        "            state = normalize(state + mixed @ output)\n"
        "            state = normalize(state + np.maximum(state @ feed[layer, 0], 0) @ feed[layer, 1].T)\n"
    )
    return (
        HEAD
        + before
        + "    tokens, total = list(prompt), len(prompt) + int(steps)\n"
        + prefill
        + f"    for position in range({'len(prompt)' if prefill else 0}, total - 1):\n"
        + "        state = embedding[tokens[position]]\n"
        + "        for layer in range(len(weights)):\n"
        + attention
        + step
        + "        if position >= len(prompt) - 1:\n"
        + "            tokens.append(int(np.argmax(embedding @ state)))\n"
        + "    return np.array(tokens[len(prompt) :])\n"
        + NORMALIZE
    )


CACHE = """    layers, width = len(weights), embedding.shape[1]
    keys = np.zeros((layers, len(prompt) + int(steps), width))
    values = np.zeros_like(keys)
    root = np.sqrt(width)
"""
FAST_FEED = """            state = center(state + mixed @ output)
            state = center(state + np.maximum(state @ first[layer], 0) @ second[layer])
"""
CENTER = """
    def center(state):
        state = state - state.sum() / width
        return state / np.sqrt(state @ state / width + 1e-5)

"""

SOLUTIONS = {
    "starter": HEAD
    + START
    + """            mixed = np.zeros_like(states)
            for position in range(len(tokens)):
                scores = []
                for earlier in range(position + 1):
                    score = (states[position] @ query) @ (states[earlier] @ key) / np.sqrt(len(query))
                    scores.append(score - 0.1 * (position - earlier))
                shares = np.exp(np.array(scores) - max(scores))
                shares = shares / shares.sum()
                for earlier in range(position + 1):
                    mixed[position] += shares[earlier] * (states[earlier] @ value)
"""
    + FEED
    + NORMALIZE,
    "values-once": whole("""            mixed = np.zeros_like(states)
            projected = states @ value
            for position in range(len(tokens)):
                scores = []
                for earlier in range(position + 1):
                    score = (states[position] @ query) @ (states[earlier] @ key) / np.sqrt(len(query))
                    scores.append(score - 0.1 * (position - earlier))
                shares = np.exp(np.array(scores) - max(scores))
                mixed[position] = (shares / shares.sum()) @ projected[: position + 1]
"""),
    "queries-once": whole("""            mixed = np.zeros_like(states)
            projected, queries = states @ value, states @ query
            for position in range(len(tokens)):
                scores = []
                for earlier in range(position + 1):
                    score = queries[position] @ (states[earlier] @ key) / np.sqrt(len(query))
                    scores.append(score - 0.1 * (position - earlier))
                shares = np.exp(np.array(scores) - max(scores))
                mixed[position] = (shares / shares.sum()) @ projected[: position + 1]
"""),
    "keys-once": whole("""            mixed = np.zeros_like(states)
            projected, queries, keys = states @ value, states @ query, states @ key
            for position in range(len(tokens)):
                scores = []
                for earlier in range(position + 1):
                    scores.append(queries[position] @ keys[earlier] / np.sqrt(len(query)) - 0.1 * (position - earlier))
                shares = np.exp(np.array(scores) - max(scores))
                mixed[position] = (shares / shares.sum()) @ projected[: position + 1]
"""),
    "scores-at-once": whole("""            mixed = np.zeros_like(states)
            projected, queries, keys = states @ value, states @ query, states @ key
            for position in range(len(tokens)):
                scores = keys[: position + 1] @ queries[position] / np.sqrt(len(query))
                scores = scores - 0.1 * (position - np.arange(position + 1))
                shares = np.exp(scores - scores.max())
                mixed[position] = (shares / shares.sum()) @ projected[: position + 1]
"""),
    "whole-matrix": whole("""            places = np.arange(len(tokens))
            distance = places[:, None] - places
            scores = (states @ query) @ (states @ key).T / np.sqrt(len(query)) - 0.1 * distance
            scores = np.where(distance < 0, -np.inf, scores)
            shares = np.exp(scores - scores.max(axis=1, keepdims=True))
            mixed = (shares / shares.sum(axis=1, keepdims=True)) @ (states @ value)
"""),
    "masked-once": HEAD
    + """    places = np.arange(len(prompt) + int(steps))
    distance = places[:, None] - places
    penalty = np.where(distance < 0, -np.inf, -0.1 * distance)
    weights = weights.copy()
    weights[:, 0] /= np.sqrt(weights.shape[2])
"""
    + START
    + """            count = len(tokens)
            scores = (states @ query) @ (states @ key).T + penalty[:count, :count]
            shares = np.exp(scores - scores.max(axis=1, keepdims=True))
            mixed = (shares / shares.sum(axis=1, keepdims=True)) @ (states @ value)
"""
    + FEED
    + NORMALIZE,
    "last-layer-once": HEAD
    + """    places = np.arange(len(prompt) + int(steps))
    distance = places[:, None] - places
    penalty = np.where(distance < 0, -np.inf, -0.1 * distance)
    root = np.sqrt(weights.shape[2])
"""
    + START
    + """            count, asked = len(tokens), slice(-1, None) if layer == len(weights) - 1 else slice(None)
            scores = (states[asked] @ query) @ (states @ key).T / root + penalty[:count, :count][asked]
            shares = np.exp(scores - scores.max(axis=1, keepdims=True))
            mixed = (shares / shares.sum(axis=1, keepdims=True)) @ (states @ value)
            states = states[asked]
"""
    + FEED
    + NORMALIZE,
    "cache-as-lists": cached(
        "    width = embedding.shape[1]\n    keys, values = [[] for _ in weights], [[] for _ in weights]\n",
        """            query, key, value, output = weights[layer]
            keys[layer].append(state @ key)
            values[layer].append(state @ value)
            scores = np.array(keys[layer]) @ (state @ query) / np.sqrt(width)
            scores = scores - 0.1 * (position - np.arange(position + 1))
            shares = np.exp(scores - scores.max())
            mixed = (shares / shares.sum()) @ np.array(values[layer])
""",
    ),
    "cache": cached(
        CACHE,
        """            query, key, value, output = weights[layer]
            keys[layer, position], values[layer, position] = state @ key, state @ value
            scores = keys[layer, : position + 1] @ (state @ query) / root
            scores = scores - 0.1 * (position - np.arange(position + 1))
            shares = np.exp(scores - scores.max())
            mixed = (shares / shares.sum()) @ values[layer, : position + 1]
""",
    ),
    "penalty-once": cached(
        CACHE + "    penalty = -0.1 * np.arange(keys.shape[1])[::-1]\n",
        """            query, key, value, output = weights[layer]
            keys[layer, position], values[layer, position] = state @ key, state @ value
            scores = keys[layer, : position + 1] @ (state @ query) / root + penalty[-position - 1 :]
            shares = np.exp(scores - scores.max())
            mixed = (shares / shares.sum()) @ values[layer, : position + 1]
""",
    ),
    "one-product": cached(
        CACHE
        + "    penalty = -0.1 * np.arange(keys.shape[1])[::-1]\n"
        + "    joint = np.concatenate([weights[:, 0] / root, weights[:, 1], weights[:, 2]], axis=2)\n",
        """            output, both = weights[layer, 3], state @ joint[layer]
            keys[layer, position], values[layer, position] = both[width : 2 * width], both[2 * width :]
            scores = keys[layer, : position + 1] @ both[:width] + penalty[-position - 1 :]
            shares = np.exp(scores - scores.max())
            mixed = (shares / shares.sum()) @ values[layer, : position + 1]
""",
    ),
    "short-norm": cached(
        CACHE
        + "    penalty = -0.1 * np.arange(keys.shape[1])[::-1]\n"
        + "    joint = np.concatenate([weights[:, 0] / root, weights[:, 1], weights[:, 2]], axis=2)\n"
        + "    first, second = feed[:, 0], np.ascontiguousarray(feed[:, 1].transpose(0, 2, 1))\n"
        + CENTER,
        """            output, both = weights[layer, 3], state @ joint[layer]
            keys[layer, position], values[layer, position] = both[width : 2 * width], both[2 * width :]
            scores = keys[layer, : position + 1] @ both[:width] + penalty[-position - 1 :]
            shares = np.exp(scores - scores.max())
            mixed = (shares / shares.sum()) @ values[layer, : position + 1]
""",
        feed=FAST_FEED,
    ),
    "output-merged": cached(
        CACHE
        + "    penalty = -0.1 * np.arange(keys.shape[1])[::-1]\n"
        + "    merged = weights[:, 2] @ weights[:, 3]\n"
        + "    joint = np.concatenate([weights[:, 0] / root, weights[:, 1], merged], axis=2)\n"
        + "    first, second = feed[:, 0], np.ascontiguousarray(feed[:, 1].transpose(0, 2, 1))\n"
        + CENTER,
        """            both = state @ joint[layer]
            keys[layer, position], values[layer, position] = both[width : 2 * width], both[2 * width :]
            scores = keys[layer, : position + 1] @ both[:width] + penalty[-position - 1 :]
            shares = np.exp(scores - scores.max())
            mixed = (shares @ values[layer, : position + 1]) / shares.sum()
""",
        feed="""            state = center(state + mixed)
            state = center(state + np.maximum(state @ first[layer], 0) @ second[layer])
""",
    ),
    "prompt-at-once": cached(
        CACHE
        + "    penalty = -0.1 * np.arange(keys.shape[1])[::-1]\n"
        + "    merged = weights[:, 2] @ weights[:, 3]\n"
        + "    joint = np.concatenate([weights[:, 0] / root, weights[:, 1], merged], axis=2)\n"
        + "    first, second = feed[:, 0], np.ascontiguousarray(feed[:, 1].transpose(0, 2, 1))\n"
        + CENTER,
        """            both = state @ joint[layer]
            keys[layer, position], values[layer, position] = both[width : 2 * width], both[2 * width :]
            scores = keys[layer, : position + 1] @ both[:width] + penalty[-position - 1 :]
            shares = np.exp(scores - scores.max())
            mixed = (shares @ values[layer, : position + 1]) / shares.sum()
""",
        prefill="""    places = np.arange(len(prompt))
    distance = places[:, None] - places
    blocked = np.where(distance < 0, -np.inf, -0.1 * distance)
    states = embedding[prompt]
    for layer in range(layers):
        both = states @ joint[layer]
        keys[layer, : len(prompt)], values[layer, : len(prompt)] = both[:, width : 2 * width], both[:, 2 * width :]
        scores = both[:, :width] @ both[:, width : 2 * width].T + blocked
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        states = normalize(states + (shares / shares.sum(axis=1, keepdims=True)) @ both[:, 2 * width :])
        states = normalize(states + np.maximum(states @ first[layer], 0) @ second[layer])
    tokens.append(int(np.argmax(embedding @ states[-1])))
""",
        feed="""            state = center(state + mixed)
            state = center(state + np.maximum(state @ first[layer], 0) @ second[layer])
""",
    ),
}


def write_submission(code: str) -> None:
    Path("decode.py").write_text(code)
