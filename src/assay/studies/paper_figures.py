"""Figures of the published studies, as reference for one's own."""

from functools import cache
from importlib import resources

from assay.core.quantities import Model

FILE = "paper_figures.json"


class PaperCurve(Model):
    """A published curve: levels and shares of competitions with a medal in percent, with errors where printed."""

    name: str
    points: tuple[tuple[float, float], ...]
    errors: tuple[float, ...] = ()


class PaperArms(Model):
    """A published comparison of two arms: mean and error over all attempts, in percent."""

    name: str
    plain: tuple[float, float]
    obfuscated: tuple[float, float]


class PaperFigures(Model):
    """The published figures, by what was varied."""

    source: str
    attempts: tuple[PaperCurve, ...]
    time: tuple[PaperCurve, ...]
    gpus: tuple[PaperCurve, ...]
    obfuscation: PaperArms

    def curves(self, factor: str) -> tuple[PaperCurve, ...]:
        """Return the published curves over a factor; none for those that were not studied."""
        return {"attempts": self.attempts, "time": self.time, "gpus": self.gpus}.get(factor, ())


@cache
def load_paper_figures() -> PaperFigures:
    """Return the published figures."""
    return PaperFigures.model_validate_json((resources.files(__package__) / FILE).read_bytes())
