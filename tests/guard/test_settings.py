"""Settings: checked, told apart from mistakes, and stored as plain data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from unspin import Guard, Settings, SettingsError, config, events
from unspin.guard.settings import KEYS, RULES


@pytest.mark.parametrize("key", [key for key, (kind, _, _) in KEYS.items() if kind == "count"])
@pytest.mark.parametrize("value", [0, -1, float("inf"), float("nan"), "3", None, 1.5, True and 10**9])
def test_a_threshold_that_never_ends_is_an_error(key: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=r"expected a whole number from 1"):
        Settings({key: value})


def test_every_rule_can_be_switched_off_and_then_notices_nothing() -> None:
    guard = Guard(Settings(dict.fromkeys(RULES.values(), False)))
    for number in range(6):
        guard.observe(events.edit("/p/a.py", "x", str(number)))
        guard.observe(events.shell("pytest", "E   TypeError: x", 1))
        assert guard.observe(events.RoundEnd()) == []
    assert guard.observe(events.Compaction(done=False)) == []


def test_an_unknown_key_is_named_with_the_one_that_was_meant() -> None:
    with pytest.raises(SettingsError, match=r'unknown setting "loop.failing_edit". Did you mean "loop.failing_edits"'):
        Settings.from_mapping({"loop": {"failing_edit": 3}})


def test_tables_given_as_keys_are_told_apart() -> None:
    with pytest.raises(SettingsError, match="from_mapping"):
        Settings({"loop": {"failing_edits": 3}})


def test_settings_survive_being_stored_as_json() -> None:
    given = Settings({"loop.failing_edits": False, "exempt.tools": ["X"], "checks.commands": {"test": ["./ci.sh"]}})
    again = Settings(json.loads(json.dumps(given.as_mapping())))
    assert all(given[key] == again[key] for key in KEYS)


@pytest.mark.parametrize(
    "misuse",
    [
        lambda: Guard({"mode": "nudge"}),  # type: ignore[arg-type]
        lambda: Guard("/shop"),  # type: ignore[arg-type]
        lambda: Guard(mode="nope"),
        lambda: Guard(state={"x": 1}),
        lambda: Guard(muted=["bloat"]),  # type: ignore[list-item]
        lambda: Guard().observe(events.RoundEnd),  # type: ignore[arg-type]
        lambda: Guard().observe(None),  # type: ignore[arg-type]
        lambda: events.shell("pytest", b"x"),  # type: ignore[arg-type]
    ],
)
def test_misuse_says_so(misuse: Any) -> None:
    with pytest.raises((SettingsError, TypeError, ValueError)):
        misuse()


def test_a_path_object_is_a_path() -> None:
    Guard().observe(events.edit(Path("/p/a.py"), "x", "y"))  # type: ignore[arg-type]


# -- files -----------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path, own_home: Path) -> Path:
    (tmp_path / "p" / ".git").mkdir(parents=True)
    (own_home / "config" / "unspin").mkdir(parents=True)
    return tmp_path / "p"


def person(own_home: Path, text: str) -> None:
    (own_home / "config" / "unspin" / "unspin.toml").write_text(text)


def test_the_projects_settings_lie_over_the_persons(project: Path, own_home: Path) -> None:
    person(own_home, 'mode = "observe"\n[loop]\nfailing_edits = 5\n')
    (project / "pyproject.toml").write_text("[tool.unspin.loop]\nfailing_edits = 4\n")
    found = config.find(str(project / "src" / "deep"))
    assert (found.settings["mode"], found.settings["loop.failing_edits"]) == ("observe", 4)
    assert found.origin["loop.failing_edits"].endswith("pyproject.toml")


def test_the_nearest_file_of_the_project_counts_and_none_above_its_repository(project: Path) -> None:
    (project.parent / "unspin.toml").write_text("[loop]\nfailing_edits = 9\n")
    assert config.find(str(project)).settings["loop.failing_edits"] == 3


def test_a_mistake_costs_its_own_key_only(project: Path, own_home: Path) -> None:
    person(own_home, 'mode = "observe"\n')
    (project / "unspin.toml").write_text('log_onyl = ["bloat"]\n[loop]\nfailing_edits = 4\ngrace_edits = -1\n')
    found = config.find(str(project))
    assert (found.settings["mode"], found.settings["loop.failing_edits"]) == ("observe", 4)
    assert len(found.problems) == 2
    assert all("unspin.toml" in each for each in found.problems)
    assert 'Did you mean "log_only"?' in found.problems[0]


def test_a_file_that_cannot_be_read_refuses_nothing_until_it_is_mended(project: Path) -> None:
    (project / "unspin.toml").write_text("mode = ")
    found = config.find(str(project))
    assert found.settings["mode"] == "nudge"
    assert "Mend it, or remove it" in found.problems[0]
