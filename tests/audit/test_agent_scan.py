"""The scan of submitted agents: planted answers, names and look-ups are found, and nothing in honest agents."""

import base64
import bz2
import gzip
import io
import json
import lzma
import pickle
import tarfile
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

import assay.agents
from assay.audit.agent_scan import AnswerSheet, scan_agent
from assay.tasks import Registry

RANDOM = np.random.default_rng(0)
CLASSES = AnswerSheet(
    "suite/pet-sounds",
    tuple(map(str, range(900, 1200))),
    {"label": tuple(RANDOM.choice(["cat", "dog", "hen"], 300))},
)
PRICES = AnswerSheet(
    "suite/house-prices-2020", tuple(f"h{row:04d}" for row in range(200)),
    {"price": tuple(f"{value:.6g}" for value in RANDOM.uniform(1e4, 9e5, 200))},
)  # fmt: skip
SHEETS = [CLASSES, PRICES]
NAMES = ["suite/pet-sounds", "suite/house-prices-2020"]
LABELS, IDS = CLASSES.columns["label"], CLASSES.ids
VALUES = [float(value) for value in PRICES.columns["price"]]
CSV = "id,label\n" + "".join(f"{id},{label}\n" for id, label in zip(IDS, LABELS, strict=True))
LETTERS = "".join(label[0] for label in LABELS)


def archive(kind: str) -> bytes:
    output = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("a/b.csv", CSV)
    else:
        with tarfile.open(fileobj=output, mode="w:gz") as file:
            member = tarfile.TarInfo("b.csv")
            member.size = len(CSV)
            file.addfile(member, io.BytesIO(CSV.encode()))
    return output.getvalue()


def array(values) -> bytes:
    output = io.BytesIO()
    np.save(output, values)
    return output.getvalue()


PLANTED: dict[str, tuple[str, bytes | str]] = {
    "a table of answers": ("data/known.csv", CSV),
    "part of a table": ("known.csv", "\n".join(CSV.splitlines()[40:80])),
    "answers as JSON": ("known.json", json.dumps(dict(zip(IDS, LABELS, strict=True)))),
    "answers in a dictionary": ("agent.py", f"KNOWN = {dict(zip(IDS[:60], LABELS, strict=False))!r}"),
    "labels in order": ("agent.py", f"ORDER = {list(LABELS[100:220])!r}"),
    "labels backward": ("agent.py", f"ORDER = {list(LABELS[100:220])[::-1]!r}"),
    "labels as a string of words": ("agent.py", f"ORDER = '{' '.join(LABELS[:120])}'.split()"),
    "numbers": ("agent.py", f"PRICES = {VALUES[:50]!r}"),
    "numbers in text": ("notes.txt", "\n".join(f"{value:.6g}" for value in VALUES)),
    "base64": ("agent.py", f"BLOB = '{base64.b64encode(CSV.encode()).decode()}'"),
    "base64 of a compressed table": ("agent.py", f"B = '{base64.b64encode(zlib.compress(CSV.encode())).decode()}'"),
    "base64 over several lines": ("agent.py", "B = (" + "\n".join(
        repr(base64.b64encode(CSV.encode()).decode()[start : start + 60]) for start in range(0, 4000, 60)) + ")"),
    "hexadecimal": ("agent.py", f"B = '{lzma.compress(CSV.encode()).hex()}'"),
    "a compressed file": ("weights.bin", gzip.compress(CSV.encode())),
    "a file compressed otherwise": ("weights.bin", bz2.compress(CSV.encode())),
    "an archive": ("weights.zip", archive("zip")),
    "an archive of another kind": ("weights.pt", archive("tar")),
    "an array": ("weights.npy", array(np.array(VALUES))),
    "a pickle": ("weights.pkl", pickle.dumps({"values": VALUES})),
    "letters moved by thirteen": ("agent.py", "X = '" + CSV.replace("\n", ";").translate(
        str.maketrans("abcdefghijklmnopqrstuvwxyz", "nopqrstuvwxyzabcdefghijklm")) + "'"),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_planted_answers_are_found(name: str, tmp_path: Path):
    file, content = PLANTED[name]
    (tmp_path / "agent.py").write_text("class Agent:\n    pass\n")
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    findings = scan_agent(tmp_path, SHEETS, NAMES)
    assert {finding.kind for finding in findings} >= {"answers"}, findings
    assert {finding.file for finding in findings} == {file}


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("if 'house-prices-2020' in prompt: go()", "task name"),
        ("MODULES = {'pet_sounds': 1}", "task name"),
        ("if task == 'suite/pet-sounds': go()", "task name"),
        ("KNOWN = {'0123456789abcdef0123456789abcdef': 1}", "look-up"),
        ("if md5(data).hexdigest() == '0123456789abcdef0123456789abcdef': go()", "look-up"),
        ("open('/var/cache/assay/data')", "look-up"),
        ("run('kaggle competitions download -c x')", "look-up"),
        (f"TABLE = {list(range(300))}", "look-up"),
    ],
)
def test_names_of_tasks_and_look_ups_are_found(code: str, kind: str, tmp_path: Path):
    (tmp_path / "agent.py").write_text(code)
    assert [finding.kind for finding in scan_agent(tmp_path, SHEETS, NAMES)] == [kind]


HONEST = ("aide", "automl", "chooser", "external", "human", "mlagentbench", "replay.py", "sampler", "shell", "starter")


@pytest.mark.parametrize("agent", HONEST)
def test_nothing_is_found_in_an_honest_agent(agent: str):
    names = [task.id for task in Registry().tasks()]
    assert scan_agent(Path(assay.agents.__file__).parent / agent, SHEETS, [*names, *NAMES]) == []


def test_nothing_is_found_in_the_examples():
    names = [task.id for task in Registry().tasks()]
    examples = Path(__file__).parents[2] / "examples"
    assert [scan_agent(examples / name, SHEETS, names) for name in ("own_agent.py", "random_search.py")] == [[], []]


def test_what_unpacks_to_too_much_is_not_unpacked_and_named(tmp_path: Path):
    # 20 archives of 100 files of 32 MB each, twice compressed, would be 64 GB.
    content = zlib.compress(zlib.compress(bytes(2**25), 9), 9)
    for count in (100, 20):
        output = io.BytesIO()
        with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as file:
            for number in range(count):
                file.writestr(f"{number}.bin", content)
        content = output.getvalue()
    (tmp_path / "weights.zip").write_bytes(content)
    (finding,) = scan_agent(tmp_path, SHEETS, NAMES, max_unpacked=2**20)
    assert finding.kind == "answers"
    assert "more than 1" in finding.detail
    assert "not all was scanned" in finding.detail
