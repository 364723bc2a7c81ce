"""What models are told: texts in the folder `templates`, to be read and changed like any other text.

A `$name` in a text is a place that is filled in. An agent of one's own can bring a folder of its own, which needs to
hold only the texts that differ.
"""

from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from string import Template

OURS = files("assay.agents").joinpath("templates")


@dataclass(frozen=True)
class Templates:
    """The texts of an agent, by name."""

    own: Traversable | None = None

    def fill(self, name: str, **places: object) -> str:
        """The text called `name` with its places filled in; every one must be."""
        return Template(self._text(f"{name}.md")).substitute(places).strip()

    def _text(self, file: str) -> str:
        if self.own is not None and self.own.joinpath(file).is_file():
            return self.own.joinpath(file).read_text()
        return OURS.joinpath(file).read_text()
