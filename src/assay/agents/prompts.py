"""Prompt templates: Markdown files in the `templates` folder of an agent's package.

A `$name` in a template is replaced by a value. A custom agent can bring its own folder, which only needs to contain the
templates that differ.
"""

from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from string import Template


@dataclass(frozen=True)
class Templates:
    """The prompt templates of a package; a file of the same name in `overrides` takes precedence."""

    package: str
    overrides: Traversable | None = None

    def fill(self, name: str, **values: object) -> str:
        """Return the template called `name` with its placeholders replaced; every one needs a value."""
        return Template(self._read(f"{name}.md")).substitute(values).strip()

    def _read(self, file: str) -> str:
        if self.overrides is not None and self.overrides.joinpath(file).is_file():
            return self.overrides.joinpath(file).read_text("utf-8")
        return files(self.package).joinpath("templates", file).read_text("utf-8")
