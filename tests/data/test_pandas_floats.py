"""Tables as pandas 2.2 reads and builds them, whichever version is installed; expected values were printed by 2.2.3."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from assay.data import pandas_tables
from assay.data.pandas_floats import parse_float


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.1", 0.1),
        ("-2.5", -2.5),
        ("1e-05", 1e-05),
        ("inf", float("inf")),
        ("0.1234567890123456789", 0.1234567890123456),
        ("0.9473684210526315", 0.9473684210526316),
        ("0.05263157894736842", 0.0526315789473684),
        ("123456789012345678901.5", 1.2345678901234568e20),
        ("4.9e-324", 5e-324),
    ],
)
def test_a_decimal_is_parsed_as_pandas_2_does(text: str, expected: float, tmp_path: Path) -> None:
    assert parse_float(text) == expected
    (tmp_path / "table.csv").write_text(f"name,value,note\nfirst,0.5,\nsecond,{text},x\nthird,,\n")
    table = pandas_tables.read_inexactly(tmp_path / "table.csv")
    assert table["value"].tolist()[:2] == [0.5, expected] and np.isnan(table["value"][2])
    assert pandas_tables.read(tmp_path / "table.csv")["value"][1] == float(text)


def test_an_absent_field_is_nan_and_a_null_text_stays_null() -> None:
    records = [{"id": "a", "count": 3, "seen": True}, {"id": None, "count": None}, {"id": "c", "note": None}]
    rows = pandas_tables.from_records(records).to_dict(orient="records")
    assert str(rows) == str(
        [
            {"id": "a", "count": 3.0, "seen": True, "note": np.nan},
            {"id": None, "count": np.nan, "seen": np.nan, "note": np.nan},
            {"id": "c", "count": np.nan, "seen": np.nan, "note": np.nan},
        ]
    )
    assert pandas_tables.from_records(records)["id"].dtype == object
    assert isinstance(pandas_tables.from_records([]), pd.DataFrame)
