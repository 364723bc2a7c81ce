"""`assay run --view`: the pages of a run are served while it is in progress."""

import re
from contextlib import suppress
from pathlib import Path


def test_a_run_names_its_pages_and_stops_the_viewer_at_its_end(tiny):
    result = tiny.call(*tiny.run_words("starter"), "--view")
    assert result.returncode == 0, result.stderr
    assert re.search(r"Pages of this run: http://127\.0\.0\.1:\d+/\?token=[\w-]{32}\n", result.stderr)
    commands = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            commands.append(path.read_bytes().split(b"\0"))
    assert not [words for words in commands if b"view" in words and str(tiny.out).encode() in words]
