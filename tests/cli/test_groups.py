"""The help of the program lists few commands, each once, in its group."""

from assay.cli import COMMANDS, GROUPS


def test_every_command_is_in_one_group():
    names = [name for commands in GROUPS.values() for name in commands]
    assert sorted(names) == sorted(COMMANDS) and len(names) <= 24
