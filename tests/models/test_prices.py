"""Costs follow the list prices of genai-prices, unless the user gives a price; an unknown price stays unknown."""

import pytest

from assay.models import Price, Prices, Usage

PRICES = Prices()
MILLION = 10**6


# Figures from the price lists of the providers, in dollars per million tokens.
@pytest.mark.parametrize(
    ("name", "usage", "cost"),
    [
        # claude-opus-5: 5 input, 0.5 cache read, 6.25 cache write, 25 output
        (
            "anthropic/claude-opus-5",
            Usage(input_tokens=MILLION, cached_tokens=MILLION, cache_write_tokens=MILLION, output_tokens=MILLION),
            5 + 0.5 + 6.25 + 25,
        ),
        # gpt-5-pro: 15 input, no price for the cache
        (
            "openai/gpt-5-pro",
            Usage(input_tokens=MILLION, cached_tokens=MILLION, cache_write_tokens=MILLION),
            3 * 15,
        ),
        # gemini-2.5-pro: 1.25 input, 0.125 cache read, 10 output; 2.5, 0.25 and 15 for prompts above 200,000 tokens
        (
            "google/gemini-2.5-pro",
            Usage(input_tokens=150_000, cached_tokens=50_000, output_tokens=1000),
            (150_000 * 1.25 + 50_000 * 0.125 + 1000 * 10) / 1e6,
        ),
        (
            "google/gemini-2.5-pro",
            Usage(input_tokens=150_001, cached_tokens=50_000, output_tokens=1000),
            (150_001 * 2.5 + 50_000 * 0.25 + 1000 * 15) / 1e6,
        ),
        # gpt-5: 1.25 input; the same for its dated snapshots
        ("openai/gpt-5", Usage(input_tokens=MILLION), 1.25),
        ("openai/gpt-5-2025-08-07", Usage(input_tokens=MILLION), 1.25),
        ("openai/gpt-5-mini", Usage(input_tokens=MILLION), 0.25),
        ("anthropic/claude-sonnet-4-20250514", Usage(input_tokens=MILLION), 3),
        ("openrouter/openai/gpt-5", Usage(input_tokens=MILLION), 1.25),
    ],
)
def test_list_prices(name, usage, cost):
    assert PRICES.cost(name, usage) == pytest.approx(cost)


@pytest.mark.parametrize(
    "name",
    [
        "openai/gpt-5-ultra",
        "openai/gpt-5-ultra-2030-01-01",
        "openai/gpt-59",
        "openai/azure/gpt-5",
        "openai-api/local/gpt-5",
        "vllm/gpt-5",
        "scripted/x.json",
    ],
)
def test_a_model_with_a_similar_name_or_another_provider_has_an_unknown_price(name):
    assert PRICES.cost(name, Usage(input_tokens=5)) is None


def test_an_unknown_part_makes_the_sum_unknown():
    known, unknown = Usage(input_tokens=2, cost=0.5), Usage(output_tokens=3, reasoning_tokens=1)
    assert (Usage.zero() + known).cost == 0.5
    total = sum([known, unknown], Usage.zero())
    assert (total.total_tokens, total.reasoning_tokens, total.cost) == (5, 1, None)


def test_own_prices_come_before_list_prices_and_the_longest_match_counts():
    prices = Prices(
        models={
            "openai/gpt-5": Price(input=1, output=2),
            "openai-api/local/*": Price(input=0, output=0),
            "openai-api/local/big*": Price(input=7, output=0, cached=3),
        }
    )
    usage = Usage(input_tokens=MILLION, output_tokens=MILLION, cached_tokens=MILLION)
    assert prices.cost("openai/gpt-5", usage) == 1 + 2 + 1  # cached tokens at the price of input
    assert prices.cost("openai-api/local/small", usage) == 0
    assert prices.cost("openai-api/local/big-one", usage) == 7 + 3
    assert prices.cost("openai/gpt-5-mini", usage) == PRICES.cost("openai/gpt-5-mini", usage)
