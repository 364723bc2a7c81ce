"""What tokens cost: a dated table of list prices, which a user's own file can correct and extend."""

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from assay.core.errors import UsageError
from assay.core.quantities import Model
from assay.models.messages import Usage

TABLE = Path(__file__).with_name("prices.json")
# The same model under a longer name: a snapshot of some day, or whichever is the newest. Any other longer name is
# another model (gpt-5-mini is no gpt-5) with a price of its own.
SNAPSHOT = re.compile(r"[-@](\d{4}-\d{2}-\d{2}|\d{8}|latest)")


class Rates(Model):
    """US dollars for a million tokens. Where a rate for the provider's cache is missing, the one for input holds."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)
    cache_write: float | None = Field(default=None, ge=0)

    def cost(self, usage: Usage) -> float:
        """What `usage` costs at these rates."""
        cached = self.input if self.cached is None else self.cached
        written = self.input if self.cache_write is None else self.cache_write
        millionths = (
            usage.input_tokens * self.input
            + usage.output_tokens * self.output
            + usage.cached_tokens * cached
            + usage.cache_write_tokens * written
        )
        return millionths / 1e6


class LongRates(Rates):
    """Rates for a whole question and its answer where more than `beyond` tokens are read."""

    beyond: int = Field(gt=0)


class Price(Rates):
    """The price of a model; some cost more where the question is long."""

    long: LongRates | None = None

    def cost(self, usage: Usage) -> float:
        """What one question and its answer cost."""
        if self.long and usage.all_input_tokens > self.long.beyond:
            return self.long.cost(usage)
        return super().cost(usage)


class Prices(Model):
    """A table of prices by model. A model that is not in it has an unknown price, which is not the same as none.

    An entry holds for the model of that name and for its snapshots (`openai/gpt-5` for `openai/gpt-5-2025-08-07`). An
    entry that ends in `*` holds for every name that begins like it. The longest that fits counts.
    """

    format: Literal["prices/1"] = "prices/1"
    date: str
    source: str = ""
    models: Mapping[str, Price]

    @classmethod
    def load(cls, path: Path | None = None) -> "Prices":
        """The list prices that come with Assay, corrected by the user's TOML or JSON file if there is one."""
        known = cls.model_validate_json(TABLE.read_bytes())
        if path is None:
            return known
        try:
            own = cls.model_validate({"date": known.date, **_content(path)})
        except ValidationError as error:
            faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
            raise UsageError(f"{path}: {faults}") from None
        return cls(
            date=own.date, source=f"{known.source}; corrected by {path.name}", models={**known.models, **own.models}
        )

    def of(self, name: str) -> Price | None:
        """The price of a model, or None if it is not known."""
        fitting = [entry for entry in self.models if _fits(entry, name)]
        return self.models[max(fitting, key=len)] if fitting else None

    def cost(self, name: str, usage: Usage) -> float | None:
        """What a model's `usage` costs, or None if its price is not known."""
        price = self.of(name)
        return price.cost(usage) if price else None


def _fits(entry: str, name: str) -> bool:
    if entry.endswith("*"):
        return name.startswith(entry.removesuffix("*"))
    return name == entry or bool(name.startswith(entry) and SNAPSHOT.fullmatch(name.removeprefix(entry)))


def _content(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text()
        content = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{path} is neither TOML nor JSON: {error}") from None
    if not isinstance(content, dict):
        raise UsageError(f"{path}: a price file is a table with `models` in it")
    return content
