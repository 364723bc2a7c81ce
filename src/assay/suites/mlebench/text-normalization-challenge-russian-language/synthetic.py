"""A miniature of the Russian text normalization data: numbers, abbreviations and signs are read in other words."""

from pathlib import Path

from assay.data.miniature import Miniature
from assay.data.spoken import Speech, synthesize_tokens

RUSSIAN = Speech(
    words=["река", "город", "была", "мост", "около", "дома", "известен", "много", "лодок", "весной"],
    digits=["ноль", "один", "два", "три", "четыре", "пять", "шесть", "семь", "восемь", "девять"],
    letters="БВГДЖЗКЛМПРСТ",
    sign=("№", "номер"),
)


def synthesize(raw: Path, make: Miniature) -> None:
    """Labelled sentences, and the competition's own test without labels."""
    synthesize_tokens(raw, make, RUSSIAN, language="ru")
