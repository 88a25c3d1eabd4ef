"""The script that makes the price file: what it takes from the package, and what it says has changed."""

from __future__ import annotations

import importlib.util
import json
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from unspin.cost.prices import Prices, Usage

SCRIPT = Path(__file__).resolve().parent.parent.parent / "scripts" / "make_prices.py"
DATA = """
import datetime
from decimal import Decimal

from .types import *

__all__ = ('providers',)

providers: list[Provider] = [
    Provider(id='anthropic', models=[
        ModelInfo(
            id='a',
            match=ClauseOr(or_=[ClauseEquals(equals='a'), ClauseRegex(regex='^a-\\\\d+$')]),
            prices=[
                ConditionalPrice(prices=ModelPrice(
                    input_mtok=TieredPrices(base=Decimal('3'), tiers=[Tier(start=200000, price=Decimal('6'))]),
                    output_mtok=Decimal('15'),
                )),
                ConditionalPrice(
                    constraint=StartDateConstraint(start_date=datetime.date(2026, 3, 13)),
                    prices=ModelPrice(input_mtok=Decimal('0.25'), output_mtok=Decimal('1'), web_searches_kcount=Decimal('10')),
                ),
            ],
            price_variants=[
                PriceVariant(when={'speed': 'fast'}, prices=ModelPrice(input_mtok=Decimal('9'), output_mtok=Decimal('9'))),
                PriceVariant(when={'processing': 'batch'}, prices=ModelPrice(input_mtok=Decimal('1'))),
            ],
        ),
        ModelInfo(id='voice', match=ClauseEquals(equals='voice'), prices=ModelPrice(audio_hours=Decimal('3'))),
    ]),
    Provider(id='somebody', models=[]),
]
"""


@pytest.fixture
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_prices", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / "genai_prices-9.9-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("genai_prices/data.py", DATA)
        archive.writestr("genai_prices-9.9.dist-info/licenses/LICENSE", "The MIT License\n")
    return path


def test_models_that_are_paid_by_tokens_are_taken_with_tiers_dates_and_fast_mode(
    script: ModuleType, wheel: Path
) -> None:
    made = script.made_from(wheel)
    assert made["origin"].startswith("genai-prices 9.9") and made["licence_text"] == ["The MIT License"]
    assert list(made["providers"]) == ["anthropic"]
    prices = Prices(json.loads(script.written(made)))
    assert prices.cost("a-7", Usage(300_000), "2026-01-01") == pytest.approx(1.8)
    assert prices.cost("a", Usage(300_000, web_searches=100), "2026-03-13") == pytest.approx(1.075)
    assert prices.cost("a", Usage(1_000_000, fast=True)) == 9
    assert prices.cost("voice", Usage(1)) is None


def test_what_came_went_and_changed_is_printed_and_the_file_written(
    script: ModuleType, wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(script, "TARGET", tmp_path / "prices.json")
    assert script.main(["--wheel", str(wheel), "--check"]) == 1
    assert not script.TARGET.exists()
    assert script.main(["--wheel", str(wheel)]) == 0
    assert "new      anthropic/a" in capsys.readouterr().out
    assert script.main(["--wheel", str(wheel), "--check"]) == 0
    assert "no price has changed" in capsys.readouterr().out
    made = json.loads(script.TARGET.read_text())
    made["providers"]["anthropic"][0]["prices"][1]["input"] = 7
    made["providers"]["anthropic"].append({"name": "old", "match": {"equals": "old"}, "prices": []})
    script.TARGET.write_text(json.dumps(made))
    script.main(["--wheel", str(wheel), "--check"])
    told = capsys.readouterr().out
    assert "gone     anthropic/old" in told and "changed  anthropic/a  prices:" in told
