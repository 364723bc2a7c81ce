"""Copied code is found whatever it is renamed to, and independent code is not."""

import json
import os
import random
from pathlib import Path

import numpy as np
import pytest
from copydetect import CopyDetector
from copydetect.utils import winnow as winnow_by_copydetect

from assay.core.errors import RecordError
from assay.studies.similarity import (
    FILE_BREAK,
    FLAGGED,
    RUN_LENGTH,
    WINDOW,
    CodeSample,
    _hash_runs,
    best_matches,
    compare_sources,
    find_shared_lines,
    fingerprint,
    histogram,
    read_folder,
    similarity,
    summarize_relations,
    tokenize,
    winnow,
)

SUITES = Path(__file__).parents[2] / "src" / "assay" / "suites"
STUDY_AGENTS = Path(__file__).with_name("study_agents.py")
ORIGINAL = '''
import pandas as pd
from sklearn.linear_model import Ridge

def load(path):
    """Read the table and split off the target."""
    table = pd.read_csv(path)  # small enough
    target = table.pop("price")
    return table.select_dtypes("number").fillna(0), target

rows, target = load("train.csv")
best = None
for alpha in (0.1, 1.0, 10.0, 100.0):
    model = Ridge(alpha=alpha)
    model.fit(rows[:1000], target[:1000])
    error = ((model.predict(rows[1000:]) - target[1000:]) ** 2).mean() ** 0.5
    print(alpha, error)
    if best is None or error < best[0]:
        best = (error, model)
test = pd.read_csv("test.csv")
test["price"] = best[1].predict(test.select_dtypes("number").fillna(0))
test[["id", "price"]].to_csv("submission.csv", index=False)
'''
RENAMED = (
    ORIGINAL.replace("alpha", "strength").replace("table", "frame").replace("target", "y").replace("best", "winner")
    .replace("    ", "  ").replace('"', "'").replace("'''Read the frame and split off the y.'''", "'''Load.'''")
)  # fmt: skip
CLEAN = (SUITES / "mlagentbench" / "imdb" / "prepare.py").read_text()
OTHER = (SUITES / "mlagentbench" / "clrs" / "prepare.py").read_text()


def score(first: str, second: str) -> float:
    return similarity(fingerprint(first), fingerprint(second))


def test_tokens_keep_the_structure_and_drop_names_values_comments_and_layout():
    assert tokenize("for x in range(3):  # three\n\tprint('a')") == [
        *("for", "name", "in", "name", "(", "number", ")", ":", "name", "(", "string", ")")
    ]
    assert tokenize("x = 'a # b'") == ["name", "=", "string"]
    assert tokenize('"""doc\n# not a comment\n""" if 1 else f\'x\'') == ["string", "if", "number", "else", "string"]


def test_a_renamed_copy_is_the_same_and_other_code_is_not():
    assert score(ORIGINAL, ORIGINAL) == 1
    assert score(ORIGINAL, RENAMED) == 1
    assert score(ORIGINAL, OTHER) < 0.05
    half = ORIGINAL[: ORIGINAL.index("best = None")] + OTHER
    assert 0.05 < score(ORIGINAL, half) < 0.6


def test_shares_of_runs_worked_by_hand():
    """Pairs of tokens, all of them kept: (name =)(= number) and (name =)(= string) have one of two in common.

    Three against two pairs, of which two are shared: 2·2 / (3 + 2).
    """
    first, second, longer = (fingerprint(code, 2, 1) for code in ("a = 1", "b = 'x'", "c = 2 + "))
    assert similarity(first, second) == 0.5
    assert similarity(first, longer) == 0.8
    assert similarity(first, fingerprint("")) == 0


def test_repeated_runs_count_as_often_as_they_occur_as_in_dolos():
    """Dolos: occurrences of shared hashes on both sides, by all: (name =)(= number) twice, and two others between.

    2 of 2 and 4 of 6 are shared: (2 + 4) / (2 + 6). Counting each hash once would give 2·2 / (2 + 4).
    """
    assert similarity(fingerprint("a = 1", 2, 1), fingerprint("a = 1; b = 2", 2, 1)) == 0.75


def test_winnowing_keeps_what_its_paper_and_dolos_keep():
    """The example of Schleimer, Wilkerson and Aiken (2003), Figure 2, with windows of 4, keeps 17 17 8 39 17.

    Dolos, like copydetect, also keeps the minima of the first windows, which are not full yet: 77, 74 and 42.
    """
    hashes = [77, 74, 42, 17, 98, 50, 17, 98, 8, 88, 67, 39, 77, 74, 42, 17, 98]
    assert list(winnow(hashes, 4)) == [77, 74, 42, 17, 17, 8, 39, 17]
    assert list(winnow([5, 5, 5], 2)) == [5, 5, 5], "the last of equal hashes, each once"
    # The texts of Dolos's own test of its filter: at least three kept pairs of letters are common.
    first, second = (set(winnow(_hash_runs(text, 2), 2)) for text in ("abcdefg", "bcdabcefg"))
    assert len(first & second) >= 3


def test_defaults_are_those_of_the_published_study_and_guarantee_what_winnowing_does():
    """Runs of 23 tokens, windows of 17: 23 + 17 - 1 = 39 shared tokens are always found, and 22 never."""
    assert (RUN_LENGTH, WINDOW, FLAGGED) == (23, 17, 0.6)
    chance = random.Random(2)
    for _ in range(50):
        shared, *others = (" ".join(chance.choices("+-*/%<>|&^~", k=length)) for length in (39, 60, 60, 60, 60))
        prints = [
            fingerprint(f"{before} {shared} {after}") for before, after in zip(others[:2], others[2:], strict=True)
        ]
        assert prints[0] & prints[1]
        short = shared[: 2 * 22]
        prints = [fingerprint(f"{mark}\n{short}\n{mark}") for mark in ("a = 1", "del b")]
        assert not prints[0] & prints[1]


def test_the_same_hashes_are_kept_as_by_another_implementation():
    """copydetect's winnowing of our hashes."""
    for code in (path.read_text() for path in sorted((SUITES / "mlagentbench").glob("*/prepare.py"))):
        hashes = _hash_runs(tokenize(code), RUN_LENGTH)
        theirs, _ = winnow_by_copydetect(np.array(hashes), WINDOW)
        assert set(fingerprint(code)) == set(theirs.tolist())


def test_similarities_rank_as_those_of_another_implementation(tmp_path: Path):
    """copydetect compares by its own lexer and formula; both must agree on what is copied and what is not."""
    codes = {"original": ORIGINAL, "renamed": RENAMED, "half": ORIGINAL[:700] + OTHER, "other": OTHER}
    for name, code in codes.items():
        (tmp_path / f"{name}.py").write_text(code)
    detector = CopyDetector(noise_t=23, guarantee_t=39, display_t=0, silent=True)
    for name in codes:
        detector.add_file(str(tmp_path / f"{name}.py"))
    detector.run()
    theirs = {
        frozenset((Path(test).stem, Path(reference).stem)): max(first, second)
        for first, second, test, reference, *_ in detector.get_copied_code_list()
    }
    assert theirs[frozenset(("original", "renamed"))] > 0.9
    assert theirs.get(frozenset(("original", "other")), 0) < 0.1
    assert score(codes["original"], codes["renamed"]) > 0.9
    assert score(codes["original"], codes["other"]) < 0.1


def test_the_folders_of_a_suite_are_not_flagged_but_a_planted_copy_is():
    sources = [
        CodeSample(path.parent.name, path.parent.name, path.read_text())
        for path in sorted((SUITES / "mlagentbench").glob("*/synthetic.py"))
        if len(tokenize(path.read_text())) > 200  # shorter ones are the same few calls
    ]
    assert len(sources) > 5
    planted = CodeSample("planted", "planted", sources[0].code.replace("rows", "things"))
    clean = compare_sources(sources, sources)
    assert len(clean) == len(sources) * (len(sources) - 1) // 2
    assert not [match for match in clean if match.similarity > 0.6]
    matches = compare_sources([planted], sources)
    assert [match.second for match in matches if match.similarity > 0.6] == [sources[0].name]
    best = best_matches(matches, [planted])
    assert histogram(best) == [0] * 9 + [1]


def test_shared_lines_are_those_of_common_runs():
    """The copied half is marked on both sides, the rest on neither."""
    own = "".join(f"alone_{number} = compute(value, {number})[{number}:]\n" for number in range(3))
    mine, theirs = find_shared_lines(RENAMED + "\n\n" + OTHER, ORIGINAL)
    copied = RENAMED.count("\n")
    assert {line for line in mine if line > copied + 2} == set()
    code = {number for number, line in enumerate(ORIGINAL.split("\n"), 1) if line.strip()}
    assert theirs <= code and len(theirs) > 0.9 * len(code)
    assert find_shared_lines(own, OTHER) == (set(), set())
    assert find_shared_lines("", ORIGINAL) == (set(), set())


def test_a_folder_of_scripts_and_notebooks_is_read(tmp_path: Path):
    (tmp_path / "a.py").write_text(ORIGINAL)
    cells = [
        {"cell_type": "markdown", "source": "Some text"},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "!pip list\n", *RENAMED.splitlines(keepends=True)]},
    ]
    (tmp_path / "b.ipynb").write_text(json.dumps({"cells": cells}))
    (tmp_path / "c.txt").write_text("no code")
    (tmp_path / "link.py").symlink_to("/etc/passwd")
    first, second = read_folder(tmp_path)
    assert (first.name, second.name) == ("a.py", "b.ipynb")
    assert score(first.code, second.code) == 1


@pytest.mark.parametrize("text", ["", "[]", '{"cells": 1}', '{"cells": [{}]}', "[" * 100_000])
def test_a_file_that_is_not_a_notebook_is_an_error(tmp_path: Path, text: str):
    (tmp_path / "x.ipynb").write_text(text)
    with pytest.raises(RecordError, match=r"x\.ipynb is not a notebook"):
        read_folder(tmp_path)


@pytest.mark.parametrize("piece", ["'", '"""', "\\", "x", "((", "'\\", "f'", "#\n"])
def test_hostile_text_is_tokenized_in_one_pass(piece: str):
    """Would take hours if a pattern backtracked."""
    text = piece * 300_000
    assert len(tokenize(text)) <= len(text)


def test_a_hostile_folder_neither_hangs_nor_leads_outside(tmp_path: Path):
    (tmp_path / "secret.py").write_text("secret")
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "mine.py").write_text("pass")
    os.mkfifo(folder / "pipe.py")
    (folder / "link.py").symlink_to(tmp_path / "secret.py")
    (folder / "zero.ipynb").symlink_to("/dev/zero")
    (folder / "again").symlink_to(".")
    assert [source.name for source in read_folder(folder)] == ["mine.py"]
    deep = folder
    for _ in range(150):
        deep = deep / "d"
        deep.mkdir()
    with pytest.raises(RecordError, match="nested more than 100"):
        read_folder(folder)


def test_a_folder_of_too_many_files_is_refused(tmp_path: Path):
    for number in range(4):
        (tmp_path / f"{number}.py").touch()
    with pytest.raises(RecordError, match="more than 3"):
        read_folder(tmp_path, max_files=3)


def test_relations_and_coverage_are_distinguished():
    """A trial that copied half of a notebook: all of it is covered, but the notebook has more."""
    trial = CodeSample("t1", "t1", ORIGINAL, "trial", "s/a", "x")
    others = [
        CodeSample("t2", "t2", RENAMED, "trial", "s/a", "x"),
        CodeSample("t3", "t3", OTHER, "trial", "s/a", "y"),
        CodeSample("t4", "t4", OTHER + "\npass", "trial", "s/b", "x"),
        CodeSample("n.ipynb", "notebooks", ORIGINAL + OTHER, "notebook"),
    ]
    matches = {match.second: match for match in compare_sources([trial], others)}
    assert {name: match.relation for name, match in matches.items()} == {
        "t2": "other seed", "t3": "other agent", "t4": "other task", "n.ipynb": "notebook",
    }  # fmt: skip
    assert matches["n.ipynb"].coverage > 0.8 > 0.6 > matches["n.ipynb"].similarity
    first, *_ = summarize_relations(matches.values())
    assert (first.relation, first.pairs, first.flagged, first.highest) == ("other seed", 1, 1, 1.0)


def test_code_that_trials_were_given_neither_resembles_nor_differs():
    """Boilerplate is ignored on both sides, as by Dolos and copydetect, except in a comparison with itself."""
    provided = frozenset(_hash_runs(tokenize(OTHER)))
    mine, theirs = "rows = [first(x) for x in data if x]\n" * 9, "while left > 0:\n    left -= take(left, 1)\n" * 9
    first, second = (
        CodeSample(name, name, f"{code}{FILE_BREAK}{OTHER}", "trial", "s/a", "x", provided)
        for name, code in (("one", mine), ("other", theirs))
    )
    assert score(first.code, second.code) > FLAGGED
    (match,) = compare_sources([first, second], [first, second])
    assert (match.similarity, match.coverage) == (0, 0)
    copied = CodeSample("copied", "copied", mine + OTHER, "notebook")
    starter = CodeSample("starter", "panel", OTHER, "starter")
    matches = {match.second: match for match in compare_sources([first], [copied, starter])}
    assert matches["copied"].similarity > 0.8 and matches["starter"].similarity > FLAGGED
    lines = find_shared_lines(first.code, copied.code, ignored=provided)
    assert lines == (set(range(1, 10)), set(range(1, 10)))


def test_the_command_compares_trials_seeds_notebooks_and_panels(assay, pocket_home, tmp_path: Path):
    """Two seeds with code of their own, and a notebook with a renamed copy of the first one's.

    What they were given, the starter and a script that Assay ships, is most of their code, and all that `starter` has.
    """
    own, run, notebooks = [tmp_path / "own.py", tmp_path / "other.py"], tmp_path / "run", tmp_path / "notebooks"
    own[0].write_text(ORIGINAL)
    own[1].write_text(OTHER)
    author = f"{STUDY_AGENTS}:Author,own={own[0]}+{own[1]}"
    words = ["--agent", author, "--agent", "starter", "--seeds", "2", "--out", run, "--quiet"]
    assay("run", "pocket/digits", *words, home=pocket_home)
    printed = assay("study", "similarity", run, home=pocket_home)
    assert "Compared 2 of 4 trials (2 with only provided code)" in printed.stdout, printed.stdout + printed.stderr
    assert "Above 60%: 0 pairs" in printed.stdout
    notebooks.mkdir()
    cell = {"cell_type": "code", "source": RENAMED}
    (notebooks / "planted.ipynb").write_text(json.dumps({"cells": [cell]}))
    (notebooks / "clean.py").write_text(CLEAN + "# </pre><script>alert(1)</script>")
    page, figure = tmp_path / "pairs.html", tmp_path / "similarity.svg"
    words = ["--against", notebooks, "--panel", "--json", "--html", page, "--figure", figure]
    tables = json.loads(assay("study", "similarity", run, *words, home=pocket_home).stdout)["tables"]
    html = page.read_text()
    assert "planted.ipynb" in html and 'class="shared"' in html and 'class="own"' in html and "<script" not in html
    assert "&lt;script&gt;alert(1)" in html and figure.read_text().startswith("<svg")
    flagged = [(pair["second"], pair["relation"]) for pair in tables["pairs"]["rows"] if pair["similarity"] > 0.6]
    assert flagged == [("planted.ipynb", "notebook")]
    compared = {row["relation"]: row["pairs"] for row in tables["relations"]["rows"]}
    assert compared == {"notebook": 2, "file": 2, "starter": 2, "reference panel": 2}
    assert assay("study", "similarity", tmp_path, home=pocket_home).returncode == 2
