"""What a chooser can choose from: the estimators of `automl` and some values of their parameters."""

from collections.abc import Mapping
from dataclasses import dataclass, field

Parameters = Mapping[str, str]

_TREES: dict[str, tuple[str, ...]] = {
    "n_estimators": ("100", "30", "300"),
    "max_features": ("0.5", "0.2", "1.0"),
    "min_samples_leaf": ("1", "3", "10"),
}
PIPELINES: dict[str, dict[str, tuple[str, ...]]] = {
    "lgbm": {
        "n_estimators": ("100", "30", "300"),
        "learning_rate": ("0.1", "0.03", "0.3"),
        "num_leaves": ("31", "7", "127"),
        "min_child_samples": ("20", "5", "60"),
    },
    "rf": _TREES,
    "extra_tree": _TREES,
    "kneighbor": {"n_neighbors": ("5", "1", "15", "50"), "weights": ("uniform", "distance")},
}
"""The values of each parameter of each pipeline; the first one is the default."""
DESCRIPTIONS = {
    "lgbm": "gradient boosting",
    "rf": "random forest",
    "extra_tree": "extremely randomized trees",
    "kneighbor": "nearest neighbors",
}


def pipeline_names(kind: str) -> list[str]:
    """Return the pipelines for a kind of task: as in `automl`, nearest neighbors only classify."""
    return [name for name in PIPELINES if not (name == "kneighbor" and kind.endswith("regression"))]


@dataclass(frozen=True)
class PipelineChoice:
    """A pipeline and the values of its parameters."""

    pipeline: str
    parameters: Parameters = field(default_factory=dict)

    @classmethod
    def default(cls, pipeline: str) -> "PipelineChoice":
        """Return a pipeline with the default of each parameter."""
        return cls(pipeline, {name: values[0] for name, values in PIPELINES[pipeline].items()})

    def with_value(self, parameter: str, value: str) -> "PipelineChoice":
        """Return the same pipeline with another value of one parameter."""
        return PipelineChoice(self.pipeline, {**self.parameters, parameter: value})

    def other_values(self, parameter: str) -> list[str]:
        """Return the values of a parameter that it does not have."""
        return [value for value in PIPELINES[self.pipeline][parameter] if value != self.parameters[parameter]]

    def __str__(self) -> str:
        settings = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        return f"{DESCRIPTIONS[self.pipeline]} ({self.pipeline}) with {settings}"
