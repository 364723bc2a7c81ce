"""The statistics hold what they promise in simulations, and the documentation prints what came out."""

import sys
from pathlib import Path

import pytest

from assay.results.selftest import Check, check_statistics

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from statistics_table import PAGE, SIMULATIONS, fill_page  # noqa: E402


@pytest.fixture(scope="module")
def checks() -> list[Check]:
    return check_statistics(short=True, simulations=SIMULATIONS)


def test_intervals_cover_tests_hold_and_power_is_as_promised(checks: list[Check]):
    assert [check for check in checks if not check.passed] == []
    assert {check.kind for check in checks} >= {"coverage of a rate", "coverage of a difference", "power, 80% promised"}


def test_the_documented_table_is_current(checks: list[Check]):
    page = PAGE.read_text()
    assert fill_page(page, checks) == page, "docs/statistics.md is not current; run: python tools/statistics_table.py"
