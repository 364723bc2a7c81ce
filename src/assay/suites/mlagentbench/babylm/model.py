"""The language model that a checkpoint's weights are run in, its tokenizer, and how both are kept in a file.

Only these exact lines judge a checkpoint. What it may choose are whole numbers within `LIMITS`, its tokens and its
weights; every text can be encoded, and probabilities of the next token add up to 1, whatever the choice.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

LIMITS = {
    "layers": (1, 24),
    "width": (8, 1024),
    "heads": (1, 32),
    "inner": (8, 4096),
    "context": (16, 1024),
    "rotary": (0, 1),
    "gated": (0, 1),
}
"""Each setting with the least and the most it may be."""

MOST_MERGES = 16_384
MOST_WEIGHTS = 32_000_000


class CheckpointError(Exception):
    """These settings, tokens or weights make no model; the message says why."""


@dataclass(frozen=True)
class Settings:
    """What shape a model has.

    layers: how many blocks, each with attention and a feed-forward part.
    width: numbers in a token's state.
    heads: attention heads in each layer; they share the width.
    inner: width of the feed-forward part.
    context: how many tokens the model looks at at once.
    rotary: 1 turns queries and keys by an angle that grows with the place; 0 adds a learnt vector for each place.
    gated: 1 has a gated feed-forward part (SiLU times a second product); 0 has a plain one (GELU).
    """

    layers: int
    width: int
    heads: int
    inner: int
    context: int
    rotary: int = 0
    gated: int = 0

    def __post_init__(self) -> None:
        for name, (least, most) in LIMITS.items():
            if not least <= getattr(self, name) <= most:
                raise CheckpointError(f"{name} is {getattr(self, name)}; it must be from {least} to {most}")
        if self.width % (self.heads * (1 + self.rotary)):
            pairs = " in pairs" if self.rotary else ""
            raise CheckpointError(f"a width of {self.width} cannot be shared out{pairs} among {self.heads} heads")


class LanguageModel(nn.Module):
    """A decoder of the GPT-2 kind: normalization first, causal attention, one table for tokens going in and out."""

    def __init__(self, settings: Settings, merges: np.ndarray) -> None:
        super().__init__()
        self.settings, self.merges = settings, checked(merges)
        self.vocabulary = 256 + len(merges)
        self.embedding = nn.Embedding(self.vocabulary + 1, settings.width)
        if not settings.rotary:
            self.places = nn.Parameter(0.02 * torch.randn(settings.context, settings.width))
        self.blocks = nn.ModuleList(Block(settings) for _ in range(settings.layers))
        self.last = nn.LayerNorm(settings.width)
        nn.init.normal_(self.embedding.weight, std=0.02)

    @property
    def start(self) -> int:
        """The token that stands before a text; it goes in and never comes out."""
        return self.vocabulary

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """A score for each token of the vocabulary, at each place of each text, for what comes after it."""
        states = self.embedding(tokens)
        if not self.settings.rotary:
            states = states + self.places[: tokens.shape[1]]
        for block in self.blocks:
            states = block(states)
        return functional.linear(self.last(states), self.embedding.weight[: self.vocabulary])


class Block(nn.Module):
    """What a place gathers from itself and those before it, and what it makes of that."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        width, inner = settings.width, settings.inner
        self.settings = settings
        self.before_attention, self.before_inner = nn.LayerNorm(width), nn.LayerNorm(width)
        self.gather, self.gathered = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.open, self.close = nn.Linear(width, (1 + settings.gated) * inner), nn.Linear(inner, width)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        batch, length, width = states.shape
        parts = self.gather(self.before_attention(states)).view(batch, length, 3, self.settings.heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        if self.settings.rotary:
            query, key = turned(query), turned(key)
        found = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        states = states + self.gathered(found.transpose(1, 2).reshape(batch, length, width))
        opened = self.open(self.before_inner(states))
        if self.settings.gated:
            gate, up = opened.chunk(2, dim=-1)
            return states + self.close(functional.silu(gate) * up)
        return states + self.close(functional.gelu(opened))


def turned(states: torch.Tensor) -> torch.Tensor:
    """Turn pairs of numbers, one of each half, by an angle that grows with the place."""
    length, half = states.shape[-2], states.shape[-1] // 2
    speeds = 10000 ** -(torch.arange(half, device=states.device) / half)
    angles = torch.arange(length, device=states.device)[:, None] * speeds
    cosine, sine = angles.cos(), angles.sin()
    first, second = states.chunk(2, dim=-1)
    return torch.cat([first * cosine - second * sine, first * sine + second * cosine], dim=-1)


def encode(texts: Sequence[bytes], merges: np.ndarray) -> list[np.ndarray]:
    """Each text as tokens: its bytes, 0 to 255, in which row n of `merges` joins two neighbours to token 256 + n.

    Rows are applied one after the other to all places, from left to right. Many texts at once are quicker than one by
    one.
    """
    tokens = np.concatenate([np.append(np.frombuffer(text, np.uint8).astype(np.int32), -1) for text in texts])
    for row, (left, right) in enumerate(merges.tolist()):
        tokens = joined(tokens, left, right, 256 + row)
    return np.split(tokens[tokens >= 0], np.flatnonzero(tokens < 0)[:-1] - np.arange(len(texts) - 1))


def joined(tokens: np.ndarray, left: int, right: int, new: int) -> np.ndarray:
    """The tokens with `new` wherever `left` stood before `right`."""
    at = np.flatnonzero((tokens[:-1] == left) & (tokens[1:] == right))
    if left == right and len(at):
        # In a row of equal tokens pairs overlap: the first is joined, the second is not, the third is, and so on.
        begins = np.append(True, np.diff(at) > 1)
        at = at[(at - at[begins][np.cumsum(begins) - 1]) % 2 == 0]
    if not len(at):
        return tokens
    tokens[at] = new
    return np.delete(tokens, at + 1)


def decode(tokens: np.ndarray, merges: np.ndarray) -> bytes:
    """The text that tokens stand for: merges are undone where they are used, the last one first.

    Spelling out every token of a table would not do: rows that double each other spell more than there is room for.
    """
    while len(tokens) and (token := int(tokens.max())) > 255:
        at = np.flatnonzero(tokens == token)
        left, right = merges[token - 256]
        tokens = np.insert(tokens, at + 1, right)
        tokens[at + np.arange(len(at))] = left
    return tokens.astype(np.uint8).tobytes()


def save(path: str | Path, model: LanguageModel) -> None:
    """Write settings, tokens and weights as plain arrays."""
    weights = {name: weight.detach().float().cpu().numpy() for name, weight in model.state_dict().items()}
    np.savez(path, merges=model.merges, **asdict(model.settings), **weights)


def load(path: str | Path) -> LanguageModel:
    """The model in a file; `CheckpointError` says what is wrong with one that holds none."""
    with np.load(path, allow_pickle=False) as file:
        names = set(file.files)
        if missing := sorted({*LIMITS, "merges"} - names):
            raise CheckpointError(f"there is no array {missing[0]}")
        settings = Settings(**{name: whole(name, file[name]) for name in LIMITS})
        with torch.device("meta"):  # shapes alone, so that an outsized model costs nothing
            model = LanguageModel(settings, file["merges"])
        if (count := sum(weight.numel() for weight in model.parameters())) > MOST_WEIGHTS:
            raise CheckpointError(f"the model has {count:,} weights; at most {MOST_WEIGHTS:,} are allowed")
        shapes = {name: tuple(weight.shape) for name, weight in model.state_dict().items()}
        if odd := sorted(names ^ {*LIMITS, "merges", *shapes}):
            wrong = "the model has no array" if odd[0] in names else "there is no array"
            raise CheckpointError(f"{wrong} {odd[0]}")
        weights = {name: floats(name, file[name], shape) for name, shape in shapes.items()}
    model.load_state_dict(weights, assign=True)
    return model.eval()


def whole(name: str, array: np.ndarray) -> int:
    """A setting: one whole number."""
    if array.shape != () or array.dtype.kind not in "iu":
        raise CheckpointError(f"{name} must be one whole number, not {array.dtype} of shape {array.shape}")
    return int(array)


def floats(name: str, array: np.ndarray, shape: tuple[int, ...]) -> torch.Tensor:
    """A weight: finite numbers of the right shape."""
    if array.shape != shape or array.dtype.kind != "f":
        raise CheckpointError(f"{name} must be floats of shape {shape}, not {array.dtype} of shape {array.shape}")
    with np.errstate(over="ignore"):  # what is too large becomes infinite, and is found below
        single = array.astype(np.float32)
    if not np.isfinite(single).all():
        raise CheckpointError(f"{name} holds numbers that are not finite")
    return torch.from_numpy(single)


def checked(merges: np.ndarray) -> np.ndarray:
    """The table of merges, if it makes tokens of bytes alone: each row joins two tokens that are there before it."""
    if merges.ndim != 2 or merges.shape[1] != 2 or merges.dtype.kind not in "iu" or len(merges) > MOST_MERGES:
        raise CheckpointError(
            f"merges must be whole numbers of shape (n, 2), with n at most {MOST_MERGES:,}, "
            f"not {merges.dtype} of shape {merges.shape}"
        )
    known = 256 + np.arange(len(merges))[:, None]
    if odd := np.flatnonzero(((merges < 0) | (merges >= known)).any(axis=1)).tolist():
        raise CheckpointError(
            f"row {odd[0]} of merges joins a token that is neither a byte nor made by a row before it"
        )
    return merges.astype(np.int32)
