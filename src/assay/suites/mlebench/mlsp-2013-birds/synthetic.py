"""A miniature of mlsp-2013-birds: each species has its own pitch and its own band in the spectrograms."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature, Samples

Flags = NDArray[Any]

SPECIES = {
    "BRCR": "Brown Creeper", "PAWR": "Pacific Wren", "PSFL": "Pacific-slope Flycatcher",
    "RBNU": "Red-breasted Nuthatch", "DEJU": "Dark-eyed Junco", "OSFL": "Olive-sided Flycatcher",
    "HETH": "Hermit Thrush", "CBCH": "Chestnut-backed Chickadee", "VATH": "Varied Thrush", "HEWA": "Hermit Warbler",
    "SWTH": "Swainson's Thrush", "HAFL": "Hammond's Flycatcher", "WETA": "Western Tanager",
    "BHGB": "Black-headed Grosbeak", "GCKI": "Golden Crowned Kinglet", "WAVI": "Warbling Vireo",
    "MGWA": "MacGillivray's Warbler", "STJA": "Stellar's Jay", "CONI": "Common Nighthawk",
}  # fmt: skip
ESSENTIAL, SUPPLEMENTAL = "mlsp_contest_dataset/essential_data", "mlsp_contest_dataset/supplemental_data"
KNOWN, HIDDEN, EXAMPLES = 320, 20, 12
RATE = 16000


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write 340 recordings, 320 of them labeled: the published split draws 64 and accepts only 318 to 322 of them."""
    count = KNOWN + HIDDEN
    folds = (make.rng.permutation(count) >= KNOWN).astype(int)
    heard = make.rng.random((count, len(SPECIES))) < 0.12
    names = [f"PC{1 + number % 18}_200906{1 + number // 18:02}_050000_0010" for number in make.rng.permutation(count)]
    members = {**lists(make, folds, heard, names), **pictures(make, heard, names), **segments(make, heard)}
    for name, present in zip(names, heard, strict=True):
        members[f"{ESSENTIAL}/src_wavs/{name}.wav"] = make.wav(song(make, present), RATE)
    make.zip(job.raw / "mlsp_contest_dataset.zip", members)


def lists(make: Miniature, folds: Flags, heard: Flags, names: list[str]) -> dict[str, bytes]:
    """Return the lists of folds, names, labels and species; only folds are sorted, as other orders are arbitrary."""
    order, other = make.rng.permutation(len(names)), make.rng.permutation(len(names))
    labels = ([number, *("?" if folds[number] else np.flatnonzero(heard[number]))] for number in other)
    species = ((number, *pair) for number, pair in enumerate(SPECIES.items()))
    return {
        f"{ESSENTIAL}/CVfolds_2.txt": text("rec_id,fold", enumerate(folds)),
        f"{ESSENTIAL}/rec_id2filename.txt": text("rec_id,filename", ((number, names[number]) for number in order)),
        f"{ESSENTIAL}/rec_labels_test_hidden.txt": text("rec_id,[labels]", labels),
        f"{ESSENTIAL}/species_list.txt": text("class_id,code,species", species),
    }


def pictures(make: Miniature, heard: Flags, names: list[str]) -> dict[str, bytes]:
    """Return a spectrogram for each purpose, segmentation examples for some recordings, and two overview images."""
    members: dict[str, bytes] = {}
    for number, (name, present) in enumerate(zip(names, heard, strict=True)):
        bands = [make.texture((2, 24), 0.7 if there else 0.3) for there in present]
        kinds = ["filtered_spectrograms", "spectrograms", "supervised_segmentation"]
        kinds += ["segmentation_examples"] if number < EXAMPLES else []
        members |= dict.fromkeys(
            (f"{SUPPLEMENTAL}/{kind}/{name}.bmp" for kind in kinds), make.encode_image(np.vstack(bands), ".bmp")
        )
    for name in ("segment_clusters", "segment_mosaic"):
        members[f"{SUPPLEMENTAL}/{name}.bmp"] = make.encode_image(make.texture((32, 32), 0.5), ".bmp")
    return members


def segments(make: Miniature, heard: Flags) -> dict[str, bytes]:
    """Return up to three segments per recording with features and a box, and a histogram with a peak per species."""
    keys = [(number, part) for number in range(len(heard)) for part in range(make.rng.integers(0, 4))]
    features = [(*segment, *make.rng.random(38).round(6)) for segment in keys]
    boxes = [(*segment, *np.sort(make.rng.integers(0, 256, (2, 2))).ravel()) for segment in keys]
    rising = np.repeat(heard, 6, axis=1)[:, :100] * 0.05
    histograms = np.clip(rising + make.rng.normal(0.01, 0.01, rising.shape), 0, 1).round(6)
    rows = [(number, *histogram) for number, histogram in enumerate(histograms)]
    return {
        f"{SUPPLEMENTAL}/segment_features.txt": text("rec_id,segment_id,[feature vector]", features),
        f"{SUPPLEMENTAL}/segment_rectangles.txt": text("rec_id,segment_id,min_x,max_x,min_y,max_y", boxes),
        f"{SUPPLEMENTAL}/histogram_of_segments.txt": text("rec_id,[histogram of segment features]", rows),
    }


def song(make: Miniature, present: Flags) -> Samples:
    """Return a twentieth of a second of noise with a tone for each species that is present."""
    time = np.arange(RATE // 20) / RATE
    tones = [np.sin(2 * np.pi * (600 + 350 * species) * time) for species in np.flatnonzero(present)]
    return ((make.rng.normal(0, 0.3, len(time)) + sum(tones)) * 2000).astype(np.int16)


def text(header: str, rows: Iterable[Iterable[object]]) -> bytes:
    """Return the text of a comma-separated file with a header."""
    return "".join(f"{line}\n" for line in (header, *(",".join(map(str, row)) for row in rows))).encode()
