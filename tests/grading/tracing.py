"""Which source files of Assay a call passes through."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import assay

ROOT = Path(assay.__file__).parent


def trace_files(call: Callable[[], object]) -> list[str]:
    """Return the files below `src/assay` whose functions run during `call`; imports do not count."""
    call()
    files = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(f"{ROOT}/"):
            files.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return sorted(str(Path(file).relative_to(ROOT)) for file in files)
