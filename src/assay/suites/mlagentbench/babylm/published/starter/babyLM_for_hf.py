"""The BabyLM data: ten sources of text, line by line."""

from pathlib import Path

DATA = Path("babylm_data")
DATA_SOURCES = [
    "aochildes", "bnc_spoken", "cbt", "children_stories", "gutenberg", "open_subtitles", "qed", "simple_wikipedia",
    "switchboard", "wikipedia",
]  # fmt: skip
CONFIGS = {"babyLM-10M": "babylm_10M"}


def load_dataset(name: str) -> dict[str, list[str]]:
    """Return the lines of the training and of the validation text; the test text is not here."""
    return {"train": read_lines(CONFIGS[name], "train"), "validation": read_lines("babylm_dev", "dev")}


def read_lines(folder: str, split: str) -> list[str]:
    """Return the lines of all sources; blank ones are empty."""
    lines = []
    for source in DATA_SOURCES:
        with (DATA / folder / f"{source}.{split}").open(encoding="utf-8") as file:
            lines += [line if line.strip() else "" for line in file]
    return lines
