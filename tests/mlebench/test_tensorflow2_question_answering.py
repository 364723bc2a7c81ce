import io
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from competition import Competition, Files, Miniatures, Table, find_task, prepare_raw, read_as_published, split, to_csv
from graders import require, require_columns
from sklearn import metrics

from assay.core.errors import SourceError
from assay.data import Prepared
from assay.grading import grade_submission
from assay.tasks import load_plugin

RECORDS = "simplified-nq-train.jsonl"
PUBLIC = ["example_id", "question_text", "document_text", "long_answer_candidates"]


class TestTensorflow2QuestionAnswering(Competition):
    name = "tensorflow2-question-answering"
    id = "example_id"
    targets = ("PredictionString",)
    max_rows = 40

    def prepare_reference(self, raw: Path) -> Files:
        """Restated with the standard library's JSON, in the form that pandas writes."""
        lines = (raw / RECORDS).read_text().removesuffix("\n").split("\n")
        sides: dict[str, list[dict[str, Any]]] = {"train": [], "test": []}
        for start in range(0, len(lines), 1000):
            records = [json.loads(line) for line in lines[start : start + 1000]]
            for side, chosen in zip(sides, split(records, test_size=0.1), strict=True):
                sides[side] += [record | {"example_id": str(record["example_id"])} for record in chosen]
        public = [{key: record[key] for key in PUBLIC} for record in sides["test"]]
        gold = [
            (f"{record['example_id']}_{kind}", first_answer(record, kind))
            for record in sides["test"]
            for kind in ("short", "long")
        ]
        table = pd.DataFrame(gold, columns=["example_id", "PredictionString"])
        return {
            f"public/{RECORDS}": to_json_lines(sides["train"]),
            "public/simplified-nq-test.jsonl": to_json_lines(public),
            "private/test.jsonl": to_json_lines(sides["test"]),
            "private/gold_submission.csv": to_csv(table),
            "public/sample_submission.csv": to_csv(table.assign(PredictionString="")),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        """Restated for answers as a frame with one record per row."""
        require(len(submission) == 2 * len(answers))
        submission = submission.astype(object).fillna("").astype(str)
        require_columns(submission, "example_id", "PredictionString")
        right = {}
        for id, (annotation,) in zip(answers["example_id"], answers["annotations"], strict=True):
            long, yes_or_no = annotation["long_answer"], annotation["yes_no_answer"]
            right[f"{id}_long"] = [span(long)] if long["start_token"] != -1 else []
            right[f"{id}_short"] = [
                *map(span, annotation["short_answers"]),
                *([yes_or_no] if yes_or_no != "NONE" else []),
            ]
        require(set(submission["example_id"]) == set(right) and submission["example_id"].is_unique)
        answered, correct = [], []
        for id, text in zip(submission["example_id"], submission["PredictionString"].str.strip(), strict=True):
            answer: object = text
            if text.count(":") == 1:
                start, end = text.split(":")
                answer = (int(start), int(end))
            else:
                require(text in ("YES", "NO", ""))
            answered.append(int(text != ""))
            correct.append(int(answer in right[id]) if text else int(bool(right[id])))
        return float(metrics.f1_score(correct, answered, average="micro"))

    def _some_answers(self, path: Path, draw: random.Random) -> str:
        return "".join(path.read_text().splitlines(keepends=True)[: self.max_rows])

    def _submission(self, prepared: Prepared, answers: str, draw: random.Random) -> Table:
        records = [json.loads(line) for line in answers.splitlines()]
        spans = [f"{start}:{start + 5}" for start in range(0, 30, 3)]
        rows = [
            {
                "example_id": f"{record['example_id']}_{kind}",
                "PredictionString": draw.choice([first_answer(record, kind), "", "YES", *spans[:1]]),
            }
            for record in records
            for kind in ("short", "long")
        ]
        return Table(self.id, tuple(self.targets), ("example_id", "PredictionString"), rows)

    def _reference_score(self, submission: str, answers: str) -> float | None:
        try:
            records = pd.DataFrame([json.loads(line) for line in answers.splitlines()])
            return self.grade_reference(read_as_published(submission), records)
        except Exception:  # noqa: BLE001 - whatever a published grader raises makes a submission invalid
            return None

    def perturbations(self, table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
        yield from super().perturbations(table, draw)
        for cell in ("YES ", " 3:7", "3 : 7", "03:+7", "3_0:7", "3:7:9", "3:", ":", "3.0:7", "yes", "-1:-1", "٣:7"):
            yield f"{cell!r} in a row", table.change(lambda _: {"PredictionString": cell}, [3])  # noqa: B023
        for values in (["", "1"], ["1", "2"], ["", "x"], ["", "True"], ["True", "False"]):
            rows = [row | {"note": values[number % 2]} for number, row in enumerate(table.rows)]
            yield f"an extra column of {values}", table.write(rows, [*table.header, "note"])
        yield "one answer", table.change(lambda row: {"PredictionString": ""}, range(1, len(table.rows)))

    def test_records_are_written_as_pandas_writes_them(self, raw: Path) -> None:
        texts = ["a/b </P>", "\u00e9\u2028\U0001f600", '"\\\b\f\t\x01\x7f', "", "12"]
        records = [make_record(number - 7, texts[number % 5]) for number in range(2013)]
        lines = [json.dumps(record, ensure_ascii=number % 2 == 0) for number, record in enumerate(records)]
        (raw / RECORDS).write_text("\n".join(lines))
        files = prepare_raw(self.name, raw)
        assert files == self.prepare_reference(raw)
        assert len(files["private/test.jsonl"].splitlines()) == 100 + 100 + 2

    def test_a_chunk_with_an_unusual_record_is_written_as_pandas_writes_it(self) -> None:
        plain = make_record(7, 'a/b "\\ \u00e9\u2028\U0001f600 \x85\t\x08')
        plain["question_text"] = "what is it"
        plain["document_text"] = 'to be / \\\\ " caf\u00e9'
        line = json.dumps(plain)
        page = json.dumps({"document_text": plain["document_text"]})[1:-1]
        changed = [
            line,
            line + "\r",
            line.replace(page, '"document_text": ""'),
            line.replace(page, '"document_text" : "caf\u00e9 / \\\\/ x"'),
            line.replace(page, '"document_text": "\\/ \\u00E9 \\u0041 \\u001f \\u007f \x7f"'),
            line.replace(page, '"document_text": "\\ud83d\\ude00 \\ud83d"'),
            line.replace(page, '"document_text": "a\tb\x01"'),
            line.replace(page, f'"document_text": "first", {page}'),
            line.replace('"annotations": [{', '"annotations": [{"document_text": "a / b", '),
            line.replace('"start_token": 0', '"start_token": 1.0'),
            line.replace('"start_token": 0', '"start_token": -0'),
            line.replace('"start_token": 0', '"start_token": NaN'),
            line.replace('"example_id": 7', '"example_id": 9223372036854775808'),
            line.replace('"example_id": 7', '"example_id": "7"'),
            line.replace('"document_url"', '"document_link"'),
            json.dumps(dict(reversed(plain.items()))),
        ]
        numbers = [json.dumps(plain | {"question_text": str(number), "example_id": number}) for number in range(3)]
        read_portion = load_plugin(find_task(self.name).folder / "records.py").read_portion
        for lines in [*([odd, line, line] for odd in changed), numbers]:
            text = "\n".join(lines).encode()
            expected = pd.read_json(io.BytesIO(text), orient="records", lines=True)
            expected["example_id"] = expected["example_id"].astype(str)
            records = read_portion(io.BytesIO(text), len(lines))
            written = b"".join(part for record in records for part in record.to_line(list(record.fields)))
            assert written.decode() == expected.to_json(orient="records", lines=True)

    def test_a_blank_line_is_refused(self, raw: Path) -> None:
        lines = [json.dumps(make_record(number, "a")) for number in range(4)]
        (raw / RECORDS).write_text("\n".join([*lines, "", ""]))
        with pytest.raises(SourceError, match="blank line"):
            prepare_raw(self.name, raw)

    def test_a_record_without_annotations_is_refused(self, raw: Path) -> None:
        lines = [json.dumps(make_record(number, "a") | {"annotations": []}) for number in range(4)]
        (raw / RECORDS).write_text("\n".join(lines))
        with pytest.raises(SourceError, match="0 annotations"):
            prepare_raw(self.name, raw)

    def test_fixed_gives_nothing_for_silence(self, miniatures: Miniatures) -> None:
        """Without answers, or with a single wrong one, v1 rewards all rows that have none."""
        scores = {}
        for edition in ("v1", "fixed"):
            prepared = miniatures.prepared(self.name, edition)
            gold = pd.read_csv(prepared.private / "gold_submission.csv", keep_default_na=False)
            empty = gold.assign(PredictionString="")
            wrong = empty.copy()
            wrong.loc[0, "PredictionString"] = "0:1"
            unanswered = gold["PredictionString"] == ""
            scores[edition] = [
                grade_submission(to_csv(table), prepared, home=miniatures.home).score for table in (gold, empty, wrong)
            ]
        assert scores["v1"] == [
            1.0,
            pytest.approx(unanswered.mean(), abs=1e-5),
            pytest.approx(unanswered[1:].sum() / len(gold), abs=1e-5),
        ]
        assert scores["fixed"] == [1.0, 0.0, 0.0]

    def test_every_right_short_answer_counts(self, miniatures: Miniatures) -> None:
        prepared = miniatures.prepared(self.name, "fixed")
        gold = pd.read_csv(prepared.private / "gold_submission.csv", keep_default_na=False).set_index("example_id")
        for line in (prepared.private / "test.jsonl").read_text().splitlines():
            record = json.loads(line)
            spans = record["annotations"][0]["short_answers"]
            if spans:
                start, end = span(spans[-1])
                gold.loc[f"{record['example_id']}_short", "PredictionString"] = f"{start}:{end}"
        grade = grade_submission(to_csv(gold.reset_index()), prepared, home=miniatures.home)
        assert grade.score == 1


def first_answer(record: dict[str, Any], kind: str) -> str:
    """The answer of the gold submission."""
    (annotation,) = record["annotations"]
    if kind == "long":
        long = annotation["long_answer"]
        return "" if long["start_token"] == -1 else f"{long['start_token']}:{long['end_token']}"
    if annotation["yes_no_answer"] != "NONE":
        return str(annotation["yes_no_answer"])
    return next((f"{short['start_token']}:{short['end_token']}" for short in annotation["short_answers"]), "")


def span(tokens: dict[str, int]) -> tuple[int, int]:
    """A pair of tokens."""
    return tokens["start_token"], tokens["end_token"]


def to_json_lines(records: list[dict[str, Any]]) -> bytes:
    """JSON without spaces, ASCII except DEL, with escaped slashes."""
    lines = [json.dumps(record, separators=(",", ":")) + "\n" for record in records]
    return "".join(lines).replace("/", "\\/").replace("\\u007f", "\x7f").encode()


def make_record(id: int, text: str) -> dict[str, Any]:
    """A record whose keys have another order than in the miniature."""
    answer = {"start_token": 1, "end_token": 3} if id % 3 else {"end_token": -1, "start_token": -1}
    annotation = {"annotation_id": 2**63 + id, "yes_no_answer": "NONE", "short_answers": [], "long_answer": answer}
    return {
        "example_id": id,
        "document_url": "http://x/y",
        "question_text": f"q {text}",
        "document_text": text,
        "long_answer_candidates": [{"top_level": id % 2 == 0, "start_token": 0}],
        "annotations": [annotation],
    }
