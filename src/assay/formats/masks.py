"""Run-length encoded masks: `start length` pairs, counted from 1, down the columns or along the rows of an image."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InvalidSubmission
from assay.core.text import quote

Order = Literal["column", "row"]
"""Whether pixel 2 is below pixel 1 (`column`) or to the right of it (`row`)."""

_MAX_DIGITS = 18  # so that a start plus a length still fits 64 bits
_PAIRS = "a mask is written as pairs of integers, start and length"


@dataclass(frozen=True, eq=False)
class Mask:
    """Some pixels of an image, as ascending, disjoint runs `starts[i] <= pixel < ends[i]`, counted from 0."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    height: int
    width: int
    order: Order = "column"

    @property
    def pixels(self) -> int:
        """The number of pixels of the image."""
        return self.height * self.width

    @property
    def area(self) -> int:
        """The number of pixels of the mask."""
        return int((self.ends - self.starts).sum())

    def overlap(self, other: "Mask") -> int:
        """Return the number of pixels that both masks have, without decoding them."""
        if (self.height, self.width, self.order) != (other.height, other.width, other.order):
            mine, theirs = ((mask.height, mask.width, mask.order) for mask in (self, other))
            raise ValueError(f"masks of different images: {mine} and {theirs}")
        return int((other._count_before(self.ends) - other._count_before(self.starts)).sum())

    def _count_before(self, pixel: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of pixels of the mask before each of these."""
        if len(self.starts) == 0:
            return np.zeros(len(pixel), np.int64)
        before = np.concatenate([[0], np.cumsum(self.ends - self.starts)])
        run = np.searchsorted(self.starts, pixel, side="right")
        beyond = np.maximum(self.ends[run - 1] - pixel, 0)
        return np.where(run > 0, before[run] - beyond, 0)

    def decode(self) -> NDArray[np.bool_]:
        """Return an array of shape (height, width), True where the mask has a pixel."""
        step = np.zeros(self.pixels + 1, np.int8)
        step[self.starts] += 1
        step[self.ends] -= 1
        flat = np.cumsum(step[:-1], dtype=np.int8).astype(bool)
        return flat.reshape((self.height, self.width), order="F" if self.order == "column" else "C")


def parse_mask(
    text: str,
    height: int,
    width: int,
    where: str,
    *,
    order: Order = "column",
    empty: str | None = "",
    cut_beyond: bool = False,
    share_length: bool = False,
    blank_is_empty: bool = False,
    python_integers: bool = False,
) -> Mask:
    """Parse the mask of an image of `height` times `width` pixels.

    Runs must ascend and not overlap; they may touch. `empty` is how a mask without pixels is written; with None it
    is an error. Pixels beyond the last one are an error, or ignored if `cut_beyond`, as the published graders that fill
    an array by slices do (google-research-identify-contrails, vesuvius-challenge-ink-detection and others).

    With `share_length`, three numbers are two runs of the same length: start, length, start; and a single number, a
    start without a length, is an empty mask. Published graders that broadcast starts and lengths with NumPy do so
    (google-research-identify-contrails, tgs-salt-identification-challenge and others). Some also read numbers as `int`
    does, such as +3 and 1_0 of any size (`python_integers`), and a cell of spaces as an empty mask, but not `empty`
    with spaces around it (`blank_is_empty`).
    """
    tokens = [_to_digits(token) for token in text.split()] if python_integers else text.split()
    if share_length and len(tokens) == 3:
        tokens.append(tokens[1])
    lone_start = share_length and len(tokens) == 1 and _is_positive(tokens[0])
    word = text if blank_is_empty else text.strip()
    if not tokens or word == empty or lone_start:
        if not (word == empty or lone_start or blank_is_empty):
            instead = f"; an empty mask is written {empty!r}" if empty else ""
            raise InvalidSubmission(f"{where}: there is no mask; {_PAIRS}{instead}.")
        none = np.empty(0, np.int64)
        return Mask(none, none, height, width, order)
    numbers = np.fromiter(map(int, _check_pairs(tokens, where)), np.int64, len(tokens))
    starts = numbers[0::2] - 1
    ends = starts + numbers[1::2]
    pixels = height * width
    # What is beyond the image is cut or refused below, and cannot overlap.
    if late := np.flatnonzero(starts[1:] < np.maximum(np.minimum(ends[:-1], pixels), starts[:-1])).tolist():
        first, second = (f"'{starts[run] + 1} {ends[run] - starts[run]}'" for run in (late[0], late[0] + 1))
        raise InvalidSubmission(f"{where}: run {second} must begin after run {first} ends: sort runs, and join them.")
    if ends[-1] > pixels and not cut_beyond:
        size = f"the image has {pixels:,} pixels ({height:,} x {width:,})"
        raise InvalidSubmission(f"{where}: a run ends at pixel {ends[-1]:,}, but {size}.")
    within = starts < pixels
    return Mask(starts[within], np.minimum(ends[within], pixels), height, width, order)


def mask_from_pixels(pixels: NDArray[Any], *, order: Order = "column") -> Mask:
    """Return the mask of the nonzero pixels of an image of shape (height, width), in as few runs as possible."""
    flat = (pixels != 0).ravel(order="F" if order == "column" else "C")
    change = np.flatnonzero(np.diff(np.concatenate([[False], flat, [False]]).astype(np.int8)))
    height, width = pixels.shape
    return Mask(change[0::2], change[1::2], height, width, order)


def encode_mask(mask: Mask, *, empty: str = "") -> str:
    """Return the text that `parse_mask` parses as `mask`."""
    pairs = np.column_stack([mask.starts + 1, mask.ends - mask.starts])
    return " ".join(map(str, pairs.ravel().tolist())) or empty


def _is_positive(token: str) -> bool:
    """Whether Python reads a token as an integer above 0, as in `1_0`."""
    try:
        return int(token) > 0
    except ValueError:
        return False


def _to_digits(token: str) -> str:
    """Return a number without underscores, plus or leading zeros; one beyond any image as the largest that fits."""
    try:
        number = int(token)
    except ValueError:
        return token
    # NumPy adds unsigned integers of 64 bits to signed ones as floats, which no published grader can slice by.
    return token if 2**63 <= number < 2**64 else str(min(number, 10**_MAX_DIGITS - 1))


def _check_pairs(tokens: list[str], where: str) -> list[str]:
    """Return the tokens if they are pairs of integers above 0."""
    for token in tokens:
        if not (token.isascii() and token.isdigit() and len(token) <= _MAX_DIGITS):
            reason = f"{quote(token)} is not an integer of at most {_MAX_DIGITS} digits"
            raise InvalidSubmission(f"{where}: {_PAIRS}; {reason}.")
        if not token.strip("0"):
            raise InvalidSubmission(f"{where}: {_PAIRS}, both counted from 1; one of them is 0.")
    if len(tokens) % 2:
        raise InvalidSubmission(f"{where}: {_PAIRS}; the {len(tokens):,} numbers are not pairs.")
    return tokens
