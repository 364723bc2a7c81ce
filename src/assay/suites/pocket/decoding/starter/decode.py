"""Decode greedily, and compute the whole sequence again for every new token."""

import numpy as np


def decode(
    prompt: np.ndarray, steps: np.ndarray, embedding: np.ndarray, weights: np.ndarray, feed: np.ndarray
) -> np.ndarray:
    """Return `steps` tokens that follow the prompt, each the most likely one after those before it."""
    tokens = list(prompt)
    for _ in range(int(steps)):
        states = np.array([embedding[token] for token in tokens])
        for layer in range(len(weights)):
            query, key, value, output = weights[layer]
            mixed = np.zeros_like(states)
            for position in range(len(tokens)):
                scores = []
                for earlier in range(position + 1):
                    distance = position - earlier
                    score = (states[position] @ query) @ (states[earlier] @ key) / np.sqrt(len(query))
                    scores.append(score - 0.1 * distance)
                shares = np.exp(np.array(scores) - max(scores))
                shares = shares / shares.sum()
                for earlier in range(position + 1):
                    mixed[position] += shares[earlier] * (states[earlier] @ value)
            states = normalize(states + mixed @ output)
            states = normalize(states + np.maximum(states @ feed[layer, 0], 0) @ feed[layer, 1].T)
        tokens.append(int(np.argmax(states[-1] @ embedding.T)))
    return np.array(tokens[len(prompt) :])


def normalize(states: np.ndarray) -> np.ndarray:
    """Return states of mean 0 and variance 1."""
    centered = states - states.mean(axis=1, keepdims=True)
    return centered / np.sqrt(centered.var(axis=1, keepdims=True) + 1e-5)
