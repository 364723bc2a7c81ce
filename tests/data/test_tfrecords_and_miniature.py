"""TFRecords round-trip and are protected by their checksum; miniatures are seeded and open in ordinary programs."""

import io
import struct
import wave
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from assay.core.errors import SourceError
from assay.data.miniature import Miniature
from assay.formats import tfrecord

EXAMPLES = [
    {
        "image": [b"\xff\xd8" * 300],
        "image_name": [b"ISIC_1"],
        "target": [1],
        "weights": [0.5, -2.0],
        "ids": [-5, 2**40],
    },
    {"image": [b""], "image_name": [b"ISIC_2"], "target": [0], "weights": [0.0], "ids": [7]},
]


def test_records_round_trip(tmp_path: Path) -> None:
    tfrecord.write(tmp_path / "a.tfrec", EXAMPLES)
    assert list(tfrecord.read(tmp_path / "a.tfrec")) == EXAMPLES


def test_the_checksum_follows_the_format() -> None:
    """CRC-32C of "123456789" is E3069283; the format rotates it by 15 bits and adds a constant."""
    rotated = (0xE3069283 >> 15 | 0xE3069283 << 17) & 0xFFFFFFFF
    assert tfrecord._masked_checksum(b"123456789") == (rotated + 0xA282EAD8) & 0xFFFFFFFF


def test_a_message_worked_by_hand(tmp_path: Path) -> None:
    """Field 1 (features) > field 1 (entry) > field 1 the name, field 2 the value > field 3 (integers) > packed 1."""
    tfrecord.write(tmp_path / "a", [{"t": [1]}])
    message = bytes([10, 12, 10, 10, 10, 1, ord("t"), 18, 5, 26, 3, 10, 1, 1])
    content = (tmp_path / "a").read_bytes()
    assert struct.unpack("<Q", content[:8])[0] == len(message)
    assert content[12:-4] == message


@pytest.mark.parametrize("damage", ["cut", "length"])
def test_a_damaged_file_is_refused(tmp_path: Path, damage: str) -> None:
    tfrecord.write(tmp_path / "a", EXAMPLES)
    content = bytearray((tmp_path / "a").read_bytes())
    if damage == "cut":
        del content[-10:]
    else:
        content[0] ^= 1
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(SourceError, match="a "):
        list(tfrecord.read(tmp_path / "a"))


def test_the_same_seed_gives_the_same_values() -> None:
    def draw(seed: int) -> tuple[object, ...]:
        make = Miniature(seed)
        return make.hex_ids(3, 8), make.words(4), make.labels(10).tolist(), make.texture((4, 4), 0.5).tobytes()

    assert draw(3) == draw(3) != draw(4)


def test_ids_do_not_parse_as_numbers() -> None:
    ids = Miniature(0).hex_ids(500, 6)
    assert len(set(ids)) == 500
    assert all(name[0] in "abcdf" and len(name) == 6 for name in ids)


@pytest.mark.parametrize("suffix", [".bmp", ".jpg", ".png", ".tif"])
def test_images_open_and_have_the_requested_brightness(suffix: str) -> None:
    make = Miniature(0)
    dark, light = (
        np.asarray(Image.open(io.BytesIO(make.encode_image(make.texture((24, 20, 3), level), suffix))))
        for level in (0.2, 0.8)
    )
    assert dark.shape == (24, 20, 3)
    assert light.mean() - dark.mean() > 80


def test_audio_and_dicom_files_have_correct_headers(tmp_path: Path) -> None:
    make = Miniature(0)
    with wave.open(io.BytesIO(make.wav(make.tone(0.5, 8000, 440), 8000))) as file:
        assert (file.getframerate(), file.getnframes(), file.getnchannels()) == (8000, 4000, 1)
    sound = make.aiff(make.tone(0.5, 2000, 100), 2000)
    assert sound[:4] == b"FORM" and sound[8:12] == b"AIFF" and struct.unpack(">I", sound[4:8])[0] == len(sound) - 8
    # 2000 Hz as an 80-bit float: exponent 16383 + 10, mantissa 2000 << 53.
    assert sound[28:38] == struct.pack(">HQ", 16393, 2000 << 53)
    pixels = make.texture((8, 6), 0.5)
    make.dicom(tmp_path / "a.dcm", pixels)
    content = (tmp_path / "a.dcm").read_bytes()
    assert content[128:132] == b"DICM"
    assert content.endswith(b"OB\0\0" + struct.pack("<I", 48) + pixels.tobytes())
