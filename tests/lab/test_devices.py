"""A lab sees the devices in its setup and no others."""

import stat
from pathlib import Path

import pytest

from assay.core.home import Home
from assay.lab import Setup, open_lab


def stand_ins() -> list[Path]:
    """Return two devices that labs do not see by default, in place of the nodes of GPUs."""
    usual = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "console"}
    nodes = (path for path in sorted(Path("/dev").iterdir()) if stat.S_ISCHR(path.lstat().st_mode))
    return [path for path in nodes if path.name not in usual][:2]


@pytest.mark.anyio
async def test_a_lab_sees_its_devices_and_no_others(home: Home, core: Path):
    device, other = stand_ins()
    seen = f"test -c /dev/{device.name} && ! test -e /dev/{other.name}"
    async with open_lab(home, Setup(core, devices=(device,))) as lab:
        result = await lab.run(["sh", "-c", seen], seconds=300)
        assert result.succeeded, result.stderr.text
        assert not (await lab.run(["sh", "-c", "touch /dev/new"], seconds=300)).succeeded
    async with open_lab(home, Setup(core)) as lab:
        assert not (await lab.run(["test", "-e", f"/dev/{device.name}"], seconds=300)).succeeded
