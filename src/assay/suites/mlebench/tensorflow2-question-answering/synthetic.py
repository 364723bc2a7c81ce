"""A miniature of the questions: the answer follows the word that the question asks about."""

import json
from typing import Any

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

RECORDS = 1060  # more than one portion of 1,000


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Pages of a few paragraphs; a quarter of the questions has no answer, some a yes or no."""
    ids = make.rng.integers(-(2**63), 2**63 - 1, RECORDS)
    with (job.raw / "simplified-nq-train.jsonl").open("w") as file:
        for number in range(RECORDS):
            file.write(json.dumps(_make_record(int(ids[number]), number, make), ensure_ascii=number % 2 == 0) + "\n")


def _make_record(id: int, record: int, make: Miniature) -> dict[str, Any]:
    paragraphs = [make.words(int(count)).split() for count in make.rng.integers(6, 12, 3)]
    paragraphs[0][0] = ("caf\u00e9", "10/12", "\U0001f600", 'a"b\\c', "\u2028", "tab\tbed")[record % 6]
    tokens: list[str] = []
    candidates = []
    for words in paragraphs:
        start = len(tokens)
        tokens += ["<P>", *words, "</P>"]
        candidates.append({"start_token": start, "top_level": True, "end_token": len(tokens)})
    chosen = int(make.rng.integers(0, len(paragraphs)))
    first = candidates[chosen]["start_token"] + 2 + int(make.rng.integers(0, 3))
    asked = tokens[first - 1] if record % 4 else make.words(1)
    return {
        "document_text": " ".join(tokens),
        "long_answer_candidates": candidates,
        "question_text": f"what is {asked}",
        "annotations": [_annotate(record, candidates[chosen], chosen, first, make)],
        "document_url": f"https://en.example.org/wiki/{record}",
        "example_id": id,
    }


def _annotate(record: int, passage: dict[str, int], number: int, first: int, make: Miniature) -> dict[str, Any]:
    answered = record % 4 != 0
    phrases = [{"start_token": first, "end_token": first + 2}, {"start_token": first + 1, "end_token": first + 2}]
    answer = {"start_token": passage["start_token"], "candidate_index": number, "end_token": passage["end_token"]}
    return {
        "yes_no_answer": ("YES", "NO")[record % 2] if record % 9 == 1 and answered else "NONE",
        "long_answer": answer if answered else {"start_token": -1, "candidate_index": -1, "end_token": -1},
        "short_answers": phrases[: record % 3] if answered else [],
        "annotation_id": int(make.rng.integers(0, 2**64 - 1, dtype="uint64")),
    }
