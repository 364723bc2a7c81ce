"""Miniature raw data for tensorflow-speech-recognition-challenge: every word has its own pitch."""

from pathlib import Path
from tempfile import TemporaryDirectory

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature
from assay.formats import seven_zip

WORDS = ["yes", "no", "stop", "go", "bed", "bird", "Marvin", "zero"]
SPEAKERS = 40
RATE = 16_000


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """One or two clips of each speaker and word, recordings of noise, and lists that the preparation ignores."""
    members = {"train/LICENSE": b"CC BY 4.0\n", "train/audio/_background_noise_/README.md": b"# Noise\n"}
    for speaker in make.hex_ids(SPEAKERS, 8):
        for pitch, word in enumerate(WORDS):
            for number in range(make.rng.integers(1, 3)):
                sound = make.tone(0.05, RATE, 300 * (pitch + 1))
                members[f"train/audio/{word}/{speaker}_nohash_{number}.wav"] = make.wav(sound, RATE)
    for name in ("doing_the_dishes", "exercise_bike", "pink_noise", "running_tap", "white_noise"):
        noise = make.rng.normal(0, 3000, RATE // 10).astype("int16")
        members[f"train/audio/_background_noise_/{name}.wav"] = make.wav(noise, RATE)
    members["train/testing_list.txt"] = "\n".join(sorted(members)).encode()
    with TemporaryDirectory() as folder:
        for name, content in members.items():
            Path(folder, name).parent.mkdir(parents=True, exist_ok=True)
            Path(folder, name).write_bytes(content)
        seven_zip.pack(job.raw / "train.7z", [(name, Path(folder, name)) for name in members])
