"""Sixty coins; every third one shows heads."""

from pathlib import Path


def prepare(raw: Path, public: Path, private: Path, edition: str) -> None:
    """Write thirty coins with their sides, and hide the sides of the other thirty."""
    sides = {coin: int(coin % 3 == 0) for coin in range(60)}
    (public / "train.csv").write_text("coin,side\n" + "".join(f"{coin},{sides[coin]}\n" for coin in range(30)))
    (public / "test.csv").write_text("coin\n" + "".join(f"{coin}\n" for coin in range(30, 60)))
    (private / "answers.csv").write_text("coin,side\n" + "".join(f"{coin},{sides[coin]}\n" for coin in range(30, 60)))
