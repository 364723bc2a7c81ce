import random
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from competition import (
    OVERFLOWING,
    Competition,
    Files,
    Miniatures,
    Table,
    copy_files,
    copy_folders,
    find_task,
    prepare_raw,
    read_prepared,
    read_text_table,
    synthesize,
    to_csv,
    write_archive,
    write_file,
)
from graders import align, require
from sklearn.metrics import label_ranking_average_precision_score

from assay.core.errors import SourceError
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import Prepared, prepare
from assay.data.store import PrepareOptions
from assay.grading import grade_submission
from assay.tasks import Task
from assay.tasks.model import WebFile

CLASSES = list(find_task("freesound-audio-tagging-2019").submission.columns)
META = "FSDKaggle2019.meta.zip"
LABELS = "FSDKaggle2019.meta/test_post_competition.csv"


class TestFreesoundAudioTagging2019(Competition):
    name = "freesound-audio-tagging-2019"
    id = "fname"
    targets = tuple(CLASSES)
    max_rows = 15

    def prepare_reference(self, raw: Path) -> Files:
        with zipfile.ZipFile(raw / META) as archive, archive.open(LABELS) as file:
            table = pd.read_csv(file)
        rows = [
            [row["fname"], *(int(name in row["labels"].split(",")) for name in CLASSES)]
            for _, row in table[table["usage"] == "Private"].iterrows()
        ]
        return {
            "private/test.csv": to_csv(pd.DataFrame(rows, columns=["fname", *CLASSES])),
            **copy_files(raw, "public", [path.name for path in raw.glob("*.csv")]),
            **copy_folders(raw, "public", [path.name for path in raw.iterdir() if path.is_dir()]),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require(list(submission.columns) == ["fname", *CLASSES])
        submission, answers = align(submission, answers, "fname")
        texts = submission[CLASSES].select_dtypes(object)
        require(not texts.isin(OVERFLOWING).to_numpy().any())  # pandas 2.2 refuses to convert such text
        scores = submission[CLASSES].apply(pd.to_numeric).to_numpy()
        truth = answers[CLASSES].to_numpy() > 0
        kept = truth.any(axis=1)
        return float(label_ranking_average_precision_score(truth[kept], scores[kept], sample_weight=truth[kept].sum(1)))

    def perturbations(self, table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
        yield from super().perturbations(table, draw)
        yield "rounded", table.change(lambda row: {name: row[name][:3] for name in CLASSES})
        yield "negative", table.change(lambda row: {name: f"-{row[name]}" for name in CLASSES})
        yield (
            "all but one column boolean",
            table.change(lambda row: {name: str(float(row[name]) > 0.5) for name in CLASSES[1:]}),
        )

    def test_rows_keep_the_order_of_the_labels_and_names_must_match_exactly(self, raw: Path) -> None:
        """Labels with spaces or of no class count for nothing; anything in the raw data but the labels is copied."""
        rows = [
            '9.wav,"Bark,Yell",Private', "8.wav,Bark,Public", '7.wav,"Yell, Bark,nothing",Private', "a.wav,x,Private"
        ]  # fmt: skip
        write_archive(raw / META, {LABELS: "fname,labels,usage\n" + "\n".join(rows) + "\n"})
        write_file(raw / "sample_submission.csv", sample_of(["7.wav", "a.wav", "9.wav"]))
        write_file(raw / "notes.txt", b"anything")
        write_file(raw / "more/deep/file.txt")
        write_file(raw / "old-FSDKaggle2019.meta-copy/x.txt")
        (raw / "test").mkdir()
        files = prepare_raw(self.name, raw)
        answers = read_text_table(files["private/test.csv"])
        assert list(answers["fname"]) == ["9.wav", "7.wav", "a.wav"]
        labels = [[name for name in CLASSES if row[name] == "1"] for _, row in answers.iterrows()]
        assert labels == [["Bark", "Yell"], ["Yell"], []]
        assert {path for path in files if path.startswith("public")} == {
            "public/sample_submission.csv", "public/notes.txt", "public/more/deep/file.txt", "public/test/"
        }  # fmt: skip

    @pytest.mark.parametrize("edition", ["v1", "fixed"])
    def test_a_recording_without_a_label_may_have_no_scores_in_v1(
        self, miniatures: Miniatures, edition: str, tmp_path: Path
    ) -> None:
        prepared = miniatures.prepared(self.name, edition)
        answers = pd.read_csv(prepared.private / "test.csv")
        answers.loc[3, CLASSES] = 0
        (tmp_path / "test.csv").write_bytes(to_csv(answers))
        prepared = replace(prepared, private=tmp_path)
        scores = []
        for row, score in ((3, None), (3, np.inf), (4, None)):
            changed = answers.astype(dict.fromkeys(CLASSES, float))
            changed.loc[row, CLASSES[5]] = score
            scores.append(grade_submission(to_csv(changed), prepared, home=miniatures.home).score)
        assert scores == ([1.0, 1.0, None] if edition == "v1" else [None] * 3)

    @pytest.mark.parametrize(
        ("labels", "names", "message"),
        [
            ("1.wav,Bark,Private\n", ["1.wav", "2.wav"], "lists other recordings"),
            ("1.wav,,Private\n", ["1.wav"], "without labels"),
        ],
    )
    def test_labels_that_do_not_fit_are_refused(self, raw: Path, labels: str, names: list[str], message: str) -> None:
        write_file(raw / LABELS, f"fname,labels,usage\n{labels}".encode())
        write_file(raw / "sample_submission.csv", sample_of(names))
        with pytest.raises(SourceError, match=message):
            prepare_raw(self.name, raw)

    def test_labels_come_from_the_web_where_the_raw_data_lacks_them(
        self, miniatures: Miniatures, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("no_proxy", "*")
        raw = synthesize(self.name, tmp_path / "raw")
        content = (raw / META).read_bytes()
        (raw / META).unlink()
        with serve(content) as url:
            prepared = prepare_local(self._task(url), Home(tmp_path / "home"), raw)
            assert read_prepared(prepared) == read_prepared(miniatures.prepared(self.name))
        # The download is kept: the server is gone by now.
        prepare_local(self._task(url), Home(tmp_path / "home"), raw, again=True)

    def test_what_is_missing_without_a_network_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("no_proxy", "*")
        raw = synthesize(self.name, tmp_path / "raw")
        (raw / META).unlink()
        with serve(b"") as url:
            pass
        with pytest.raises(SourceError) as caught:
            prepare_local(self._task(url), Home(tmp_path / "home"), raw)
        for part in (f"{self.name} needs {META}", "is not in Kaggle's archive", url, "cannot be reached", "--raw"):
            assert part in str(caught.value)

    @pytest.mark.parametrize("edition", ("v1", "fixed"))
    def test_columns_may_be_in_any_order_in_fixed(self, miniatures: Miniatures, edition: str) -> None:
        prepared = miniatures.prepared(self.name, edition)
        answers = pd.read_csv(prepared.private / "test.csv")
        straight, turned = (
            grade_submission(to_csv(answers[columns]), prepared, home=miniatures.home)
            for columns in (["fname", *CLASSES], [*CLASSES, "fname"])
        )
        assert straight.score == 1.0
        assert turned.score == (1.0 if edition == "fixed" else None)

    def _task(self, url: str) -> Task:
        task = find_task(self.name)
        source = task.source.model_copy(update={"files": (WebFile(url=url, file=META),)})
        return task.model_copy(update={"source": source})


def sample_of(names: list[str]) -> bytes:
    """Return a sample submission for these recordings."""
    return to_csv(pd.DataFrame(0, index=range(len(names)), columns=CLASSES).assign(fname=names)[["fname", *CLASSES]])


def prepare_local(task: Task, home: Home, raw: Path, *, again: bool = False) -> Prepared:
    """Prepare an extracted folder as a user does who has downloaded the competition's archive."""
    return prepare(
        home, task, "v1", "unverified", progress=NoProgress(), options=PrepareOptions(user_copy=raw, again=again)
    )


@contextmanager
def serve(content: bytes) -> Iterator[str]:
    """Serve one file on a loopback address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/records/1/files/{META}?download=1"
        finally:
            server.shutdown()
            thread.join()
