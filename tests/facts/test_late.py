"""What is read late is the same as what would have been read at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspin import Guard, Settings, events
from unspin.facts import files, reading
from unspin.facts.definitions import defined_names, removed_names
from unspin.facts.reading import Reader
from unspin.facts.step import Step

_LINES = st.sampled_from(
    (
        "def add(a, b):", "def add(a):", "class Cart:", "    total = 1", "let total = 1;", "  sum(a, b) {", "x = add(1)",
        "self.total = 2", "module.exports.add = add", "export { add, sum as total }", "__all__ = ['add', \"Cart\"]",
        "# def add():", "// function sum() {", "export const sum = 1", "", "addition = 3", "\x0bdef late(): ...",
    )
)  # fmt: skip
_TEXTS = st.lists(_LINES, max_size=12).map("\n".join)


@given(_TEXTS, _TEXTS)
def test_the_names_that_an_edit_takes_away_are_those_defined_before_and_not_after(before: str, after: str) -> None:
    assert removed_names(before, after) == defined_names(before) - defined_names(after)


def test_many_names_that_are_taken_away_are_found_as_well() -> None:
    before = "\n".join(f"def name_{number}(): ..." for number in range(200))
    after = "\n".join(f"print(name_{number})" for number in range(150)) + "\ndef name_199(): ..."
    assert removed_names(before, after) == {f"name_{number}" for number in range(199)}


def test_an_output_is_read_for_its_identity_when_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(reading, "normalise_output", lambda output: asked.append(output) or output)
    step = Reader(Settings()).read(events.shell("cat a.txt", "words"))
    assert not asked
    assert step.result == step.result != ""
    assert asked == ["words"]


def test_an_output_is_read_for_a_cycle_only_where_all_its_commands_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(reading, "normalise_output", lambda output: asked.append(output) or output)
    guard = Guard(Settings())

    def run(*commands: str) -> list[str]:
        done = []
        for command in commands:
            guard.observe(events.shell(command, f"{command} gave this"))
            done += [each.rule for each in guard.observe(events.RoundEnd())]
        return done

    assert (run("cat a", "cat b", "cat c", "cat b"), asked) == ([], [])
    assert (run("cat c", "cat b"), set(asked)) == (["repeated_action"], {"cat b gave this", "cat c gave this"})


def test_a_step_that_is_dumped_and_loaded_holds_what_was_read_late() -> None:
    step = Reader(Settings()).read(events.edit("/p/tests/test_a.py", "assert add(1) == 2", "assert add(1)"))
    again = Step.load(step.dump())
    assert again.dump() == step.dump()
    assert again.changes[0].weakened == step.changes[0].weakened
    assert again.changes[0].weakened
    assert again.result == step.result


def test_what_an_edit_did_is_compared_when_it_is_asked_for_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    compare = files._compare
    monkeypatch.setattr(files, "_compare", lambda *given: (asked.append(given), compare(*given)))
    step = Reader(Settings()).read(events.edit("/p/src/a.py", "def gone(): ...", "x = 1"))
    assert not asked
    assert step.changes[0].gone == ["gone"]
    assert step.changes[0].weakened is None
    assert len(asked) == 1


def test_a_step_has_no_other_fields_than_its_own() -> None:
    step = Reader(Settings()).read(events.shell("ls"))
    with pytest.raises(AttributeError):
        step.nonsense  # noqa: B018


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=24), st.integers(0, 24))
def test_a_guard_that_is_stored_at_any_time_notices_what_one_that_is_not_notices(
    calls: list[tuple[int, int]], at: int
) -> None:
    first, other = Guard(), Guard()
    for number, (command, output) in enumerate(calls):
        if number == at:
            assert "_Late" not in repr(other.state)
            other = Guard(state=other.state)
        results = [events.shell(f"cat {command}", f"{output} at 0x7f00aa{number:02}")]
        results += [events.shell(f"cat {output}", str(command), position=1)] * (command % 2)
        for guard in (first, other):
            for result in results:
                guard.observe(result)
        mine, theirs = first.observe(events.RoundEnd()), other.observe(events.RoundEnd())
        assert [each.as_mapping() for each in mine] == [each.as_mapping() for each in theirs]
    assert first.state == other.state
