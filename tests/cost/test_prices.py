"""What tokens cost: known models, tiers, dates, and what is not known."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from unspin import cost
from unspin.cost import own
from unspin.cost.prices import FIGURES, Prices, Usage, plain_name, shipped

MILLION = 1_000_000
ONE_EACH = Usage(MILLION, MILLION, MILLION, MILLION, MILLION, 1000)


@pytest.fixture
def prices() -> Prices:
    return Prices(shipped())


def table(**models: Any) -> dict[str, Any]:
    rows = [{"name": name, "match": {"equals": name}, **model} for name, model in models.items()]
    return {"dated": "2026-01-01", "providers": {"someone": rows}}


# -- known models ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "dollars"),
    [
        ("claude-opus-4-5-20251101", 5 + 25 + 0.5 + 6.25 + 10 + 10),
        ("claude-haiku-4-5-20251001", 1 + 5 + 0.1 + 1.25 + 2 + 10),
        ("claude-opus-4-1-20250805", 15 + 75 + 1.5 + 18.75 + 30 + 10),
        ("claude-3-5-sonnet-20241022", 3 + 15 + 0.3 + 3.75 + 6 + 10),
        ("claude-opus-4-7", 5 + 25 + 0.5 + 6.25 + 10 + 10),
    ],
)
def test_each_class_of_tokens_has_its_price(prices: Prices, model: str, dollars: float) -> None:
    assert prices.cost(model, ONE_EACH) == pytest.approx(dollars)


@pytest.mark.parametrize(
    "name",
    [
        "claude-opus-4-5",
        "claude-opus-4-5[1m]",
        "claude-opus-4-5-20251101",
        "anthropic/claude-opus-4.5",
        "Claude-Opus-4-5",
        "us.anthropic.claude-opus-4-5-20251101-v1:0",
        "global.anthropic.claude-opus-4-5-20251101-v1:0",
        "anthropic.claude-opus-4-5-20251101-v1:0",
        "claude-opus-4-5@20251101",
        "arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.claude-opus-4-5-20251101-v1:0",
    ],
)
def test_a_model_is_known_by_the_names_that_clouds_and_routers_give_it(prices: Prices, name: str) -> None:
    assert prices.cost(name, Usage(MILLION)) == 5


@pytest.mark.parametrize(
    "name", ["gpt-5", "gpt-5-codex", "gemini-2.5-pro", "grok-code-fast-1", "deepseek-chat", "glm-4.6"]
)
def test_models_of_other_makers_have_prices_for_other_agents_transcripts(prices: Prices, name: str) -> None:
    assert (prices.cost(name, Usage(MILLION, MILLION)) or 0) > 0


@pytest.mark.parametrize(
    "name", ["", "claude", "claude-opus-99", "my-finetune", "unknown", "<synthetic>", "/", "[1m]", "*"]
)
def test_a_model_without_a_price_is_unknown_and_not_free(prices: Prices, name: str) -> None:
    assert prices.cost(name, ONE_EACH) is None
    assert not prices.knows(name)


def test_a_message_without_tokens_of_a_known_model_costs_nothing(prices: Prices) -> None:
    assert prices.cost("claude-opus-4-5", Usage()) == 0


def test_fast_mode_has_its_own_price_where_one_is_known(prices: Prices) -> None:
    assert prices.cost("claude-opus-4-8", Usage(MILLION, fast=True)) == 10
    assert prices.cost("claude-opus-4-1", Usage(MILLION, fast=True)) == 15
    assert prices.cost("claude-opus-4-8", Usage(web_searches=1000, fast=True)) == 10


# -- tiers and dates -------------------------------------------------------------------


def test_above_a_tier_all_tokens_of_the_message_cost_more(prices: Prices) -> None:
    at, above = Usage(100_000, 10, 100_000), Usage(100_000, 10, 100_001)
    assert prices.cost("claude-sonnet-4-5", at) == pytest.approx((100_000 * 3 + 10 * 15 + 100_000 * 0.3) / MILLION)
    assert prices.cost("claude-sonnet-4-5", above) == pytest.approx((100_000 * 6 + 10 * 22.5 + 100_001 * 0.6) / MILLION)


@pytest.mark.parametrize("part", [Usage(input=200_001), Usage(cache_write=200_001), Usage(cache_write_1h=200_001)])
def test_whatever_goes_in_counts_for_the_tier_and_what_comes_out_does_not(prices: Prices, part: Usage) -> None:
    base = prices.cost("claude-sonnet-4-5", Usage(*(each // 10 for each in part[:6]))) or 0
    assert (prices.cost("claude-sonnet-4-5", part) or 0) == pytest.approx(base * 20, rel=1e-4)
    assert prices.cost("claude-sonnet-4-5", Usage(output=MILLION)) == 15


def test_the_highest_tier_that_is_reached_holds() -> None:
    tiers = [{"above": 100, "input": 2}, {"above": 200, "input": 3, "output": 9}]
    prices = Prices(table(m={"prices": [{"input": 1, "output": 1, "tiers": tiers}]}))
    assert [prices.cost("m", Usage(each, 1)) for each in (100, 101, 201)] == pytest.approx(
        [101 / MILLION, 203 / MILLION, 612 / MILLION]
    )


def test_a_price_that_changed_holds_from_its_day_on(prices: Prices) -> None:
    wide = Usage(cache_read=300_000)
    before, after = (
        prices.cost("claude-opus-4-6", wide, day) for day in ("2026-03-12T23:59:59Z", "2026-03-13T00:00:00Z")
    )
    assert (before, after) == (pytest.approx(0.3), pytest.approx(0.15))
    assert prices.cost("claude-opus-4-6", wide) == after  # no time: what holds today


@pytest.mark.parametrize(
    ("clock", "dollars"), [("16:29", 2), ("16:30", 1), ("23:59", 1), ("00:29", 1), ("00:30", 2), ("", 2)]
)
def test_a_price_bound_to_hours_holds_in_them_over_midnight(clock: str, dollars: int) -> None:
    rows = [{"input": 2, "output": 2}, {"hours": ["16:30", "00:30"], "input": 1, "output": 1}]
    when = f"2026-05-04T{clock}:00Z" if clock else ""
    assert Prices(table(m={"prices": rows})).cost("m", Usage(MILLION), when) == dollars


def test_a_class_without_a_price_is_paid_as_input() -> None:
    prices = Prices(table(m={"prices": [{"input": 2, "output": 3}]}))
    assert prices.cost("m", Usage(0, 0, MILLION, MILLION, MILLION, 5)) == 6


# -- the table that ships --------------------------------------------------------------


def test_the_table_says_when_it_is_from_where_and_under_which_licence() -> None:
    made = shipped()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", made["dated"])
    assert "genai-prices" in made["origin"] and made["licence"] == "MIT"
    assert "Permission is hereby granted" in "\n".join(made["licence_text"])


def test_every_price_of_the_table_is_a_number_and_every_rule_is_understood() -> None:
    prices = Prices(shipped())
    for models in shipped()["providers"].values():
        for model in models:
            for row in [*model["prices"], *([model["fast"]] if "fast" in model else [])]:
                figures = [row, *row.get("tiers", [])]
                assert {"input", "output"} <= row.keys()
                assert all(each.keys() <= {*FIGURES, "from", "hours", "tiers", "above"} for each in figures)
                assert all(each[key] >= 0 for each in figures for key in FIGURES if key in each)
            prices.cost(model["name"], ONE_EACH)


def test_every_claude_model_of_the_table_is_found_under_its_own_name(prices: Prices) -> None:
    for model in shipped()["providers"]["anthropic"]:
        name = model["name"].removesuffix("-latest")
        now = model["prices"][-1]
        assert prices.cost(name, Usage(output=MILLION)) == now["output"], name


def test_a_plain_name_is_what_is_left_without_the_words_around_it() -> None:
    assert plain_name(" openrouter/anthropic/Claude-X[1m] ") == "claude-x"


# -- the person's own ------------------------------------------------------------------


def write(home: Path, text: str) -> Path:
    path = home / "config" / "unspin" / "prices.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_own_prices_go_before_those_of_the_release(own_home: Path) -> None:
    write(
        own_home,
        '[models."my-model"]\ninput = 2\noutput = 8\n'
        '[models."claude-opus-4-5"]\ninput = 1\noutput = 1\ncache_read = 0\n'
        '[models."local-*"]\ninput = 0\noutput = 0\n',
    )
    prices = cost.known_prices()
    assert prices.cost("my-model", Usage(MILLION, MILLION, MILLION)) == 12
    assert prices.cost("anthropic/claude-opus-4-5", Usage(MILLION, 0, MILLION)) == 1
    assert prices.cost("local-qwen", ONE_EACH) == 0
    assert prices.cost("claude-opus-4-6", Usage(MILLION)) == 5
    assert prices.cost("my-model-2", Usage(MILLION)) is None


def test_without_a_file_the_prices_of_the_release_hold(own_home: Path) -> None:
    assert cost.known_prices().cost("claude-opus-4-5", Usage(MILLION)) == 5


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[models", "cannot be read as TOML"),
        ("\udcff", "cannot be read as TOML"),
        ("models = 3", "written as tables"),
        ('[modles."x"]\ninput = 1\noutput = 1', "'modles' is not known"),
        ('[models."x"]\ninput = 1', "output is missing"),
        ('[models."x"]\ninput = "1"\noutput = 1', "input is dollars per million tokens, 0 or more, not '1'"),
        ('[models."x"]\ninput = -1\noutput = 1', "not -1"),
        ('[models."x"]\ninput = nan\noutput = 1', "not nan"),
        ('[models."x"]\ninput = true\noutput = 1', "not True"),
        ('[models."x"]\ninput = 1\noutput = 1\ncach_read = 1', "'cach_read' is not known; known are input, output"),
        ("[models.glm-4.6]\ninput = 1\noutput = 1", 'written in quotes: [models."glm-4.6"]'),
        ("models.x = 1", "expected to be a table"),
    ],
)
def test_a_mistake_in_the_file_is_told_with_its_place(own_home: Path, text: str, says: str) -> None:
    path = write(own_home, "")
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(cost.PriceError) as caught:
        own.read(str(path.parent))
    told = str(caught.value)
    assert says in told and told.startswith(f"{path}: ") and "\n" not in told


def test_a_price_file_that_is_a_folder_is_told(own_home: Path) -> None:
    path = write(own_home, "")
    path.unlink()
    path.mkdir()
    with pytest.raises(cost.PriceError, match="cannot be read"):
        cost.known_prices()


def test_the_table_is_json_with_one_model_a_line() -> None:
    text = Path(cost.__file__).with_name("prices.json").read_text()
    models = sum(map(len, json.loads(text)["providers"].values()))
    assert sum('"match"' in each for each in text.splitlines()) == models
