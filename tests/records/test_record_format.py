"""The page about the record format is generated from the types, and current."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_is_current():
    result = subprocess.run([sys.executable, ROOT / "tools" / "record_format.py", "--check"], timeout=600)
    assert result.returncode == 0, "docs/record-format.md is not current; run: python tools/record_format.py"


def test_every_event_and_every_call_is_on_the_page():
    from typing import get_args

    from assay.records.events import AnyRequest, Event

    page = (ROOT / "docs" / "record-format.md").read_text()
    kinds = [get_args(model.model_fields["kind"].annotation)[0] for model in get_args(get_args(Event)[0])]
    calls = [get_args(model.model_fields["type"].annotation)[0] for model in get_args(get_args(AnyRequest)[0])]
    assert len(kinds) == len(set(kinds)) == 15 and len(calls) == len(set(calls)) == 14
    assert all(f"### `{kind}`\n" in page for kind in kinds)
    assert all(f"### `{call}`: request\n" in page and f"### `{call}`: result\n" in page for call in calls)
