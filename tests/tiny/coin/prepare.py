"""Sixty coins; every third one shows heads."""

from assay.data.job import PrepareJob


def prepare(job: PrepareJob) -> None:
    """Write thirty coins with their sides, and hide the sides of the other thirty."""
    sides = {coin: int(coin % 3 == 0) for coin in range(60)}
    (job.public / "train.csv").write_text("coin,side\n" + "".join(f"{coin},{sides[coin]}\n" for coin in range(30)))
    (job.public / "test.csv").write_text("coin\n" + "".join(f"{coin}\n" for coin in range(30, 60)))
    (job.private / "answers.csv").write_text(
        "coin,side\n" + "".join(f"{coin},{sides[coin]}\n" for coin in range(30, 60))
    )
