import io
import json
import warnings
from pathlib import Path

import pandas as pd
import pytest
from competition import Competition, Files, Miniatures, prepare_raw, to_csv
from graders import require, require_columns
from sklearn import metrics

from assay.grading import grade_submission

TARGETS = ["reactivity", "deg_Mg_pH10", "deg_pH10", "deg_Mg_50C", "deg_50C"]
SCORED = ("reactivity", "deg_Mg_pH10", "deg_Mg_50C")


class TestStanfordCovidVaccine(Competition):
    name = "stanford-covid-vaccine"
    id = "id_seqpos"
    targets = SCORED
    predictions = "number"

    def prepare_reference(self, raw: Path) -> Files:
        molecules = pd.read_json(raw / "train.json", lines=True)
        drawn = molecules[molecules["SN_filter"] > 0].sample(n=int(0.1 * len(molecules)), random_state=0)
        train, test = molecules.drop(drawn.index), molecules.loc[sorted(drawn.index)]
        rows = []
        for _, molecule in test.iterrows():
            for position in range(molecule["seq_length"]):
                keep = position < molecule["seq_scored"]
                values = [molecule[name][position] if keep else 0.0 for name in TARGETS]
                rows.append([f"{molecule['id']}_{position}", *values, keep])
        answers = pd.DataFrame(rows, columns=["id_seqpos", *TARGETS, "keep"])
        sample = answers.drop(columns="keep").assign(**dict.fromkeys(TARGETS, 0.0))
        columns = pd.read_json(raw / "test.json", lines=True).columns
        return {
            "public/train.json": to_json_lines(train),
            "public/test.json": to_json_lines(test[columns]),
            "public/sample_submission.csv": to_csv(sample, float_format="%.10f"),
            "private/test.csv": to_csv(answers, float_format="%.10f"),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require(len(submission) == len(answers))
        require_columns(submission, "id_seqpos", *TARGETS)
        keep = answers["keep"]
        submission, answers = submission.sort_values("id_seqpos"), answers.sort_values("id_seqpos")
        require(bool((submission["id_seqpos"].to_numpy() == answers["id_seqpos"].to_numpy()).all()))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # pandas aligns the mask by row number and says so
            predicted, true = submission[keep], answers[keep]
        return sum(metrics.root_mean_squared_error(true[name], predicted[name]) for name in SCORED) / 3

    def test_numbers_are_written_as_pandas_writes_json(self, raw: Path) -> None:
        lists = {name: [1.5, -0.0] for name in TARGETS}
        known = {"seq_length": 3, "seq_scored": 2}
        rows = [
            {"id": f"id_{row}", "index": row + 5, "url": "a/é", "SN_filter": 1.0, "x": 0.1 + 0.2, **known, **lists}
            for row in range(10)
        ]
        (raw / "train.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (raw / "test.json").write_text(json.dumps({"seq_length": 1, "index": 0, "id": "x", "seq_scored": 1}) + "\n")
        files = prepare_raw(self.name, raw)
        (row,) = pd.DataFrame(rows).sample(n=1, random_state=0).index
        assert files["public/test.json"] == f'{{"seq_length":3,"index":0,"id":"id_{row}","seq_scored":2}}\n'.encode()
        first = files["public/train.json"].splitlines()[0].decode()
        assert '"index":0,"url":"a\\/\\u00e9","SN_filter":1,"x":0.3,' in first
        assert files["private/test.csv"].decode().splitlines()[2:] == [
            f"id_{row}_1,{','.join(['-0.0000000000'] * 5)},True",
            f"id_{row}_2,{','.join(['0.0000000000'] * 5)},False",
        ]

    @pytest.mark.parametrize("edition", ["v1", "fixed"])
    def test_the_order_of_rows_matters_in_v1_only(self, miniatures: Miniatures, edition: str) -> None:
        prepared = miniatures.prepared(self.name, edition)
        perfect = pd.read_csv(prepared.private / "test.csv").drop(columns="keep")
        straight, reversed_rows = (
            grade_submission(to_csv(table), prepared, home=miniatures.home) for table in (perfect, perfect[::-1])
        )
        assert straight.score == 0.0
        assert (reversed_rows.score == 0.0) == (edition == "fixed")


def to_json_lines(table: pd.DataFrame) -> bytes:
    content = io.StringIO()
    table.assign(index=range(len(table))).to_json(content, orient="records", lines=True)
    return content.getvalue().encode()
