"""The settings: one list of keys with kind, default and meaning; all else is made from it.

A rule's own keys stand beside the rule (``Detector.keys``); the others stand here. Knows
nothing of files: ``config`` reads those. Where a value is wrong the error says what was
given, what is expected, and what to do.
"""

from __future__ import annotations

from unspin.detect import DETECTORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

MODES = ("observe", "nudge", "guard")
CHECK_KINDS = ("test", "build", "lint", "type", "run")

_GENERAL: dict[str, tuple[str, Any, str]] = {
    "mode": ("mode", "guard", "observe (log only), nudge (say it), guard (say it, then refuse edits)"),
    "log_only": ("rules", ("oscillation",), "rules that are logged and never said"),
    "loop.block_ignored": ("flag", True, "refuse the next edit of the looping file"),
    "loop.grace_edits": ("natural", 0, "edits let through after the nudge before the first refusal"),
    "loop.max_blocks": ("count", 3, "refusals of one cause before the turn is stopped"),
    "checks.commands": ("commands", {}, "your own check commands, by kind: " + ", ".join(CHECK_KINDS)),
    "checks.read_summaries": ("flag", False, "read a piped test run's own summary"),
    "exempt.tools": ("texts", (), "tools that no loop rule looks at"),
    "exempt.commands": ("texts", (), "beginnings of command lines that no loop rule looks at"),
    "checkpoints.enabled": ("flag", True, "keep checkpoints of the work tree"),
    "checkpoints.max_file_mb": ("count", 50, "larger files are left out of checkpoints"),
    "checkpoints.keep": ("count", 100, "checkpoints kept of one work tree"),
    "checkpoints.keep_days": ("count", 30, "days that a checkpoint is kept"),
    "checkpoints.keep_mb": ("count", 2000, "megabytes that the checkpoints of one work tree may take"),
}

#: Key: (kind of value, default, meaning). Kinds: see ``_KINDS``.
KEYS: dict[str, tuple[str, Any, str]] = dict(_GENERAL)
for _detector in DETECTORS:
    KEYS.update(_detector.keys)

#: Rule: the key that holds its threshold or its switch. ``false`` there switches the rule off.
RULES: dict[str, str] = {each.rule: each.switch() for each in DETECTORS}

#: What may be switched off with ``false`` in place of a number.
_SWITCHABLE = frozenset(RULES.values()) | {
    key for key, (kind, _, _) in KEYS.items() if key.startswith("bloat.") and kind != "flag"
}


class SettingsError(ValueError):
    """A setting that cannot be used; the text says what was given, expected, and what to do."""

    for_people = True


class Settings:
    """Checked settings. ``settings["loop.failing_edits"]`` gives the value or the default.

    Plain data goes in and out (``Settings.from_mapping``, ``as_mapping``), so that they can
    be compiled once and stored.
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any] | None = None):
        """Take values by dotted key; raise ``SettingsError`` on the first that is wrong."""
        self._values = {key: default for key, (_, default, _) in KEYS.items()}
        for key, value in (values or {}).items():
            self._values[key] = _check(key, value)

    @classmethod
    def from_mapping(cls, tables: Mapping[str, Any]) -> Settings:
        """Take nested tables, as TOML gives them."""
        return cls(dict(_flatten(tables)))

    @classmethod
    def salvage(cls, tables: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """Return what nested tables set and can be used, by dotted key, and what is wrong with the rest."""
        values, wrong = {}, []
        for key, value in _flatten(tables, strict=False):
            try:
                values[key] = _check(key, value)
            except SettingsError as error:
                wrong.append(str(error))
        return values, wrong

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def as_mapping(self) -> dict[str, Any]:
        """Return what differs from the defaults, by dotted key, as plain data."""
        return {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in self._values.items()
            if value != KEYS[key][1]
        }


def _flatten(tables: Mapping[str, Any], prefix: str = "", *, strict: bool = True) -> Iterator[tuple[str, Any]]:
    for name, value in tables.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict) and key not in KEYS:
            if not any(known.startswith(f"{key}.") for known in KEYS):
                if strict:
                    raise _unknown(key)
                yield key, value
                continue
            yield from _flatten(value, f"{key}.", strict=strict)
        else:
            yield key, value


def _unknown(key: str) -> SettingsError:
    import difflib

    if any(known.startswith(f"{key}.") for known in KEYS):
        return SettingsError(f'"{key}" is a table of settings: give nested tables to Settings.from_mapping.')
    near = difflib.get_close_matches(key, list(KEYS), n=1, cutoff=0.5)
    hint = f'Did you mean "{near[0]}"?' if near else "The settings page of the docs lists all keys."
    return SettingsError(f'unknown setting "{key}". {hint}')


def _check(key: str, value: Any) -> Any:
    """Return the value in the form used, or raise."""
    if key not in KEYS:
        raise _unknown(key)
    kind = KEYS[key][0]
    if value is False and key in _SWITCHABLE:
        return False
    if value is True and key in _SWITCHABLE and kind != "flag":
        return KEYS[key][1]
    good, expected = _KINDS[kind]
    if not good(value):
        off = " (or false to switch it off)" if key in _SWITCHABLE and kind != "flag" else ""
        raise SettingsError(f"{key} = {value!r}: expected {expected}{off}. Default: {KEYS[key][1]!r}.")
    return tuple(value) if isinstance(value, list) else value


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _texts(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(each, str) and each.strip() for each in value)


def _commands(value: Any) -> bool:
    return isinstance(value, dict) and all(kind in CHECK_KINDS and _texts(each) for kind, each in value.items())


_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "mode": (lambda value: value in MODES, "one of " + ", ".join(f'"{mode}"' for mode in MODES)),
    "count": (lambda value: _whole(value) and 1 <= value < 10**9, "a whole number from 1"),
    "laps": (lambda value: _whole(value) and 3 <= value <= 10, "a whole number from 3 to 10"),
    "natural": (lambda value: _whole(value) and 0 <= value < 10**9, "a whole number from 0"),
    "share": (
        lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= 1,
        "a share above 0 and at most 1",
    ),
    "flag": (lambda value: isinstance(value, bool), "true or false"),
    "texts": (_texts, "a list of texts"),
    "rules": (
        lambda value: _texts(value) and all(each in RULES for each in value),
        "a list of rules, of " + ", ".join(RULES),
    ),
    "commands": (
        _commands,
        'lists of commands by kind, such as {test = ["./ci.sh"]}; kinds: ' + ", ".join(CHECK_KINDS),
    ),
}
