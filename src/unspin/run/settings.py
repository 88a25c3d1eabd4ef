"""The table ``[run]`` of a settings file, checked: who works, what bounds hold, which checks are run.

Knows no file: ``config`` finds those. A mistake is an error that says what was given, what
is expected and what to do: a run that begins with half its settings would be worse.
"""

from __future__ import annotations

import re
import shlex

from unspin.guard.budget import Budget, BudgetError
from unspin.guard.settings import CHECK_KINDS
from unspin.run.findings import CHECKS
from unspin.run.machine import Caps
from unspin.run.prompts import LEAST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

#: Reviewers that are there where none are named: what each is asked to look at.
PROMPTS: dict[str, str] = {
    "correctness": "Does it do what the ticket asks? Look for wrong results, broken cases at the edges, races, "
    "errors that are swallowed, and what it breaks elsewhere.",
    "tests": "Would the tests fail if the behaviour were wrong? Look for behaviour without a test, tests that "
    "cannot fail, and tests of the implementation in place of the behaviour.",
    "security": "What can a hostile input, file, user or dependency make it do? Look for injection, paths that lead "
    "out, secrets in code or logs, missing checks of rights, and work that grows without bound.",
    "simplicity": "What could be left out? Look for code that nobody needs, a second way to do what is there "
    "already, names that mislead, and structure that the problem does not ask for.",
}

#: What a worker's environment holds besides ``UNSPIN_*``: these names, and those that begin with the prefixes.
ENVIRONMENT = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TMPDIR", "TZ", "SSH_AUTH_SOCK",
    "NO_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "SSL_CERT_FILE",
)  # fmt: skip
PREFIXES = ("LC_", "XDG_", "ANTHROPIC_", "CLAUDE_", "OPENAI_", "CODEX_", "GIT_AUTHOR_", "GIT_COMMITTER_")

#: Key of ``[run]``: default and meaning. The docs' table is made from it.
KEYS: dict[str, tuple[Any, str]] = {
    "author": ("", "command that reads a prompt on stdin and works in the run's worktree"),
    "checks": ({}, "the project's own checks by kind: " + ", ".join(CHECK_KINDS)),
    "time_limit": (3600, "seconds for one worker"),
    "check_limit": (1800, "seconds for one check"),
    "prompt_tokens": (6000, "tokens that a prompt may have at most, by unspin's own count from above"),
    "output_kb": (2000, "kB of a worker's output that are kept: its beginning and its end"),
    "environment": ([], "further names of the environment that workers get"),
    "gate": ([], 'stages after which a person is asked: ["design"]'),
    "notify": ("", "command that is run where the run halts or ends; the run's id stands in UNSPIN_RUN"),
    "stages": ({}, "author and time_limit of single stages: sketch, design, code"),
    "reviewers": ([], "name, command, prompt, stages, time_limit of each"),
    "caps.review_streak": (3, "design verdicts running that are not terminal, after which a person is asked"),
    "caps.design_turns": (8, "design turns in all"),
    "caps.override_increment": (2, "turns by which each override raises both caps"),
    "caps.turns": (30, "author turns over all stages"),
    "budget.tokens": (None, "tokens of the whole run"),
    "budget.cost": (None, "dollars of the whole run"),
    "budget.seconds": (None, "seconds of the whole run"),
}

_TABLES = ("caps", "budget")
_NAME = re.compile(r"\w[\w -]{0,59}")
_STAGES = ("sketch", "design", "code")
_REVIEWED = ("design", "code")


class RunSettingsError(ValueError):
    """A setting of a run that cannot be used; the text says what was given, expected, and what to do."""

    for_people = True


class Worker:
    """A command that reads a prompt on stdin, and how long it may take (seconds)."""

    __slots__ = ("command", "name", "prompt", "stages", "time_limit")

    def __init__(
        self, name: str, command: list[str], time_limit: float, prompt: str = "", stages: tuple[str, ...] = ()
    ):
        self.name = name
        self.command = command
        self.time_limit = time_limit
        self.prompt = prompt
        self.stages = stages


class RunSettings:
    """Checked settings of a run."""

    def __init__(self, table: Mapping[str, Any]):
        values = _flat(table)
        self.values = {key: values.get(key, default) for key, (default, _) in KEYS.items()}
        if not self.values["author"]:
            raise RunSettingsError(
                "run.author is missing: the command that writes, such as "
                'author = "claude -p --permission-mode acceptEdits"'
            )
        self.caps = Caps(*(_count(f"caps.{name}", self.values[f"caps.{name}"]) for name in
                           ("review_streak", "design_turns", "override_increment", "turns")))  # fmt: skip
        self.time_limit = _positive("time_limit", self.values["time_limit"])
        self.check_limit = _positive("check_limit", self.values["check_limit"])
        self.prompt_tokens = _count("prompt_tokens", self.values["prompt_tokens"])
        if self.prompt_tokens < LEAST:
            raise _wrong("prompt_tokens", self.prompt_tokens, f"at least {LEAST}: what has to be said needs them")
        self.output_bytes = _count("output_kb", self.values["output_kb"]) * 1000
        self.environment = _texts("environment", self.values["environment"])
        self.gates = tuple(_among("gate", self.values["gate"], _REVIEWED[:1]))
        self.notify = _command("notify", self.values["notify"]) if self.values["notify"] else []
        self.checks = _checks(self.values["checks"])
        self.authors = self._authors()
        self.reviewers = self._reviewers()
        self.budget = {name: self.values[f"budget.{name}"] for name in ("tokens", "cost", "seconds")
                       if self.values[f"budget.{name}"] is not None}  # fmt: skip
        try:
            Budget(**self.budget)
        except BudgetError as error:
            raise RunSettingsError(f"run.budget: {error}") from None

    def _authors(self) -> dict[str, Worker]:
        given = self.values["stages"]
        if not isinstance(given, dict):
            raise _wrong("stages", given, 'a table such as stages.design = {author = "..."}')
        authors = {}
        for stage in _STAGES:
            own = given.get(stage, {})
            if not isinstance(own, dict):
                raise _wrong(f"stages.{stage}", own, 'a table such as {author = "...", time_limit = 600}')
            _only(f"stages.{stage}", own, ("author", "time_limit"))
            name = f"stages.{stage}.author" if "author" in own else "author"
            command = _command(name, own.get("author", self.values["author"]))
            limit = _positive(f"stages.{stage}.time_limit", own.get("time_limit", self.time_limit))
            authors[stage] = Worker(stage, command, limit)
        unknown = sorted(set(given) - set(_STAGES))
        if unknown:
            raise _wrong("stages", ", ".join(unknown), "stages of: " + ", ".join(_STAGES))
        return authors

    def _reviewers(self) -> list[Worker]:
        given = self.values["reviewers"]
        if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
            raise _wrong("reviewers", given, "tables [[run.reviewers]] with name and command")
        found = []
        for at, each in enumerate(given or [{"name": name} for name in PROMPTS]):
            name = each.get("name")
            if not isinstance(name, str) or not _NAME.fullmatch(name) or name == CHECKS:
                raise _wrong(f"reviewers[{at}].name", name, 'a short name of letters, digits and -, not "checks"')
            _only(f"reviewers[{at}]", each, ("name", "command", "prompt", "stages", "time_limit"))
            prompt = each.get("prompt", PROMPTS.get(name, PROMPTS["correctness"]))
            if not isinstance(prompt, str) or not prompt.strip():
                raise _wrong(f"reviewers[{at}].prompt", prompt, "a text: what to look at")
            found.append(
                Worker(
                    name,
                    _command(f"reviewers[{at}].command", each.get("command", self.values["author"])),
                    _positive(f"reviewers[{at}].time_limit", each.get("time_limit", self.time_limit)),
                    prompt,
                    tuple(_among(f"reviewers[{at}].stages", each.get("stages", list(_REVIEWED)), _REVIEWED)),
                )
            )
        names = [each.name for each in found]
        files = [f"{name.lower()}{attempt}" for name in names for attempt in ("", "-2", "-3")]
        if len(set(files)) < len(files):  # each attempt's files bear the reviewer's name
            raise _wrong("reviewers", ", ".join(names), "a name of its own for each, not that of another's -2 or -3")
        for stage in _REVIEWED:
            if not any(stage in each.stages for each in found):
                raise RunSettingsError(
                    f"run.reviewers: nobody reviews the stage {stage}: name one, or leave stages out"
                )
        return found

    def of_stage(self, stage: str) -> list[str]:
        """Return the names of the reviewers of a stage."""
        return [each.name for each in self.reviewers if stage in each.stages]


def _flat(table: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key in _TABLES:
            if not isinstance(value, dict):
                raise _wrong(key, value, f"a table [run.{key}]")
            values.update({f"{key}.{name}": each for name, each in value.items()})
        else:
            values[key] = value
    for key in values:
        if key not in KEYS:
            import difflib

            near = difflib.get_close_matches(key, list(KEYS), n=1, cutoff=0.5)
            hint = f"Did you mean run.{near[0]}?" if near else "docs/run.md lists all keys."
            raise RunSettingsError(f"unknown setting run.{key}. {hint}")
    return values


def _wrong(key: str, given: Any, expected: str) -> RunSettingsError:
    return RunSettingsError(f"run.{key} = {given!r}: expected {expected}")


def _count(key: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 10**9:
        raise _wrong(key, value, "a whole number from 1")
    return value


def _positive(key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 10**9:
        raise _wrong(key, value, "a number of seconds above 0")
    return float(value)


def _texts(key: str, value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
        raise _wrong(key, value, "a list of texts")
    return value


def _among(key: str, value: Any, known: tuple[str, ...]) -> list[str]:
    if not isinstance(value, list) or not all(each in known for each in value):
        raise _wrong(key, value, "a list of texts out of: " + ", ".join(f'"{each}"' for each in known))
    return value


def _only(key: str, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    unknown = [name for name in table if name not in known]
    if unknown:
        raise RunSettingsError(f"unknown setting run.{key}.{unknown[0]}. Known are: {', '.join(known)}")


def _command(key: str, value: Any) -> list[str]:
    if not isinstance(value, str):
        words = list(_texts(key, value)) if isinstance(value, list) else []
    else:
        try:
            words = shlex.split(value)
        except ValueError as error:
            raise _wrong(key, value, f"a command line ({error})") from None
    if not words:
        raise _wrong(key, value, "a command")
    return words


def _checks(value: Any) -> list[tuple[str, str]]:
    if not isinstance(value, dict) or not all(isinstance(each, str) and each.strip() for each in value.values()):
        raise _wrong("checks", value, 'a table of commands by kind, such as {test = "python -m pytest -q"}')
    unknown = [kind for kind in value if kind not in CHECK_KINDS]
    if unknown:
        raise _wrong("checks", ", ".join(unknown), "kinds of: " + ", ".join(CHECK_KINDS))
    return list(value.items())
