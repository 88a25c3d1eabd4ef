"""Payloads that nobody would send: nothing is raised, nothing is said, nothing is refused.

A short run in CI. For a long one: UNSPIN_FUZZ_SECONDS=3600 .venv/bin/python -m pytest tests/hardening/test_fuzz.py -k long
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unspin import hook, live
from unspin.paths import state_folder
from unspin.store import Store

DEMO = [json.loads(line) for line in (Path(__file__).parents[2] / "demo" / "session.jsonl").read_text().splitlines()]

_numbers = itertools.count()

json_values: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=10,
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    opened = Store(str(tmp_path_factory.mktemp("fuzz")))
    yield opened
    opened.close()


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a document where something can be put instead: (container, key)."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in list(items) for place in [(value, key), *places(inner)]]


def mutate(payload: dict[str, Any], dice: random.Random, junk: Any) -> dict[str, Any]:
    mutated = copy.deepcopy(payload)
    for _ in range(dice.randint(1, 3)):
        container, key = dice.choice(places(mutated))
        how = dice.randrange(4)
        if how == 0 and isinstance(container, dict):
            del container[key]
        elif how == 1 and isinstance(container[key], str):
            text = container[key]
            at = dice.randrange(len(text) + 1)
            container[key] = (
                text[:at] + dice.choice(["\x00", "\n", "\ud800", "'", '"', "$(", "<<EOF\n", "é" * 50]) + text[at:]
            )
        else:
            container[key] = copy.deepcopy(junk)
        if not mutated:
            break
    return mutated


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(DEMO), st.randoms(use_true_random=False), json_values)
def test_mutated_payloads_raise_nothing(store: Store, payload: dict[str, Any], dice: random.Random, junk: Any) -> None:
    mutated = {**mutate(payload, dice, junk), "session_id": f"fuzz{next(_numbers)}"}
    answer = live.handle("claude-code", mutated, store)
    assert (answer.stdout, answer.stderr, answer.status) == ("", "", 0)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300))
def test_random_bytes_are_read_or_refused_as_no_payload(data: bytes) -> None:
    with contextlib.suppress(ValueError, StopIteration):
        assert isinstance(hook._parse(data), dict)


@settings(max_examples=300, deadline=None)
@given(json_values)
def test_our_scanner_reads_what_json_reads(value: Any) -> None:
    text = json.dumps({"x": value})
    assert json.dumps(hook._parse(text.encode())) == json.dumps(json.loads(text))


@pytest.mark.skipif("UNSPIN_FUZZ_SECONDS" not in os.environ, reason="the long run is asked for by UNSPIN_FUZZ_SECONDS")
def test_the_long_run(store: Store) -> None:
    seed = int(time.time())
    dice, until, count, odd = random.Random(seed), time.monotonic() + float(os.environ["UNSPIN_FUZZ_SECONDS"]), 0, 0
    junk: list[Any] = [
        None,
        True,
        -1,
        1e308,
        "",
        "x" * 5000,
        [],
        {},
        [[[]]],
        {"a": [1, {"b": None}]},
        "\ud800",
        "Exit code 1",
    ]
    while time.monotonic() < until:
        mutated = {**mutate(dice.choice(DEMO), dice, dice.choice(junk)), "session_id": f"fuzz{dice.randrange(40)}"}
        try:
            answer = live.handle("claude-code", mutated, store)
        except Exception as error:
            raise AssertionError(f"seed {seed}, payload {count}: {mutated!r}") from error
        odd += answer.status not in (0, 2)
        count += 1
        if count % 5000 == 0:
            with store:
                store._db.execute("DELETE FROM detection")
    print(
        f"\n{count} mutated payloads in {os.environ['UNSPIN_FUZZ_SECONDS']} s, seed {seed}: nothing raised, {odd} odd answers"
    )
    assert odd == 0
    assert state_folder()
