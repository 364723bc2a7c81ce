"""What a newcomer is told when something is missing that cannot be installed for them."""

import os
from pathlib import Path

import pytest

from assay.tasks import load_plugin

install = load_plugin(Path(__file__).parents[2] / "tools" / "install.py")


@pytest.mark.parametrize("sudo", [None, "#!/bin/sh\nexit 1\n"], ids=["no-sudo", "sudo-refuses"])
def test_a_user_who_may_not_install_is_told_exactly_what_to_run(sudo, tmp_path, monkeypatch, capsys):
    for name, text in {"apt-get": "#!/bin/sh\nexit 9\n", "sudo": sudo}.items():
        if text:
            (tmp_path / name).write_text(text)
            (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert install.main("test") == 1
    assert "sudo apt-get install bubblewrap chromium" in capsys.readouterr().err
