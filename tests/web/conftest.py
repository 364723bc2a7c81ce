"""A finished run and a viewer on it."""

import pytest
from sample_run import write_run
from viewing import Client, serving


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A finished run."""
    return write_run(tmp_path_factory.mktemp("runs") / "demo")


@pytest.fixture(scope="module")
def viewer(run):
    """A viewer on that run."""
    with serving(run.path) as viewer:
        yield viewer


@pytest.fixture(scope="module")
def client(viewer):
    return Client(viewer)
