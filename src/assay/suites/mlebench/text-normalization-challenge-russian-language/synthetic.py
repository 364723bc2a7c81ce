"""A miniature of the Russian text normalization data: numbers, abbreviations and signs are read differently."""

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

from .._shared.text_normalization import Speech, synthesize_tokens

RUSSIAN = Speech(
    words=["река", "город", "была", "мост", "около", "дома", "известен", "много", "лодок", "весной"],
    digits=["ноль", "один", "два", "три", "четыре", "пять", "шесть", "семь", "восемь", "девять"],
    letters="БВГДЖЗКЛМПРСТ",
    sign=("№", "номер"),
)


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write labeled sentences and the competition's own unlabeled test set."""
    synthesize_tokens(job, make, RUSSIAN, language="ru")
