"""Finding rows by the hashes of their ids, faster than a general join."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
Places = NDArray[np.int32]

_MOST = 2**31 - 1


def places_of(wanted: Hashes, among: Hashes) -> Places | None:
    """Where each wanted hash stands among others, of which there are as many; None unless each stands there once.

    A hash keeps its upper bits and carries its row's number in the lower ones. So plain sorting, which processors do
    best, brings both sides into the same order, and shows which row goes with which.
    """
    count = len(wanted)
    if len(among) != count or count > _MOST:
        return None
    number_bits = np.uint64((1 << count.bit_length()) - 1)
    with ThreadPoolExecutor(2) as both:  # sorting lets other threads run
        ours, theirs = both.map(lambda hashes: _numbered(hashes, number_bits), (wanted, among))
    # The sums tell apart what differs only in the bits that the numbers took.
    if ((ours ^ theirs) > number_bits).any() or wanted.sum() != among.sum():
        return None
    alike = np.flatnonzero((ours[1:] ^ ours[:-1]) <= number_bits)
    ours &= number_bits
    theirs &= number_bits
    rows, found = ours.astype(np.int32), theirs.astype(np.int32)
    if len(alike) and not _told_apart(alike, rows, found, wanted, among):
        return None
    places = np.empty(count, np.int32)
    places[rows] = found
    return places


def _numbered(hashes: Hashes, number_bits: np.uint64) -> Hashes:
    """The hashes in order, each with its row's number in its lower bits."""
    numbered = hashes & ~number_bits
    numbered |= np.arange(len(hashes), dtype=np.uint64)
    numbered.sort()
    return numbered


def _told_apart(alike: NDArray[np.intp], rows: Places, found: Places, wanted: Hashes, among: Hashes) -> bool:
    """Pair the few rows whose hashes are alike in the upper bits by all of their bits; False where that fails.

    `alike` says which stand next to one like them, and is long only where ids are repeated.
    """
    at = np.union1d(alike, alike + 1)
    ours, theirs = wanted[rows[at]], among[found[at]]
    by_hash, by_theirs = np.argsort(ours), np.argsort(theirs)
    ours, theirs = ours[by_hash], theirs[by_theirs]
    rows[at], found[at] = rows[at][by_hash], found[at][by_theirs]
    return bool((ours == theirs).all() and (ours[1:] != ours[:-1]).all())
