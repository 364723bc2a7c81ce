"""Costs come from a dated table that a user can correct; what is not in it is unknown."""

import json

import pytest

from assay.core.errors import UsageError
from assay.models import Prices, Usage

PRICES = Prices.load()
MILLION = 10**6


def test_each_kind_of_token_has_its_price():
    # claude-opus-5: 5 read, 0.5 from the cache, 6.25 into the cache, 25 said; four millions of tokens, one of each kind
    usage = Usage(input_tokens=MILLION, cached_tokens=MILLION, cache_write_tokens=MILLION, output_tokens=MILLION)
    assert PRICES.cost("anthropic/claude-opus-5", usage) == pytest.approx(5 + 0.5 + 6.25 + 25)


def test_without_a_price_for_the_cache_its_tokens_cost_what_others_do():
    # gpt-5-pro: 15 read, nothing said about a cache
    usage = Usage(input_tokens=MILLION, cached_tokens=MILLION, cache_write_tokens=MILLION)
    assert PRICES.cost("openai/gpt-5-pro", usage) == pytest.approx(45)


def test_a_long_question_costs_more_where_the_provider_says_so():
    # gemini-2.5-pro: 1.25 read and 10 said, up to 200 000 tokens read; 2.5 and 15 beyond
    short = Usage(input_tokens=150_000, cached_tokens=50_000, output_tokens=1000)
    long = short + Usage(input_tokens=1)
    assert PRICES.cost("google/gemini-2.5-pro", short) == pytest.approx(
        (150_000 * 1.25 + 50_000 * 0.125 + 10_000) / 1e6
    )
    assert PRICES.cost("google/gemini-2.5-pro", long) == pytest.approx((150_001 * 2.5 + 50_000 * 0.25 + 15_000) / 1e6)


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("openai/gpt-5", "openai/gpt-5"),
        ("openai/gpt-5-2025-08-07", "openai/gpt-5"),
        ("openai/gpt-5-mini", "openai/gpt-5-mini"),
        ("openai/gpt-5-mini-2025-08-07", "openai/gpt-5-mini"),
        ("anthropic/claude-sonnet-4-20250514", "anthropic/claude-sonnet-4"),
        ("anthropic/claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4-5"),
        ("anthropic/claude-3-7-sonnet-latest", "anthropic/claude-3-7-sonnet"),
    ],
)
def test_snapshots_of_a_model_have_its_price(name, entry):
    assert PRICES.of(name) == PRICES.models[entry]


@pytest.mark.parametrize(
    "name",
    [
        "openai/gpt-5-ultra",
        "openai/gpt-5-ultra-2030-01-01",
        "openai/gpt-59",
        "openai/azure/gpt-5",
        "openrouter/openai/gpt-5",
        "scripted/x.json",
    ],
)
def test_another_model_with_a_similar_name_has_an_unknown_price(name):
    assert PRICES.of(name) is None
    assert PRICES.cost(name, Usage(input_tokens=5)) is None


def test_an_unknown_part_makes_the_sum_unknown():
    known, unknown = Usage(input_tokens=2, cost=0.5), Usage(output_tokens=3, reasoning_tokens=1)
    assert (Usage.nothing() + known).cost == 0.5
    total = sum([known, unknown], Usage.nothing())
    assert (total.total_tokens, total.reasoning_tokens, total.cost) == (5, 1, None)


def test_the_table_is_dated_and_names_its_source():
    assert PRICES.date == "2026-10-20"
    assert "list prices" in PRICES.source


@pytest.mark.parametrize("name", ["prices.toml", "prices.json"])
def test_a_users_own_file_corrects_and_extends_the_table(tmp_path, name):
    own = {"openai/gpt-5": {"input": 1, "output": 2}, "openai-api/local/*": {"input": 0, "output": 0}}
    path = tmp_path / name
    if name.endswith("json"):
        path.write_text(json.dumps({"date": "2027-01-01", "models": own}))
    else:
        lines = [
            f'[models."{model}"]\ninput = {price["input"]}\noutput = {price["output"]}' for model, price in own.items()
        ]
        path.write_text('date = "2027-01-01"\n' + "\n".join(lines))
    prices = Prices.load(path)
    usage = Usage(input_tokens=MILLION, output_tokens=MILLION)
    assert prices.cost("openai/gpt-5", usage) == 3
    assert prices.cost("openai-api/local/whatever", usage) == 0
    assert prices.of("openai/gpt-5-mini") == PRICES.of("openai/gpt-5-mini")
    assert (prices.date, "prices" in prices.source) == ("2027-01-01", True)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"models": {"a/b": {"input": 1}}}', r"prices\.json: models\.a/b\.output: Field required"),
        ('{"models": {"a/b": {"input": -1, "output": 1}}}', r"models\.a/b\.input: .* greater than or equal to 0"),
        ('{"modles": {}}', "modles: Extra inputs"),
        ("{", "is neither TOML nor JSON"),
        ("[]", "a price file is a table"),
        (None, r"prices\.json: No such file"),
    ],
)
def test_a_faulty_price_file_is_told_with_its_place(tmp_path, content, words):
    path = tmp_path / "prices.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UsageError, match=words):
        Prices.load(path)
