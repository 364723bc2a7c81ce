"""Reference solutions from slow to fast: the part of `generate.py` that differs."""

from pathlib import Path

HEAD = '''"""A reference solution."""

import numpy as np


def generate(prompts, count, heads, embedding, attention, gated, scales, head):
    return solve(prompts, int(count), int(heads), embedding, attention, gated, scales, head)


def normalized(states, scale):
    return states / np.sqrt((states * states).mean(axis=-1, keepdims=True) + np.float32(1e-6)) * scale


def angles(length, half):
    turns = np.arange(length)[:, None] / 10000 ** (np.arange(half) / half)
    return np.cos(turns).astype(np.float32), np.sin(turns).astype(np.float32)


def turned(states, cosine, sine):
    half = states.shape[-1] // 2
    first, second = states[..., :half], states[..., half:]
    return np.concatenate([first * cosine - second * sine, first * sine + second * cosine], axis=-1)


def softmax(likeness):
    shares = np.exp(likeness - likeness.max(axis=-1, keepdims=True))
    return shares / shares.sum(axis=-1, keepdims=True)
'''

CACHED = """

def continued(prompts, count, heads, embedding, attention, gated, scales, head):
    (batch, length), (layers, _, width, _) = prompts.shape, attention.shape
    size = width // heads
    keys, values = np.zeros((2, layers, batch, heads, length + count, size), np.float32)
    cosine, sine = angles(length + count, size // 2)
    output, new, begin = np.empty((batch, count), np.int64), prompts, 0
    for number in range(count):
        end = begin + new.shape[1]
        hidden = np.arange(end) > np.arange(begin, end)[:, None]
        states = embedding[new]
        for layer in range(layers):
            inner = normalized(states, scales[2 * layer])
            parts = [(inner @ part).reshape(batch, -1, heads, size).swapaxes(1, 2) for part in attention[layer, :3]]
            keys[layer, :, :, begin:end] = turned(parts[1], cosine[begin:end], sine[begin:end])
            values[layer, :, :, begin:end] = parts[2]
            query = turned(parts[0], cosine[begin:end], sine[begin:end]) / np.float32(np.sqrt(size))
            likeness = query @ keys[layer, :, :, :end].swapaxes(2, 3)
            likeness[:, :, hidden] = -np.inf
            gathered = softmax(likeness) @ values[layer, :, :, :end]
            states = states + gathered.swapaxes(1, 2).reshape(batch, -1, width) @ attention[layer, 3]
            inner = normalized(states, scales[2 * layer + 1])
            opened = inner @ gated[layer, 0]
            states = states + (opened / (1 + np.exp(-opened)) * (inner @ gated[layer, 1])) @ gated[layer, 2].T
        new, begin = (normalized(states[:, -1], scales[-1]) @ head).argmax(axis=1)[:, None], end
        output[:, number] = new[:, 0]
    return output
"""

SOLUTIONS = {
    "scores-of-the-last-place": """

def solve(prompts, count, heads, embedding, attention, gated, scales, head):
    (batch, length), (layers, _, width, _) = prompts.shape, attention.shape
    cosine, sine = angles(length + count, width // heads // 2)
    tokens = np.concatenate([prompts, np.zeros((batch, count), np.int64)], axis=1)
    for end in range(length, length + count):
        states = embedding[tokens[:, :end]]
        hidden = ~np.tri(end, dtype=bool)
        for layer in range(layers):
            inner = normalized(states, scales[2 * layer])
            parts = [(inner @ part).reshape(batch, end, heads, -1).swapaxes(1, 2) for part in attention[layer, :3]]
            query, key = (turned(part, cosine[:end], sine[:end]) for part in parts[:2])
            likeness = query @ key.swapaxes(2, 3) / np.float32(np.sqrt(width // heads))
            likeness[:, :, hidden] = -np.inf
            gathered = softmax(likeness) @ parts[2]
            states = states + gathered.swapaxes(1, 2).reshape(batch, end, width) @ attention[layer, 3]
            inner = normalized(states, scales[2 * layer + 1])
            opened = inner @ gated[layer, 0]
            states = states + (opened / (1 + np.exp(-opened)) * (inner @ gated[layer, 1])) @ gated[layer, 2].T
        tokens[:, end] = (normalized(states[:, -1], scales[-1]) @ head).argmax(axis=1)
    return tokens[:, length:]
""",
    "kept-keys-and-values-text-by-text": CACHED
    + """

def solve(prompts, *rest):
    return np.concatenate([continued(prompts[text : text + 1], *rest) for text in range(len(prompts))])
""",
    "kept-keys-and-values": CACHED + "\n\nsolve = continued\n",
    "kept-keys-and-values-joined-weights": """

def solve(prompts, count, heads, embedding, attention, gated, scales, head):
    (batch, length), (layers, _, width, _) = prompts.shape, attention.shape
    size = width // heads
    half, inner_width, roots = size // 2, gated.shape[3], np.float32(1 / np.sqrt(size))
    # Fold scales into the weights that follow them, and join weights that share an input.
    before = [np.hstack([scales[2 * n][:, None] * part for part in attention[n, :3]]) for n in range(layers)]
    for weights in before:
        weights[:, :width] *= roots
    open_up = [np.hstack([scales[2 * n + 1][:, None] * part for part in gated[n, :2]]) for n in range(layers)]
    down = [np.ascontiguousarray(gated[n, 2].T) for n in range(layers)]
    after, last = attention[:, 3], scales[-1][:, None] * head
    cosine, sine = angles(length + count, half)
    cosine, sine = (np.concatenate(pair, axis=1) for pair in ((cosine, cosine), (-sine, sine)))
    keys = np.zeros((layers, batch, heads, size, length + count), np.float32)
    values = np.zeros((layers, batch, heads, length + count, size), np.float32)
    output, new, begin = np.empty((batch, count), np.int64), prompts, 0
    for number in range(count):
        places = new.shape[1]
        end = begin + places
        states = embedding[new].reshape(-1, width)
        here, there = cosine[begin:end, None], sine[begin:end, None]
        for n in range(layers):
            parts = (plain(states) @ before[n]).reshape(batch, places, 3, heads, size)
            both = parts[:, :, :2]
            swapped = np.concatenate([both[..., half:], both[..., :half]], axis=-1)
            both = both * here[:, None] + swapped * there[:, None]
            keys[n, ..., begin:end] = both[:, :, 1].transpose(0, 2, 3, 1)
            values[n, :, :, begin:end] = parts[:, :, 2].swapaxes(1, 2)
            likeness = both[:, :, 0].swapaxes(1, 2) @ keys[n, ..., :end]
            if places > 1:
                likeness[:, :, np.arange(end) > np.arange(begin, end)[:, None]] = -np.inf
            likeness -= likeness.max(axis=-1, keepdims=True)
            np.exp(likeness, out=likeness)
            gathered = likeness @ values[n, :, :, :end] / likeness.sum(axis=-1, keepdims=True)
            states += gathered.swapaxes(1, 2).reshape(-1, width) @ after[n]
            opened = plain(states) @ open_up[n]
            gate = opened[:, :inner_width]
            states += (gate / (1 + np.exp(-gate)) * opened[:, inner_width:]) @ down[n]
        new = (plain(states.reshape(batch, places, width)[:, -1]) @ last).argmax(axis=1)[:, None]
        output[:, number], begin = new[:, 0], end
    return output


def plain(states):
    squares = np.einsum("rw,rw->r", states, states)
    return states / np.sqrt(squares / states.shape[1] + np.float32(1e-6))[:, None]
""",
}


def write_submission(body: str) -> None:
    Path("generate.py").write_text(HEAD + body)
