"""Tables pass through as text, and images are written as PNG files that other programs read."""

import struct
import zlib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assay.data import polars_tables
from assay.formats import png


def test_values_pass_through_unchanged(tmp_path: Path) -> None:
    text = 'id,a,b\n007,1.50,NA\n8,,"x, ""y"""\n9,1e5,True\n'
    (tmp_path / "in.csv").write_text(text)
    polars_tables.write(polars_tables.read(tmp_path / "in.csv"), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == text


def test_a_split_is_written_with_private_answers(tmp_path: Path) -> None:
    table = pl.DataFrame({"id": ["a", "b", "c"], "x": ["1", "2", "3"], "y": ["0", "1", "1"]})
    public, private = tmp_path / "public", tmp_path / "private"
    polars_tables.write_split(table[:1], table[1:], id="id", sample={"y": 0.5}, public=public, private=private)
    written = {path.relative_to(tmp_path).as_posix(): path.read_text() for path in tmp_path.rglob("*.csv")}
    assert written == {
        "public/train.csv": "id,x,y\na,1,0\n",
        "public/test.csv": "id,x\nb,2\nc,3\n",
        "public/sample_submission.csv": "id,y\nb,0.5\nc,0.5\n",
        "private/answers.csv": "id,y\nb,1\nc,1\n",
    }


def test_new_ids_come_first_and_must_differ() -> None:
    table = pl.DataFrame({"x": [1, 2], "Id": [5, 6]})
    assert polars_tables.with_id(table, "row_id", [1, 2], instead_of="Id").columns == ["row_id", "x"]
    with pytest.raises(ValueError, match="2 rows need as many distinct ids; there are 1"):
        polars_tables.with_id(table, "row_id", [1, 1], instead_of="Id")


def test_new_numbers_do_not_keep_the_old_order() -> None:
    numbers = polars_tables.random_numbers([f"{key:04d}" for key in range(1000)], seed=1)
    assert sorted(numbers.values()) == list(range(1, 1001))
    assert abs(np.corrcoef(np.arange(1000), list(numbers.values()))[0, 1]) < 0.1


@pytest.mark.parametrize("shape", [(3, 5), (4, 2, 3)])
def test_a_png_contains_the_pixels(tmp_path: Path, shape: tuple[int, ...]) -> None:
    pixels = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
    png.write_png(tmp_path / "a.png", pixels)
    content = (tmp_path / "a.png").read_bytes()
    width, height, depth, colour = struct.unpack(">IIBB", content[16:26])
    assert (height, width, depth, colour) == (*shape[:2], 8, 0 if len(shape) == 2 else 2)
    length = struct.unpack(">I", content[33:37])[0]
    lines = np.frombuffer(zlib.decompress(content[41 : 41 + length]), dtype=np.uint8).reshape(height, -1)
    assert not lines[:, 0].any()
    assert lines[:, 1:].tolist() == pixels.reshape(height, -1).tolist()


def test_pixels_of_another_type_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="uint8"):
        png.write_png(tmp_path / "a.png", np.zeros((2, 2)))  # type: ignore[arg-type]
