from collections.abc import Iterator
from pathlib import Path
from random import Random

import pandas as pd
from competition import Competition, Files, Miniatures, Table, prepare_raw, split, to_csv, write_file
from graders import align, require, require_columns
from sklearn import metrics

from assay.grading import grade_submission

WINNERS = ["winner_model_a", "winner_model_b", "winner_tie"]


class TestLmsysChatbotArena(Competition):
    name = "lmsys-chatbot-arena"
    id = "id"
    targets = tuple(WINNERS)
    predictions = "distribution"

    def prepare_reference(self, raw: Path) -> Files:
        train, test = split(pd.read_csv(raw / "train.csv"), test_size=0.1)
        thirds = dict.fromkeys(WINNERS, 0.3333333333333333)
        return {
            "public/train.csv": to_csv(train),
            "public/test.csv": to_csv(test[["id", "prompt", "response_a", "response_b"]]),
            "public/sample_submission.csv": to_csv(test[["id"]].assign(**thirds)),
            "private/answers.csv": to_csv(test),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "id", *WINNERS)
        shares = submission[WINNERS]
        require(bool(((shares >= 0) & (shares <= 1)).all().all()))
        require(bool((shares.sum(axis=1).round(6) == 1).all()))
        predicted, true = align(submission, answers, "id")
        return float(metrics.log_loss(true[WINNERS].to_numpy(), predicted[WINNERS].to_numpy()))

    def perturbations(self, table: Table, draw: Random) -> Iterator[tuple[str, str]]:
        yield from super().perturbations(table, draw)
        for step in (4e-7, -4e-7, 6e-7, -6e-7):
            shift = lambda row: {"winner_tie": repr(float(row["winner_tie"]) + step)}  # noqa: B023, E731
            yield f"sums off by {step}", table.change(shift)
        sure = {"winner_model_a": "1", "winner_model_b": "0", "winner_tie": "0"}
        yield "sure of the first", table.change(lambda _: sure)

    def test_texts_and_columns_of_any_order_are_written_as_pandas_writes_them(self, raw: Path) -> None:
        texts = ["null", '[""a\\u00e9""]', "[null]", "a,\r\nb", "NA", "[]"]
        rows = [f'0,"{texts[number % 6]}",m,{number},"{texts[number % 5]}",p,1,n,0' for number in range(30)]
        header = "winner_tie,response_a,model_a,id,response_b,prompt,winner_model_a,model_b,winner_model_b"
        write_file(raw / "train.csv", "\n".join([header, *rows]).encode())
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)

    def test_fixed_divides_rows_by_their_sum(self, miniatures: Miniatures) -> None:
        scores = {}
        for edition in ("v1", "fixed"):
            prepared = miniatures.prepared(self.name, edition)
            answers = pd.read_csv(prepared.private / "answers.csv")
            content = to_csv(answers[["id"]].assign(**dict.fromkeys(WINNERS, 0.5)))
            scores[edition] = grade_submission(content, prepared, home=miniatures.home).score
            perfect = to_csv(answers[["id", *WINNERS]])
            assert grade_submission(perfect, prepared, home=miniatures.home).score == 0
        assert scores == {"v1": None, "fixed": 1.09861}  # ln 3
