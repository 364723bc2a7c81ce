"""An error while downloading a competition says in a sentence what to do, and contains no credentials."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pydantic
import pytest
from kaggle_server import KEY, RULES, TOKEN, USERNAME
from little_kaggle import HERE, LittleKaggle, little_kaggle

import assay
from assay.core.home import Home


@pytest.fixture
def little(tmp_path: Path, alone: Home) -> Iterator[LittleKaggle]:
    with little_kaggle(tmp_path, alone) as running:
        yield running


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        ({"status": 403, "message": {"code": 403, "message": RULES}},
         f"refuses access to toy (Kaggle says: {RULES}); accept its rules with the account of your token at "
         "https://www.kaggle.com/c/toy/rules"),
        ({"status": 403}, "refuses access to toy; accept its rules"),
        ({"status": 404, "message": {"code": 404, "message": "Not found"}}, "Kaggle has no competition toy"),
        ({"status": 429, "message": {"error": {"code": 429, "message": "Too many requests"}}},
         "rate limit was exceeded for toy (Kaggle says: Too many requests); run again later"),
        ({"status": 429, "headers": {"Retry-After": "30"}}, "run again in 30 seconds"),
        ({"status": 503}, "Kaggle returned 503 for toy; run again later"),
        ({"status": 401}, "does not accept your credentials; create a token at https://www.kaggle.com/settings"),
    ],
)  # fmt: skip
def test_a_refusal_is_reported_with_what_to_do(little: LittleKaggle, plan: dict, sentence: str) -> None:
    little.publish(**plan)
    assert sentence in little.result()["error"]
    assert list((little.home.downloads / "kaggle/toy").iterdir()) == []


def test_missing_and_wrong_credentials_are_reported(little: LittleKaggle) -> None:
    little.publish()
    missing = little.fetch({}, variables={})[-1]["error"]
    assert "no valid Kaggle credentials were found; create a token at https://www.kaggle.com/settings" in missing
    assert all(word in missing for word in ("KAGGLE_API_TOKEN", "KAGGLE_KEY", "~/.kaggle/kaggle.json"))
    assert little.requests() == []
    wrong = little.fetch({}, variables={"KAGGLE_USERNAME": USERNAME, "KAGGLE_KEY": "guessed"})[-1]["error"]
    assert wrong.startswith("Kaggle does not accept your credentials (Kaggle says: Unauthenticated); create a token")
    assert "guessed" not in wrong
    expired = little.fetch({}, variables={"KAGGLE_API_TOKEN": "expired"})[-1]["error"]
    assert "no valid Kaggle credentials were found" in expired


@pytest.mark.parametrize("source", ["variable", "token file", "key file"])
def test_credentials_are_found_in_every_usual_place(little: LittleKaggle, source: str) -> None:
    little.publish()
    (little.user / ".kaggle").mkdir()
    if source == "token file":
        (little.user / ".kaggle/access_token").write_text(f"{TOKEN}\n")
    if source == "key file":
        (little.user / ".kaggle/kaggle.json").write_text(json.dumps({"username": USERNAME, "key": KEY}))
    variables = {"KAGGLE_API_TOKEN": TOKEN} if source == "variable" else {}
    assert little.is_complete(little.fetch({}, variables=variables)[-1])


@pytest.mark.parametrize("verbose", ["", "1"])
def test_credentials_are_never_shown(little: LittleKaggle, verbose: str) -> None:
    """A line break in a token makes the client quote the token; in verbose mode it prints every header."""
    little.publish()
    broken = {"KAGGLE_API_TOKEN": f"{TOKEN}\nsecond line", "VERBOSE": verbose}
    assert "Kaggle's client failed (" in little.fetch({}, variables=broken)[-1]["error"]
    assert little.is_complete(little.fetch({}, variables={"KAGGLE_API_TOKEN": TOKEN, "VERBOSE": verbose})[-1])


@pytest.mark.parametrize("variables", (None, {"KAGGLE_API_TOKEN": TOKEN}))
def test_a_missing_network_is_reported(little: LittleKaggle, variables) -> None:
    error = little.fetch({}, reachable=False, variables=variables)[-1]["error"]
    assert "Kaggle cannot be reached to download toy" in error


def test_a_missing_client_is_reported(alone: Home, tmp_path: Path) -> None:
    without = tmp_path / "without"
    without.mkdir()
    for part in Path(pydantic.__file__).parents[1].iterdir():
        if not part.name.startswith("kaggle"):
            (without / part.name).symlink_to(part)
    words = [sys.executable, "-S", HERE / "kaggle_call.py", alone.root, '{"competition": "toy"}']
    path = f"{without}:{Path(assay.__file__).parents[1]}"
    done = subprocess.run(words, env={"PYTHONPATH": path}, capture_output=True, text=True, timeout=600)
    assert re.search(r"run: pip install .*\[kaggle\]'", done.stdout), done.stderr


def test_an_archive_larger_than_the_disk_is_not_started(little: LittleKaggle) -> None:
    little.publish(announce=450 * 10**12)
    lines = little.fetch({})
    assert "downloading and extracting toy.zip needs 900TB" in lines[-1]["error"]
    assert [line for line in lines if "stage" in line] == []
    assert all(path.stat().st_size == 0 for path in (little.home.downloads / "kaggle/toy").iterdir())


def test_a_disk_that_fills_up_keeps_the_partial_download(little: LittleKaggle) -> None:
    little.publish()
    assert "is full while downloading toy.zip; free some space" in little.result(max_bytes=100_000)["error"]
    assert little.is_complete(little.result())
    assert little.requests()[-1] == "get toy 100000"
