"""Makes ``src/unspin/cost/prices.json`` from the PyPI package genai-prices. Run by hand when a release is made.

    python scripts/make_prices.py                     download the newest package, write the file, print what changed
    python scripts/make_prices.py --wheel FILE.whl    take this wheel instead
    python scripts/make_prices.py --check             write nothing; exit status 1 where prices have changed

What is taken: of the providers below, the models that are paid by input and output tokens, with the rules by
which a model's name is recognised. What is left: audio, images, embeddings, batch prices.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import types
import zipfile
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().parent.parent / "src" / "unspin" / "cost" / "prices.json"
PACKAGE = "genai-prices"
#: Makers of models that coding agents use, in the order in which a name is looked up.
PROVIDERS = ("anthropic", "openai", "google", "x-ai", "deepseek", "moonshotai", "zai", "mistral", "minimax")
FIGURES = {
    "input_mtok": "input",
    "output_mtok": "output",
    "cache_read_mtok": "cache_read",
    "cache_write_mtok": "cache_write",
    "cache_write_1h_mtok": "cache_write_1h",
    "web_searches_kcount": "web_search",  # dollars per thousand
}
CLAUSES = {"ClauseEquals": "equals", "ClauseStartsWith": "starts_with", "ClauseEndsWith": "ends_with"}
CLAUSES |= {"ClauseContains": "contains", "ClauseRegex": "regex", "ClauseOr": "or_", "ClauseAnd": "and_"}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Make the price file.")
    parser.add_argument("--wheel", type=Path, help="a wheel of genai-prices that is there already")
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 where prices have changed")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        wheel = given.wheel or download(Path(folder))
        made = made_from(wheel)
    before = json.loads(TARGET.read_text("utf-8")) if TARGET.exists() else {"providers": {}}
    changes = list(differences(before["providers"], made["providers"]))
    print("\n".join(changes) if changes else "no price has changed")
    if given.check:
        return int(bool(changes))
    TARGET.write_text(written(made), "utf-8")
    print(f"written: {TARGET.name}, {sum(map(len, made['providers'].values()))} models, from {made['origin']}")
    return 0


def download(folder: Path) -> Path:
    """Download the newest wheel without its dependencies; return its path."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--dest", str(folder), PACKAGE], check=True)
    return next(folder.glob("*.whl"))


def made_from(wheel: Path) -> dict[str, Any]:
    """Return the whole price file as data."""
    version = wheel.name.split("-")[1]
    with zipfile.ZipFile(wheel) as archive:
        source = archive.read("genai_prices/data.py").decode()
        licence = next(name for name in archive.namelist() if name.endswith("licenses/LICENSE"))
        licence_text = archive.read(licence).decode()
    return {
        "about": "Dollars per million tokens (web_search: per thousand). Made by scripts/make_prices.py; do not edit.",
        "dated": time.strftime("%Y-%m-%d", time.gmtime()),
        "origin": f"{PACKAGE} {version}, https://pypi.org/project/{PACKAGE}/",
        "licence": "MIT",
        "licence_text": licence_text.strip().splitlines(),
        "providers": {
            each["id"]: [made for model in each["models"] if (made := _model(model))]
            for name in PROVIDERS
            for each in evaluated(source)
            if each["id"] == name
        },
    }


def evaluated(source: str) -> list[dict[str, Any]]:
    """Return the package's data file as plain dictionaries, its own classes (and what they need) left out."""

    class Names(dict[str, Any]):
        def __missing__(self, name: str) -> Any:
            if name.startswith("__") or name in vars(__import__("builtins")):
                raise KeyError(name)
            return lambda **fields: {"is": name, **fields}

    lines = [line for line in source.splitlines() if not line.startswith("from .types import")]
    names = Names(types.ModuleType("data").__dict__)
    exec(compile("\n".join(lines).replace("providers: list[Provider]", "providers"), "data.py", "exec"), names)
    found: list[dict[str, Any]] = names["providers"]
    return found


def _model(model: dict[str, Any]) -> dict[str, Any] | None:
    """Return what is kept of one model, ``None`` where it is not paid by tokens."""
    prices = model.get("prices")
    rows = [_conditional(each) for each in prices] if isinstance(prices, list) else [_figures(prices)]
    if not all("input" in row and "output" in row for row in rows):
        return None
    made = {"name": model["id"], "match": _clause(model["match"]), "prices": rows}
    for variant in model.get("price_variants") or []:
        if variant["when"] == {"speed": "fast"} and variant.get("constraint") is None:
            made["fast"] = _figures(variant["prices"])
    return made


def _conditional(given: dict[str, Any]) -> dict[str, Any]:
    row = _figures(given["prices"])
    constraint = given.get("constraint")
    if constraint is None:
        return row
    if constraint["is"] == "StartDateConstraint":
        return {"from": constraint["start_date"].isoformat(), **row}
    return {"hours": [constraint[key].strftime("%H:%M") for key in ("start_time", "end_time")], **row}


def _figures(prices: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of one price; those above a tier's start in ``tiers``."""
    row: dict[str, Any] = {}
    tiers: dict[int, dict[str, Any]] = {}
    for theirs, ours in FIGURES.items():
        figure = prices.get(theirs)
        if isinstance(figure, dict):
            row[ours] = _number(figure["base"])
            for tier in figure["tiers"]:
                tiers.setdefault(tier["start"], {})[ours] = _number(tier["price"])
        elif figure is not None:
            row[ours] = _number(figure)
    if tiers:
        row["tiers"] = [{"above": start, **tiers[start]} for start in sorted(tiers)]
    return row


def _number(value: Any) -> int | float:
    return int(value) if value == int(value) else float(value)


def _clause(clause: dict[str, Any]) -> dict[str, Any]:
    kind = CLAUSES[clause["is"]]
    value = clause[kind]
    return {kind.rstrip("_"): [_clause(each) for each in value] if isinstance(value, list) else value}


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return one line for each model that came, went or changed."""
    old = {(provider, each["name"]): each for provider, models in before.items() for each in models}
    new = {(provider, each["name"]): each for provider, models in after.items() for each in models}
    lines = []
    for key in sorted(old.keys() | new.keys()):
        name = "/".join(key)
        if key not in old:
            lines.append(f"new      {name}  {json.dumps(new[key]['prices'])}")
        elif key not in new:
            lines.append(f"gone     {name}")
        elif old[key] != new[key]:
            parts = [part for part in ("match", "prices", "fast") if old[key].get(part) != new[key].get(part)]
            lines += [
                f"changed  {name}  {p}: {json.dumps(old[key].get(p))} -> {json.dumps(new[key].get(p))}" for p in parts
            ]
    return lines


def written(made: dict[str, Any]) -> str:
    """Return the file's text: one line a model, so that a change of price is a change of one line."""
    head = json.dumps({key: value for key, value in made.items() if key != "providers"}, indent=1, ensure_ascii=False)
    parts = []
    for provider, models in made["providers"].items():
        lines = ",\n  ".join(json.dumps(each, ensure_ascii=False) for each in models)
        parts.append(f" {json.dumps(provider)}: [\n  {lines}\n ]")
    return head[:-2] + ',\n "providers": {\n' + ",\n".join(parts) + "\n }\n}\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
