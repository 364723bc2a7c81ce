"""Miniature raw data for hms-harmful-brain-activity-classification: each pattern has a channel that is loud."""

from typing import Any

import numpy as np
import pandas as pd

from assay.data import pandas_tables
from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

SPECTROGRAMS = 90


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """A spectrogram has one or two EEGs, an EEG one to four labeled windows, and a window 3 to 12 votes."""
    names = job.columns
    rows: list[tuple[Any, ...]] = []
    ids = iter((make.rng.permutation(10**6)[: 5 * SPECTROGRAMS] * 4000 + 1000).tolist())
    for spectrogram in [next(ids) for _ in range(SPECTROGRAMS)]:
        pattern, patient = int(make.rng.integers(6)), int(make.rng.integers(20_000, 65_000))
        shares = np.full(6, 0.06) + 0.64 * np.eye(6)[pattern]
        path = job.raw / "train_spectrograms" / f"{spectrogram}.parquet"
        pandas_tables.write_parquet(_signal(make, pattern), path)
        for _ in range(make.rng.integers(1, 3)):
            eeg = next(ids)
            pandas_tables.write_parquet(_signal(make, pattern), job.raw / "train_eegs" / f"{eeg}.parquet")
            for window in range(make.rng.integers(1, 5)):
                votes = make.rng.multinomial(make.rng.integers(3, 13), shares).tolist()
                consensus = names[int(np.argmax(votes))].removesuffix("_vote").upper()
                position = (eeg, window, 6.0 * window, spectrogram, window, 6.0 * window)
                rows.append((*position, len(rows) * 7 + 127492639, patient, consensus, *votes))
    columns = [
        "eeg_id", "eeg_sub_id", "eeg_label_offset_seconds", "spectrogram_id", "spectrogram_sub_id",
        "spectrogram_label_offset_seconds", "label_id", "patient_id", "expert_consensus", *names,
    ]  # fmt: skip
    make.csv(job.raw / "train.csv", {name: [row[column] for row in rows] for column, name in enumerate(columns)})
    figures = job.raw / "example_figures"
    figures.mkdir()
    (figures / "GPD_01.pdf").write_bytes(b"%PDF-1.4 an example")


def _signal(make: Miniature, pattern: int) -> pd.DataFrame:
    loudness = np.full(6, 1.0) + 4 * np.eye(6)[pattern]
    samples = make.rng.normal(0, 1, (60, 6)) * loudness
    return pd.DataFrame({f"channel_{channel}": samples[:, channel] for channel in range(6)})
