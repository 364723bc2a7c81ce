from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
from competition import (
    Competition,
    Files,
    Miniatures,
    prepare_raw,
    read_archive,
    read_prepared,
    read_tree,
    split,
    to_csv,
    write_file,
)
from graders import accuracy

from assay.formats import seven_zip
from assay.grading import grade_submission

OTHERS = {"_background_noise_": "silence", **dict.fromkeys(["bed", "bird", "Marvin", "zero"], "unknown")}


class TestTensorflowSpeechRecognitionChallenge(Competition):
    name = "tensorflow-speech-recognition-challenge"
    id = "fname"
    targets = ("label",)
    predictions = "class"
    fixed_changes = ("public/train/*", "public/test/*", "public/sample_submission.csv", "private/test.csv")

    def prepare_reference(self, raw: Path) -> Files:
        clips = {}
        for path, content in read_archive(raw / "train.7z").items():
            *folders, label, name = path.split("/")
            if [*folders, label][:2] == ["train", "audio"] and name.endswith(".wav"):
                clips[f"{label}_{name}"] = (label, name, content)
        train, test = split([clips[key] for key in sorted(clips)], test_size=0.1)
        names = [f"clip_{str(number).zfill(8)}.wav" for number in range(len(test))]
        answers = pd.DataFrame({"fname": names, "label": [label for label, _, _ in test]})
        return {
            **{f"public/train/audio/{label}/{name}": content for label, name, content in train},
            **{f"public/test/audio/{name}": clip[2] for name, clip in zip(names, test, strict=True)},
            "public/sample_submission.csv": to_csv(answers.assign(label="silence")),
            "private/test.csv": to_csv(answers),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        return accuracy(submission, answers, "fname", "label")

    def test_clips_at_any_depth_and_names_in_code_point_order(self, raw: Path) -> None:
        names = [
            *(f"{word}/{speaker}_nohash_{number}.wav" for word in ("Up", "_x", "up", "é", "a,b") for speaker in "aZ_9"
              for number in range(2)),
            "deep/er/x.wav", "up/loud.WAV", "up/notes.txt", "top.wav", "alone/only.wav", ".hidden/.y.wav",
        ]  # fmt: skip
        write_clips(raw, {f"train/audio/{name}": name.encode() for name in names})
        files = prepare_raw(self.name, raw)
        assert files == self.prepare_reference(raw)
        assert not any("WAV" in path for path in files)

    def test_fixed_asks_for_the_twelve_classes_of_new_speakers(self, miniatures: Miniatures) -> None:
        """In v1, test clips are by speakers of the training clips, and their labels are names of folders."""
        shared, labels = {}, {}
        for edition in ("v1", "fixed"):
            prepared = miniatures.prepared(self.name, edition)
            speakers, truth = {}, {}
            for path, content in read_archive(prepared.folder / "raw/train.7z").items():
                speakers[content] = Path(path).name.partition("_nohash_")[0]
                truth[content] = Path(path).parent.name
            files = read_prepared(prepared)
            train = {speakers[content] for path, content in files.items() if path.startswith("public/train")}
            answers = pd.read_csv(prepared.private / "test.csv").set_index("fname")["label"]
            clips = {name: files[f"public/test/audio/{name}"] for name in answers.index}
            shared[edition] = train & {speakers[content] for content in clips.values()}
            labels[edition] = {(truth[content], answers[name]) for name, content in clips.items()}
            perfect = (prepared.private / "test.csv").read_bytes()
            assert grade_submission(perfect, prepared, home=miniatures.home).score == 1
        assert len(shared["v1"]) > 10
        assert shared["fixed"] == set()
        assert all(word == label for word, label in labels["v1"])
        assert all(label == OTHERS.get(word, word) for word, label in labels["fixed"])
        assert {"unknown", "yes"} <= {label for _, label in labels["fixed"]}


def write_clips(raw: Path, members: Files) -> None:
    with TemporaryDirectory() as folder:
        for name, content in members.items():
            write_file(Path(folder, name), content)
        seven_zip.pack(raw / "train.7z", [(name, Path(folder, name)) for name in read_tree(Path(folder))])
