"""The page on cost says what the code does."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from cost.conftest import Folder, line
from unspin.cost import BY, files, own
from unspin.cost.prices import FIGURES, shipped

PAGE = (Path(__file__).resolve().parent.parent.parent / "docs" / "cost.md").read_text("utf-8")


def test_the_price_file_that_is_shown_is_accepted_and_shows_every_figure() -> None:
    block = next(each for each in re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL) if "[models." in each)
    models = own._checked(tomllib.loads(block))
    assert set().union(*models.values()) == set(FIGURES)


def test_every_field_of_json_is_on_the_page(folder: Folder, unspin: Any) -> None:
    folder.write("a.jsonl", line(model="odd"))
    for by in BY:
        found = json.loads(unspin("cost", "--json", "--by", by).output)
        for part in (found, found["total"], found["rows"][0], found["unknown_models"][0]):
            assert [key for key in part if f"`{key}`" not in PAGE] == []


def test_the_makers_of_the_table_are_named() -> None:
    names = {"x-ai": "xAI", "moonshotai": "Moonshot", "zai": "Z.ai", "openai": "OpenAI", "deepseek": "DeepSeek"}
    names["minimax"] = "MiniMax"
    assert [each for each in shipped()["providers"] if names.get(each, each.title()) not in PAGE] == []


def test_the_folders_that_are_named_are_those_that_are_read() -> None:
    assert "~/.claude` and `~/.config/claude" in PAGE and "``~/.claude`` and ``~/.config/claude``" in str(
        files.folders.__doc__
    )
