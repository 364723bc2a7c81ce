"""Arrays in .npy files that need not fit in memory."""

from pathlib import Path

import numpy as np
from numpy.lib.format import open_memmap

from assay.core.errors import SourceError


def open_array(path: Path) -> np.ndarray:
    """Open an array for reading without loading it."""
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)  # type: ignore[no-any-return]
    except FileNotFoundError:
        raise
    except (ValueError, EOFError, OSError) as error:
        raise SourceError(f"{path.name} is not an array file, or it is damaged: {error}") from None


def write_rows(array: np.ndarray, rows: np.ndarray, path: Path, *, chunk: int = 2**14) -> None:
    """Write these rows of an array, in this order, with the bytes of `np.save`; only a chunk is in memory at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    written = open_memmap(path, mode="w+", dtype=array.dtype, shape=(len(rows), *array.shape[1:]))
    for start in range(0, len(rows), chunk):
        written[start : start + chunk] = array[rows[start : start + chunk]]
    written.flush()
