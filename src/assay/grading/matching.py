"""Finding rows by the hashes of their ids, faster than a general join."""

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
Places = NDArray[np.int64]

_SHIFT = 7
_ROUNDS = 7


def places_of(wanted: Hashes, among: Hashes) -> Places | None:
    """Where each wanted hash stands among others, of which there are as many; None unless each stands there once.

    A hash picks a slot in a table by some of its bits. Where several pick the same, one of them gets it and the others
    try again with other bits, in a new table. A few rounds place them all, unless a hash is there twice.
    """
    count = len(wanted)
    if len(among) != count:
        return None
    places = np.full(count, -1, np.int64)
    slots = 1 << max(1, count).bit_length() + 1
    seekers, offered = np.arange(count), np.arange(count)
    for turn in range(_ROUNDS):
        if not len(seekers):
            break
        bits = np.uint64(turn * _SHIFT)
        table = np.full(slots, -1, np.int64)
        slot = _slot(among[offered], bits, slots)
        table[slot] = offered
        found = table[_slot(wanted[seekers], bits, slots)]
        hit = (found >= 0) & (among[found] == wanted[seekers])
        places[seekers[hit]] = found[hit]
        offered, seekers = offered[table[slot] != offered], seekers[~hit]
    taken = np.zeros(count, bool)
    taken[places] = True
    return places if not len(seekers) and taken.all() else None


def _slot(hashes: Hashes, bits: np.uint64, slots: int) -> Places:
    return (hashes >> bits & np.uint64(slots - 1)).astype(np.int64)
