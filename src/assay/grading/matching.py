"""Finding rows by the hashes of their ids, faster than a general join."""

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
Places = NDArray[np.int32]

_BITS = 7
_ROUNDS = 7
_MOST = 2**31 - 1


def places_of(wanted: Hashes, among: Hashes) -> Places | None:
    """Where each wanted hash stands among others, of which there are as many; None unless each stands there once.

    A hash picks a slot in a table by some of its bits. Where several pick the same, one of them gets it and the others
    try again with other bits, in a new table. A few rounds place them all, unless a hash is there twice.
    """
    count = len(wanted)
    if len(among) != count or count > _MOST:
        return None
    places = np.full(count, -1, np.int32)
    seekers = offered = np.arange(count, dtype=np.int32)
    sought, offer, slots = wanted, among, 1 << count.bit_length() + 1
    for turn in range(_ROUNDS):
        table = np.full(slots, -1, np.int32)
        slot = _slot(offer, turn, slots)
        table[slot] = offered
        found = table[_slot(sought, turn, slots)]
        hit = (found >= 0) & (among[found] == sought)
        places[seekers[hit]] = found[hit]
        lost, missed = table[slot] != offered, ~hit
        offered, offer, seekers, sought = offered[lost], offer[lost], seekers[missed], sought[missed]
        if not len(seekers):
            break
    taken = np.zeros(count, bool)
    taken[places] = True
    return places if not len(seekers) and taken.all() else None


def _slot(hashes: Hashes, turn: int, slots: int) -> NDArray[np.int64]:
    return (hashes >> np.uint64(turn * _BITS) & np.uint64(slots - 1)).astype(np.int64)
