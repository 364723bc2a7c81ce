"""Measure how long a LLaMA-like model takes to generate a token."""

import time

import numpy as np

# ---- Do not edit this part. ----

generation_length = 1
context_length = 128
sizes = {"layers": 4, "width": 256, "heads": 8, "inner": 688, "vocabulary": 4096}
weight_seed, text_seed = 0, 1

# --------------------------------


class LlamaForCausalLM:
    """A small decoder with rotary positions, RMS normalization and gated layers; its weights are random."""

    def __init__(self, layers: int, width: int, heads: int, inner: int, vocabulary: int) -> None:
        random = np.random.default_rng(weight_seed)

        def draw(*shape: int) -> np.ndarray:
            return (random.standard_normal(shape) / np.sqrt(shape[-2])).astype(np.float32)

        self.heads, self.vocabulary = heads, vocabulary
        self.embedding = draw(vocabulary, width)
        self.attention = [draw(4, width, width) for _ in range(layers)]
        self.gate_up = [draw(2, width, inner) for _ in range(layers)]
        self.down = [draw(inner, width) for _ in range(layers)]
        self.head = draw(width, vocabulary)

    def forward(self, input_ids: np.ndarray) -> np.ndarray:
        """Return the scores of all tokens after each position."""
        states = self.embedding[input_ids]
        for attention, (gate, up), down in zip(self.attention, self.gate_up, self.down, strict=True):
            states = states + self.attend(normalize(states), attention)
            inner = normalize(states)
            opened = inner @ gate
            states = states + (opened / (1 + np.exp(-opened)) * (inner @ up)) @ down
        return normalize(states) @ self.head

    def attend(self, states: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return what each position gathers from itself and those before it."""
        batch, length, width = states.shape
        split = (batch, length, self.heads, width // self.heads)
        query, key, value = ((states @ weights[part]).reshape(split).transpose(0, 2, 1, 3) for part in range(3))
        scores = rotate(query) @ rotate(key).transpose(0, 1, 3, 2) / np.float32(np.sqrt(split[-1]))
        scores[:, :, ~np.tri(length, dtype=bool)] = -np.inf
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        return (shares @ value).transpose(0, 2, 1, 3).reshape(batch, length, width) @ weights[3]

    def generate(self, input_ids: np.ndarray, max_length: int) -> np.ndarray:
        """Return the texts, each continued by its most likely tokens up to a length."""
        while input_ids.shape[1] < max_length:
            token = self.forward(input_ids)[:, -1].argmax(axis=1)
            input_ids = np.concatenate([input_ids, token[:, None]], axis=1)
        return input_ids


def normalize(states: np.ndarray) -> np.ndarray:
    return states / np.sqrt((states * states).mean(axis=-1, keepdims=True) + np.float32(1e-6))


def rotate(states: np.ndarray) -> np.ndarray:
    """Turn pairs of values by an angle that grows with the position."""
    length, half = states.shape[-2], states.shape[-1] // 2
    angles = np.arange(length)[:, None] / 10000 ** (np.arange(half) / half)
    cosine, sine = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    first, second = states[..., :half], states[..., half:]
    return np.concatenate([first * cosine - second * sine, first * sine + second * cosine], axis=-1)


batch_size = 4
batches = 100
model = LlamaForCausalLM(**sizes)
eval_dataset = np.random.default_rng(text_seed).integers(0, model.vocabulary, (batches * batch_size, context_length))

# Record the average time of a step.
total_time = 0.0
for idx in range(batches):
    input_ids = eval_dataset[idx * batch_size : (idx + 1) * batch_size]
    start_time = time.time()
    outputs = model.generate(input_ids=input_ids, max_length=generation_length + context_length)
    total_time += time.time() - start_time
print("Average per token generation time: ", total_time / batches)

with open("submission.csv", "w") as file:
    file.write(f"{total_time / batches}\n")
