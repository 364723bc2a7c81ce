"""The command that installs an extra fits how Assay was installed."""

import pytest

from assay.core.installation import describe_requirement, install_command


@pytest.mark.parametrize(
    ("origin", "requirement"),
    [
        ({}, "'mlassay[web]'"),
        ({"url": "file:///src/my%20assay", "dir_info": {"editable": True}}, "-e '/src/my assay[web]'"),
        ({"url": "file:///src/assay", "dir_info": {}}, "'/src/assay[web]'"),
        (
            {"url": "https://host/assay", "vcs_info": {"vcs": "git", "commit_id": "0a1b"}},
            "'mlassay[web] @ git+https://host/assay@0a1b'",
        ),
        ({"url": "file:///dist/mlassay.whl", "archive_info": {}}, "'mlassay[web] @ file:///dist/mlassay.whl'"),
    ],
)
def test_an_extra_comes_from_where_assay_came_from(origin, requirement):
    assert describe_requirement(origin, "web") == requirement


def test_a_checkout_is_installed_from_its_folder():
    assert install_command("agents").startswith("pip install -e '/")
