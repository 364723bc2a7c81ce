"""A miniature of the corpus: ten sources with different vocabularies and the same small grammar."""

from collections.abc import Iterator

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

SOURCES = (
    "aochildes", "bnc_spoken", "cbt", "children_stories", "gutenberg", "open_subtitles", "qed", "simple_wikipedia",
    "switchboard", "wikipedia",
)  # fmt: skip
SIZES = {"train": 40_000, "dev": 8_000, "test": 9_000}
FOLDERS = {"train": "babylm_10M", "dev": "babylm_dev", "test": "babylm_test"}
SMALL, NAMED, JOINED = ["the", "a", "this", "her", "no"], ["Zoë", "Ann", "Bård"], ["and", "but", "because", "—"]


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write the challenge's archive, including files that the task does not use."""
    common = make.words(60).split()
    members = {"__MACOSX/babylm_data/._babylm_10M": b"\0\5\26\7", "babylm_data/README.md": b"# A miniature of BabyLM\n"}
    for name in SOURCES:
        own = make.words(40).split()
        for side, size in SIZES.items():
            text = written(make, [*own, *common], size)
            members[f"babylm_data/{FOLDERS[side]}/{name}.{side}"] = text
            if side == "train":
                members[f"babylm_data/babylm_100M/{name}.{side}"] = text + text
    make.zip(job.raw / "babylm_data.zip", members)


def written(make: Miniature, words: list[str], size: int) -> bytes:
    """Return lines of one or two sentences; a source's first words are the most frequent, as in natural language."""
    odds = 1 / np.arange(1, len(words) + 1)
    chosen, picks = iter(make.rng.choice(words, size, p=odds / odds.sum())), iter(make.rng.integers(0, 60, size))
    lines: list[str] = []
    length = 0
    while length < size:
        lines.append(" ".join(sentence(chosen, picks)) + (" .\n" if next(picks) % 5 else " ?\n"))
        length += len(lines[-1].encode())
    return "".join(lines).encode()


def sentence(words: Iterator[str], picks: Iterator[np.int64]) -> list[str]:
    """Return a sentence with subject, verb and object, and sometimes a second clause."""
    who = [NAMED[next(picks) % 3]] if next(picks) % 2 else [SMALL[next(picks) % 5], next(words)]
    clause = [*who, next(words) + "s", SMALL[next(picks) % 5], next(words)]
    return [*clause, JOINED[next(picks) % 4], next(words)] if next(picks) % 3 == 0 else clause
