from pathlib import Path

import pandas as pd
import pytest
from competition import (
    Competition,
    Files,
    Miniatures,
    copy_files,
    prepare_raw,
    read_inexactly,
    split,
    to_csv,
    write_file,
)
from graders import require, require_columns
from sklearn import metrics

from assay.grading import grade_submission

VIEWS = ("All29", "Endzone", "Sideline")


class TestNflPlayerContactDetection(Competition):
    name = "nfl-player-contact-detection"
    id = "contact_id"
    targets = ("contact",)
    predictions = "class"

    def prepare_reference(self, raw: Path) -> Files:
        labels = read_inexactly(raw / "train_labels.csv")
        train, test = split(labels["game_play"].unique(), test_size=0.1)
        files: Files = {}
        for side, plays in (("train", train), ("test", test)):
            for name in ("baseline_helmets", "player_tracking", "video_metadata"):
                table = read_inexactly(raw / f"train_{name}.csv")
                files[f"public/{side}_{name}.csv"] = to_csv(table[table["game_play"].isin(plays)])
            videos = [f"{play}_{view}.mp4" for play in plays for view in VIEWS]
            files |= copy_files(raw / "train", f"public/{side}", videos)
        answers = labels[labels["game_play"].isin(test)]
        return files | {
            "public/train_labels.csv": to_csv(labels[labels["game_play"].isin(train)]),
            "public/sample_submission.csv": to_csv(answers[["contact_id"]].assign(contact=0)),
            "private/test.csv": to_csv(answers),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "contact_id", "contact")
        require(set(submission["contact_id"]) == set(answers["contact_id"]))
        require(len(submission) == len(answers))
        submission, answers = submission.sort_values("contact_id"), answers.sort_values("contact_id")
        return metrics.matthews_corrcoef(answers["contact"], submission["contact"])

    def test_numbers_are_typed_on_the_whole_table_and_other_plays_dropped(self, raw: Path) -> None:
        header = "contact_id,game_play,datetime,step,nfl_player_id_1,nfl_player_id_2,contact"
        rows = ["b_2_0_1_G,b_2,t,0,1,G,0", "a_1_0_1_007,a_1,t,0,1,007,1", "b_2_1_1_G,b_2,t,1,1,G,1"]
        (raw / "train_labels.csv").write_text("\n".join([header, *rows, ""]))
        for name in ("baseline_helmets", "player_tracking", "video_metadata"):
            (raw / f"train_{name}.csv").write_text("game_play,x,y\na_1,42.60,25\nc_3,1,1\nb_2,,7\na_1,3,\n")
        for play in ("a_1", "b_2"):
            for view in VIEWS:
                write_file(raw / f"train/{play}_{view}.mp4", play.encode())
        files = prepare_raw(self.name, raw)
        train, test = split(["b_2", "a_1"], test_size=0.1)
        tables = {"a_1": b"game_play,x,y\na_1,42.6,25.0\na_1,3.0,\n", "b_2": b"game_play,x,y\nb_2,,7.0\n"}
        assert files["public/train_player_tracking.csv"] == tables[train[0]]
        assert files["public/test_player_tracking.csv"] == tables[test[0]]
        expected = [row for row in rows if row.split(",")[1] == test[0]]
        assert files["private/test.csv"].decode().splitlines() == [header, *expected]

    @pytest.mark.parametrize("edition", ("v1", "fixed"))
    def test_an_id_in_place_of_another_is_refused_in_fixed(self, miniatures: Miniatures, edition: str) -> None:
        prepared = miniatures.prepared(self.name, edition)
        perfect = pd.read_csv(prepared.private / "test.csv")[["contact_id", "contact"]]
        three = perfect.assign(contact=[7, *perfect["contact"][1:]])
        grades = [grade_submission(to_csv(table), prepared, home=miniatures.home) for table in (perfect, three)]
        assert grades[0].score == 1.0
        assert grades[1].valid_submission == (edition == "v1")
