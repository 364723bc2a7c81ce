"""A miniature of the pizza requests: random words, a few of them predictive."""

import json
from typing import Any

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

KNOWN_LATER = [
    "number_of_downvotes_of_request_at_retrieval",
    "number_of_upvotes_of_request_at_retrieval",
    "post_was_edited",
    "request_number_of_comments_at_retrieval",
    "request_text",
    "requester_account_age_in_days_at_retrieval",
    "requester_days_since_first_post_on_raop_at_retrieval",
    "requester_number_of_comments_at_retrieval",
    "requester_number_of_comments_in_raop_at_retrieval",
    "requester_number_of_posts_at_retrieval",
    "requester_number_of_posts_on_raop_at_retrieval",
    "requester_received_pizza",
    "requester_upvotes_minus_downvotes_at_retrieval",
    "requester_upvotes_plus_downvotes_at_retrieval",
    "requester_user_flair",
]


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write requests; successful ones thank, and only these may name a giver."""
    job.raw.mkdir(parents=True, exist_ok=True)
    for name, count in (("train", 300), ("test", 120)):
        outcomes = zip(make.hex_ids(count, 5), make.labels(count), strict=True)
        requests = [_request(make, f"t3_{id}", bool(received)) for id, received in outcomes]
        hidden = KNOWN_LATER if name == "test" else []
        visible = [{field: request[field] for field in request if field not in hidden} for request in requests]
        (job.raw / f"{name}.json").write_text(json.dumps(visible))


def _request(make: Miniature, id: str, received: bool) -> dict[str, Any]:
    count, days = make.rng.integers(0, 200, 20).tolist(), make.rng.uniform(0, 900, 4).tolist()
    polite = "thank you, señor" if received == (make.rng.random() < 0.9) else "gimme"
    text = f"{make.words(12)} {polite} {make.words(12)}\n\nedit: \N{SLICE OF PIZZA}"
    named = received and make.rng.random() < 0.5
    posted = float(make.rng.integers(1_300_000_000, 1_380_000_000))
    return {
        "giver_username_if_known": make.words(1) if named else "N/A",
        "number_of_downvotes_of_request_at_retrieval": count[0],
        "number_of_upvotes_of_request_at_retrieval": count[1],
        "post_was_edited": bool(make.rng.random() < 0.1),
        "request_id": id,
        "request_number_of_comments_at_retrieval": count[2],
        "request_text": text,
        "request_text_edit_aware": text.partition("\n")[0],
        "request_title": f"[Request] {make.words(4)}",
        "requester_account_age_in_days_at_request": days[0],
        "requester_account_age_in_days_at_retrieval": days[0] + 400,
        "requester_days_since_first_post_on_raop_at_request": 0.0,
        "requester_days_since_first_post_on_raop_at_retrieval": days[1],
        "requester_number_of_comments_at_request": count[3],
        "requester_number_of_comments_at_retrieval": count[3] + count[4],
        "requester_number_of_comments_in_raop_at_request": count[5],
        "requester_number_of_comments_in_raop_at_retrieval": count[5] + count[6],
        "requester_number_of_posts_at_request": count[7],
        "requester_number_of_posts_at_retrieval": count[7] + count[8],
        "requester_number_of_posts_on_raop_at_request": 0,
        "requester_number_of_posts_on_raop_at_retrieval": 1,
        "requester_number_of_subreddits_at_request": count[9] // 50,
        "requester_received_pizza": received,
        "requester_subreddits_at_request": make.words(count[9] // 50).split(),
        "requester_upvotes_minus_downvotes_at_request": count[10],
        "requester_upvotes_minus_downvotes_at_retrieval": count[10] + count[11],
        "requester_upvotes_plus_downvotes_at_request": count[10] + count[12],
        "requester_upvotes_plus_downvotes_at_retrieval": count[10] + count[12] + count[13],
        "requester_user_flair": "shroom" if received else None,
        "requester_username": make.words(2).replace(" ", "_"),
        "unix_timestamp_of_request": posted,
        "unix_timestamp_of_request_utc": posted - 3600,
    }
