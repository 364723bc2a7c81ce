"""Text of agents and models made safe to show: no control characters, no terminal sequences, bounded length."""

import re

from assay.core.text import cut_middle, strip_control

# Sequences of terminals: CSI (colors, cursor), OSC and other strings up to their terminator, and two-character escapes.
_TERMINAL = re.compile(
    r"\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~]|\x1b[\]PX^_][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)|\x1b[ -/]{0,8}[0-~]"
)


def clean_text(text: str) -> str:
    """Return text as a terminal would leave it on the screen, without anything that controls one."""
    text = _TERMINAL.sub("", text.replace("\r\n", "\n"))
    if "\r" in text:  # progress bars overwrite their line: only its last state counts
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return strip_control(text)


def clean_and_cut(text: str, max_length: int) -> str:
    """Return clean text, without its middle where it is long."""
    # Cut before cleaning: a huge text need not be cleaned as a whole.
    return clean_text(cut_middle(text, max_length))


def clean_value(value: object) -> object:
    """Clean what a template prints; markup, which was escaped before, and numbers stay as they are."""
    return clean_text(value) if type(value) is str else value
