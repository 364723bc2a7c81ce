"""What installed packages register with Assay."""

from functools import cache
from importlib.metadata import EntryPoints, entry_points


@cache
def registered_agents() -> EntryPoints:
    """Return the agents of all installed packages; cached, because the metadata of every package is read for it."""
    return entry_points(group="assay.agents")
