"""Prompts and pages are in the field's words: each pattern here reads as translated, and its replacement does not."""

import re

import pytest
from pages import ROOT

SUITES = ROOT / "src" / "assay" / "suites"
TEXTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "src" / "assay" / "agents").rglob("*.md")),
    *sorted(path for name in ("description.md", "obfuscated.md", "*.toml") for path in SUITES.rglob(name)),
]
REPLACEMENTS = {
    r"\d %": "95%, without a space",
    r"\bwhole numbers?\b": "integer",
    r"\bmiddle half\b": "interquartile mean (IQM)",
    r"\bprofits? from\b": "benefit from",
    r"\b(lies|lay) (there|open)\b": "is there, was visible",
    r"\b(anew|newly split)\b": "again, re-split",
    r"\bhand(s|ed)? in (a|the|its|your)\b": "submit",
    r"\bmeans? nothing\b": "carries no information, is not meaningful",
    r"\bmade-up\b": "synthetic",
    r"\bare in print\b": "published",
    r"\bfaults of\b": "bugs in",
    r"\bdrawn at random\b": "sampled",
    r"\bgoes? with (results|performance)\b": "correlates with",
    r"\b(say|says|said) how likely\b": "predict the probability",
    r"\b(answered|labeled) right\b": "classified correctly",
    r"\bsure mistakes?\b": "confident error",
    r"\bwhite space\b": "whitespace",
    r"\bout of proportion\b": "excessive",
    r"\bnot yours to use\b": "do not use",
    r"\bin four of five studies\b": "with 80% power",
    r"\bwith(out)? its ending\b": "including (or without) the extension",
    r"\bis (not )?asked for\b": "is (not) required",
}


@pytest.mark.parametrize(("pattern", "replacement"), REPLACEMENTS.items())
def test_texts_use_the_words_of_the_field(pattern: str, replacement: str) -> None:
    lines = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in TEXTS
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        if re.search(pattern, line, re.IGNORECASE)
    ]
    assert lines == [], f"write instead: {replacement}"
