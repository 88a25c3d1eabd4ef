"""Edges that a strict reader found: each once silenced the hook, or left something standing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from driver import Client
from hardening.processes import batch, edit, environment, fails, run, silent
from unspin import Guard, Settings, config, events
from unspin.guard import NUDGE
from unspin.guard.guard import _VERSION
from unspin.spool import Spool
from unspin.store import Store


def test_a_kept_event_that_cannot_be_read_keeps_no_other_waiting(tmp_path: Path) -> None:
    env, state = environment(tmp_path), tmp_path / "state" / "unspin"
    run(batch("s", edit()), env)
    Spool(str(state)).keep(b"claude-code\nno json")
    Spool(str(state)).keep(b"no-such-agent\n{}")
    Spool(str(state)).keep(
        b"claude-code\n" + json.dumps(batch("s", fails("a \x01 b"))).replace("\\u0001", "\x01").encode()
    )
    assert silent(run(batch("s", edit(new="c")), env))
    assert Spool(str(state)).names() == []
    with Store(str(state)) as store:
        assert len([place for _, place, _ in store.faults() if place == "spool"]) == 2
        row = store.session("s")
    assert row is not None and json.loads(row.state)["index"] == 3


@pytest.mark.parametrize(
    "state",
    ["{}", "[1]", f'{{"version": {_VERSION}}}', "7", f'{{"version": {_VERSION}, "reader": {{}}, "rounds": []}}'],
)
def test_a_state_that_is_none_starts_afresh(agent: Client, state: str) -> None:
    agent.round(agent.edit("a.py"))
    with agent.store as store:
        store._db.execute("UPDATE session SET state = ?", (state,))
    agent.round(agent.edit("a.py"))
    assert "cannot be read" in agent.store.faults()[-1][2]


@pytest.mark.parametrize("text", ["tool = 1", "[tool]\nunspin = 3", "tool = []"])
def test_an_odd_pyproject_is_no_trouble_of_ours(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    assert config.find(str(tmp_path)).problems == []


def test_a_folder_whose_name_begins_like_ours_is_a_project(own_home: Path) -> None:
    project = own_home / "config" / "unspin-tools" / "sub"
    (project / ".git").mkdir(parents=True)
    (project / "unspin.toml").write_text('mode = "observe"')
    (project.parent / "unspin.toml").write_text('mode = "nudge"')
    assert config.find(str(project)).settings["mode"] == "observe"


def spin(guard: Guard) -> list[str]:
    said = []
    for number in range(3):
        for event in (
            events.edit("/p/a.py", "x", str(number)),
            events.RoundEnd(),
            events.shell("pytest", "E   TypeError: bad", 1),
            events.RoundEnd(),
        ):
            said += [response for response in guard.observe(event) if response.kind == NUDGE]
    return said


def test_a_line_that_was_kept_is_not_given_after_the_person_spoke() -> None:
    guard = Guard(project="/p")
    (response,) = spin(guard)
    guard.hold(response)
    assert guard.standing_blocks() == []
    guard.observe(events.Message("go on"))
    assert guard.observe(events.Opportunity()) == []


def test_a_line_that_was_kept_is_not_given_once_its_rule_is_muted() -> None:
    guard = Guard(project="/p")
    (response,) = spin(guard)
    guard.hold(response)
    muted = Guard(project="/p", state=guard.state, muted=[("failing_edits", "a.py")])
    assert muted.observe(events.Opportunity()) == []


def test_a_command_that_is_no_check_lifts_what_stands_on_its_error_by_succeeding() -> None:
    guard = Guard(Settings({"loop.failing_edits": False}), project="/p")
    for number in range(3):
        guard.observe(events.edit("/p/a.tf", "x", str(number)))
        guard.observe(events.RoundEnd())
        guard.observe(events.shell("terraform apply", "Error: Unsupported argument foo", 1))
        guard.observe(events.RoundEnd())
    assert guard.standing_blocks() == ["/p/a.tf"]
    guard.observe(events.shell("terraform apply", "Apply complete", 0))
    guard.observe(events.RoundEnd())
    assert guard.standing_blocks() == []


def test_a_store_whose_pages_are_damaged_is_told_by_the_doctor(own_home: Path) -> None:
    from unspin.doctor import WRONG, examine
    from unspin.paths import state_folder

    store = Store(state_folder())
    with store:
        for number in range(300):
            store.fault("x", f"{number} " + "y" * 500)
    store.close()
    path = Path(state_folder()) / "state.db"
    data = bytearray(path.read_bytes())
    data[4096 * 3 :] = b"\xff" * (len(data) - 4096 * 3)
    path.write_bytes(bytes(data))
    assert any(each.about == "store" and each.state == WRONG for each in examine("claude-code", "/"))


def test_sessions_without_an_event_for_half_a_year_are_forgotten(agent: Client) -> None:
    agent.round(agent.edit("a.py"))
    with agent.store as store:
        store._db.execute("UPDATE session SET updated = updated - 190 * 86400")
    old, agent.session = agent.session, "another"
    agent.round(agent.edit("a.py"))
    assert [row.id for row in agent.store.sessions()] == ["another"]
    assert agent.store.session(old) is None
