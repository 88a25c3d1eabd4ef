"""Changing one place of a JSON text leaves every other byte alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspin.agents import json_text

values: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(st.text(max_size=5), values, max_size=5)


@given(objects, st.text(max_size=6), values, st.sampled_from([None, 2, 4, "\t"]))
def test_what_is_appended_and_removed_again_leaves_the_text_as_it_was(
    document: dict[str, Any], key: str, value: Any, indent: Any
) -> None:
    if key in document:
        return
    text = json.dumps(document, indent=indent)
    added = json_text.append(text, json_text.parse(text), value, key)
    assert json.loads(added) == {**document, key: value}
    assert list(json.loads(added)) == [*document, key]
    root = json_text.parse(added)
    removed = json_text.remove(added, root, len(root.items) - 1)
    assert removed == text or (not document and json.loads(removed) == {})


@given(objects, st.data())
def test_any_member_can_be_removed(document: dict[str, Any], data: Any) -> None:
    if not document:
        return
    text = json.dumps(document, indent=2)
    number = data.draw(st.integers(0, len(document) - 1))
    removed = json_text.remove(text, json_text.parse(text), number)
    left = {key: value for at, (key, value) in enumerate(document.items()) if at != number}
    assert json.loads(removed) == left


@pytest.mark.parametrize("text", ["", "{", "[1,]", "{'a': 1}", "nul", '{"a": 1} x'])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        json_text.parse(text)
