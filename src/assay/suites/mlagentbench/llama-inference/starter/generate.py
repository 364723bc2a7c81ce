"""Let a small LLaMA-like transformer continue texts, token by token, reading everything from the start for each."""

import numpy as np


def generate(
    prompts: np.ndarray,
    count: np.ndarray,
    heads: np.ndarray,
    embedding: np.ndarray,
    attention: np.ndarray,
    gated: np.ndarray,
    scales: np.ndarray,
    head: np.ndarray,
) -> np.ndarray:
    """Return the `count` tokens that the model finds most likely after each prompt, one after the other."""
    tokens = prompts
    for _ in range(int(count)):
        scores = forward(tokens, int(heads), embedding, attention, gated, scales, head)
        tokens = np.concatenate([tokens, scores[:, -1].argmax(axis=1)[:, None]], axis=1)
    return tokens[:, prompts.shape[1] :]


def forward(
    tokens: np.ndarray,
    heads: int,
    embedding: np.ndarray,
    attention: np.ndarray,
    gated: np.ndarray,
    scales: np.ndarray,
    head: np.ndarray,
) -> np.ndarray:
    """The scores of every token of the vocabulary after each place of each text."""
    states = embedding[tokens]
    for layer in range(len(attention)):
        states = states + attend(normalized(states, scales[2 * layer]), attention[layer], heads)
        gate, up, down = gated[layer]
        inner = normalized(states, scales[2 * layer + 1])
        opened = inner @ gate
        states = states + (opened / (1 + np.exp(-opened)) * (inner @ up)) @ down.T
    return normalized(states, scales[-1]) @ head


def attend(states: np.ndarray, weights: np.ndarray, heads: int) -> np.ndarray:
    """What each place gathers from itself and the places before it."""
    batch, length, width = states.shape
    query, key, value = (split(states @ weights[part], heads) for part in range(3))
    query, key = turned(query), turned(key)
    likeness = query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(width // heads))
    likeness[:, :, ~np.tri(length, dtype=bool)] = -np.inf
    shares = np.exp(likeness - likeness.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    return (shares @ value).transpose(0, 2, 1, 3).reshape(batch, length, width) @ weights[3]


def split(states: np.ndarray, heads: int) -> np.ndarray:
    """States as batch × heads × places × width of a head."""
    batch, length, width = states.shape
    return states.reshape(batch, length, heads, width // heads).transpose(0, 2, 1, 3)


def turned(states: np.ndarray) -> np.ndarray:
    """Turn pairs of values, one of each half, by an angle that grows with the place."""
    length, size = states.shape[-2:]
    half = size // 2
    angles = np.arange(length)[:, None] / 10000 ** (np.arange(half) / half)
    cosine, sine = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    first, second = states[..., :half], states[..., half:]
    return np.concatenate([first * cosine - second * sine, first * sine + second * cosine], axis=-1)


def normalized(states: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Divide by the root of the mean square, and scale."""
    return states / np.sqrt((states * states).mean(axis=-1, keepdims=True) + np.float32(1e-6)) * scale
