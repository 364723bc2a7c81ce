"""Assay measures how well AI agents do machine-learning engineering."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.results.load import RunRecord, TrialRecord, load_run

__version__ = "0.1.0"
__all__ = ["RunRecord", "TrialRecord", "__version__", "load_run"]


def __getattr__(name: str) -> Any:
    """Import the public names on first use, so that `import assay` stays fast."""
    if name in ("RunRecord", "TrialRecord", "load_run"):
        from assay.results import load

        return getattr(load, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
