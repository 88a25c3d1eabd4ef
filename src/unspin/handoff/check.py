"""Judges what an agent's text claims against the record of its session.

``check`` gives a tag for each claim that the record can judge, ``annotate`` writes the tags into the
text. Where the record cannot judge there is no tag: a wrong tag is worse than none. What counts as a
claim is the business of ``facts.claims``; what is in the record that of ``ledger``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from unspin.events import SHELL
from unspin.facts.claims import CHECK, DEED, FILE, RAN, Claim, claims, says_how_it_ended
from unspin.facts.roles import file_role
from unspin.facts.shell import read_line
from unspin.facts.step import FAILED, PASSED
from unspin.handoff.ledger import git_words, unquoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from unspin.handoff.ledger import ChangedFile, Command, Ledger, Run

VERIFIED = "verified"
STALE = "stale"
UNVERIFIED = "unverified"
CONTRADICTED = "contradicted"

_HIDDEN = {"masked": "exit status hidden", "untold": "outcome not told", "": "outcome unknown"}
_NAMES = {"test": "test run", "build": "build", "lint": "lint run", "type": "type check"}
_ABOUT = {
    "test": "tests",
    "build": "build",
    "lint": "lint",
    "type": "types",
    "build|type": "compiles",
    "type|build": "types",
}

#: Kinds of check whose commands often do the work of another kind as well: nothing is "not run" beside them.
_INCLUDED_IN = {"test": (), "build": ("test", "type"), "type": ("build", "test", "lint"), "lint": ("build", "type")}

# What says which tests, and does not say which part of the suite.
_LOOSE_SCOPE = frozenset(
    (
        *(
            "new",
            "existing",
            "updated",
            "added",
            "relevant",
            "related",
            "affected",
            "remaining",
            "other",
            "all",
            "test",
        ),
        *("this", "these", "those", "both"),
    )
)
_WHOLE_TARGETS = frozenset(
    ("tests", "test", "src", "lib", "spec", "specs", ".", "..", "...", "app", "packages", "apps")
)
# The options that pick some of what there is, by runner: the same letter means other things elsewhere.
_PARTIAL = re.compile(
    r"::"
    r"|\s--(?:grep|filter|testNamePattern|test-name-pattern|testPathPatterns?|only|lf|last-failed|scope|related|changed"
    r"|onlyChanged|findRelatedTests|shard)(?:[ =]|\Z)"
    r"|\b(?:pytest|unittest)\b.{0,150}\s(?:-k|-m)[ =]"
    r"|\b(?:jest|vitest|bun|npm|pnpm|yarn|npx)\b.{0,150}\s(?:-t|--project)[ =]"
    r"|\b(?:mocha|playwright)\b.{0,150}\s(?:-g|--project)[ =]"
    r"|\b(?:npm|yarn)\b.{0,150}\s(?:-w|--workspace)[ =]"
    r"|\bgo\b.{0,150}\s-run[ =]"
    r"|\bcargo\b.{0,150}\s(?:(?:-p|--package|--test|--bin)[ =]|--(?:lib|doc)\b)"
    r"|\bgradlew?\b.{0,150}\s--tests[ =]"
)


@dataclass(slots=True, frozen=True)
class Tag:
    """What the record says of one claim.

    ``verdict`` is ``verified``, ``stale``, ``unverified`` or ``contradicted``, ``reason`` a few words for
    all but the first. ``about`` names the claim where its sentence holds others that are judged otherwise.
    ``evidence`` is the command or file that it stands on, ``at`` its place in the record (0 for none).
    """

    claim: Claim
    verdict: str
    reason: str = ""
    about: str = ""
    evidence: str = ""
    at: int = 0

    @property
    def text(self) -> str:
        return f"[{self.verdict}: {self.reason}]" if self.reason else f"[{self.verdict}]"


def check(text: str, ledger: Ledger) -> list[Tag]:
    """Return a tag for each claim in ``text`` that the session's record can judge, in the order of the text."""
    found = claims(text)
    checked = {(claim.stop, claim.subject) for claim in found if claim.kind == CHECK}
    # "I ran the tests and they pass": how they ended is what is claimed
    found = [claim for claim in found if not (claim.kind == RAN and (claim.stop, _kind(claim)) in checked)]
    # nor is the run alone where it says so in words that were not read
    found = [claim for claim in found if claim.kind != RAN or not says_how_it_ended(text[claim.end : claim.stop])]
    judged = [(claim, _judge(claim, ledger)) for claim in found]
    by_sentence: dict[int, set[str]] = {}
    for claim, tag in judged:
        by_sentence.setdefault(claim.stop, set()).add(tag.text if tag else "")
    return [
        tag if len(by_sentence[claim.stop]) == 1 else _named(tag)
        for claim, tag in judged
        if tag is not None
    ]  # fmt: skip


def annotate(text: str, tags: Sequence[Tag]) -> str:
    """Return ``text`` with each tag right after the sentence of its claim, all else as it was."""
    after: dict[int, list[str]] = {}
    for tag in tags:
        written = f"{tag.text} ({tag.about})" if tag.about else tag.text
        if written not in (known := after.setdefault(tag.claim.stop, [])):
            known.append(written)
    parts, at = [], 0
    for stop in sorted(after):
        parts += [text[at:stop], " ", ", ".join(after[stop])]
        at = stop
    return "".join([*parts, text[at:]])


def _kind(claim: Claim) -> str:
    """Return the kind of check that a claim of a run is about, empty where it is none."""
    if claim.subject in _NAMES:
        return claim.subject
    return next((found.kind for found in read_line(claim.subject).checks), "")


def _named(tag: Tag) -> Tag:
    claim = tag.claim
    about = _ABOUT.get(claim.subject, claim.subject) if claim.kind == CHECK else claim.subject
    return Tag(claim, tag.verdict, tag.reason, " ".join(about.split())[:60], tag.evidence, tag.at)


def _judge(claim: Claim, ledger: Ledger) -> Tag | None:
    if claim.kind == CHECK:
        return _check(claim, ledger) if not claim.place else None
    if claim.kind == RAN:
        return _ran(claim, ledger) if not claim.place else None
    if claim.kind == FILE:
        return _file(claim, ledger)
    return _deed(claim, ledger) if claim.kind == DEED else None


# -- checks ----------------------------------------------------------------------------


def _check(claim: Claim, ledger: Ledger) -> Tag | None:
    kinds = claim.subject.split("|")
    ran = {run.kind for run in ledger.runs if run.hidden != "refused"}
    meant = next((kind for kind in kinds if kind in ran), "")
    if kinds == ["type", "build"] and meant == "build":
        return None  # a build may leave the types unread
    every = [run for run in ledger.runs if run.kind == meant and run.hidden != "refused"]
    runs = _in_scope(every, claim)
    if not runs:
        return _not_run(claim, kinds, ledger) if not every and claim.holds else None
    known = next((run for run in reversed(runs) if run.outcome in (PASSED, FAILED)), None)
    last = runs[-1]
    if ledger.rolled_back_since(last.at):
        return None  # which state the files are in now is not in the record
    if not claim.holds:
        certain = known is last and known.outcome == FAILED and not ledger.changed_since(known.at)
        return _tag(claim, VERIFIED, "", last) if certain else None
    if known is None:
        return _tag(claim, UNVERIFIED, _HIDDEN.get(last.hidden, last.hidden), last)
    edits = ledger.edited_since(known.at)
    if known is not last and (known.outcome == FAILED or ledger.changed_since(known.at)):
        return _tag(claim, UNVERIFIED, _HIDDEN.get(last.hidden, last.hidden), last)
    if known.outcome == FAILED:
        if ledger.maybe_checked_since(known.at):
            return None
        return _tag(claim, CONTRADICTED, f"last {_NAMES.get(known.kind, 'run')} failed", known)
    if edits:
        if ledger.maybe_checked_since(edits[0].at):
            return None
        return _tag(claim, STALE, "edited since", known)
    if ledger.maybe_edited_since(known.at):
        return None
    return _passed(claim, [run for run in runs if not ledger.changed_since(run.at)], every)


def _in_scope(runs: list[Run], claim: Claim) -> list[Run]:
    """Return the runs that the claim can be about: those whose command or folder names the part that it names."""
    words = [word for word in claim.scope if word.lower() not in _LOOSE_SCOPE]
    if not words:
        return runs
    return [run for run in runs if all(word.lower() in f"{run.folder or ''} {run.command}".lower() for word in words)]


def _passed(claim: Claim, fresh: list[Run], every: list[Run]) -> Tag | None:
    """Judge a claim by runs on the files as they are, the last of which has passed."""
    ended: dict[tuple[str | None, str], Run] = {}
    for run in fresh:
        if run.outcome in (PASSED, FAILED):
            ended[run.folder, run.command] = run
    if any(run.outcome == FAILED for run in ended.values()):
        return None  # one of several commands has failed, and which of them the claim is about is open
    passed = list(ended.values())
    best = next((run for run in reversed(passed) if not is_partial(run.command)), None)
    if claim.count is not None and any(run.counts for run in passed):
        if any(claim.count in (run.counts[0], sum(run.counts)) for run in passed if run.counts):
            return _tag(claim, VERIFIED, "", passed[-1])
        shown = [sum(run.counts) for run in every if run.counts]
        if len(shown) == len(every) and sum(shown) < claim.count and not any("go test" in run.command for run in every):
            return _tag(claim, CONTRADICTED, f"{passed[-1].counts[0]} tests passed", passed[-1])
        return None
    if best is not None:
        return _tag(claim, VERIFIED, "", best)
    if any(word.lower() not in _LOOSE_SCOPE for word in claim.scope):
        return _tag(claim, VERIFIED, "", passed[-1])
    if claim.scope:
        return None  # "the new tests": whether they are in the part that ran is open
    return _tag(claim, UNVERIFIED, "only a part was run", passed[-1])


def is_partial(command: str) -> bool:
    """Tell whether a check's command picks some of what there is to check: a file, a pattern, a package."""
    if _PARTIAL.search(command):
        return True
    return any(
        _names_part(target, check.kind)
        for check in read_line(command).checks
        for target in check.targets
        if target != check.script and not target.endswith("manage.py")
    )


def _names_part(target: str, kind: str) -> bool:
    """Tell whether a file or folder on a command line is a part of what there is to check."""
    name = target.rstrip("/*").removeprefix("./").rstrip("/")
    role = file_role(name)
    if kind == "build" or role == "config" or name.endswith((".sln", ".json", ".xml")):
        return False
    is_file = "." in name.rsplit("/", 1)[-1].strip(".")
    return (kind == "test" or is_file) and name not in _WHOLE_TARGETS


def _not_run(claim: Claim, kinds: list[str], ledger: Ledger) -> Tag | None:
    beside = {kind for each in kinds for kind in _INCLUDED_IN.get(each, ())}
    if ledger.maybe_checked_since(0) or any(run.kind in beside or run.kind == "run" for run in ledger.runs):
        return None
    return Tag(claim, UNVERIFIED, "not run")


def _tag(claim: Claim, verdict: str, reason: str, run: Run) -> Tag:
    return Tag(claim, verdict, reason, evidence=run.command, at=run.at)


# -- commands --------------------------------------------------------------------------


def _ran(claim: Claim, ledger: Ledger) -> Tag | None:
    if claim.subject in _NAMES:
        runs = [run for run in ledger.runs if run.kind == claim.subject and run.hidden != "refused"]
        if not runs:
            return _not_run(claim, [claim.subject], ledger)
        runs = _in_scope(runs, claim)
        whole = [run for run in runs if not claim.whole or not is_partial(run.command)]
        return _tag(claim, VERIFIED, "", whole[-1]) if whole else None
    wanted = f" {' '.join(claim.subject.split())} "
    found = [each for each in ledger.commands if each.action == SHELL and wanted in _words(each.label)]
    ran = [each for each in found if not each.refused]
    if ran:
        return Tag(claim, VERIFIED, evidence=ran[-1].label, at=ran[-1].at)
    if found:
        return Tag(claim, CONTRADICTED, "refused", evidence=found[-1].label, at=found[-1].at)
    kinds = sorted({found.kind for found in read_line(claim.subject).checks})
    if not kinds or "run" in kinds or any(run.kind in kinds for run in ledger.runs):
        return None
    return _not_run(claim, kinds, ledger)


def _words(label: str) -> str:
    for mark in ("&&", "||", ";", "|", "(", ")", "\n"):
        label = label.replace(mark, f" {mark} ")
    return f" {' '.join(label.split())} "


# -- files -----------------------------------------------------------------------------


def _file(claim: Claim, ledger: Ledger) -> Tag | None:
    files = _files_named(claim.subject, ledger)
    if any(ledger.rolled_back_since(file.last or file.first) for file in files):
        return None
    changed = [file for file in files if file.changes]
    if changed:
        if claim.verb == "delete":
            gone = [file for file in changed if file.last_change in ("delete", "move")]
            return _of_file(claim, VERIFIED, "", gone[-1]) if len(gone) == len(changed) else None
        if claim.verb == "move":
            return _of_file(claim, VERIFIED, "", changed[-1]) if changed[-1].last_change == "move" else None
        written = [file for file in changed if file.last_change == "write"]
        return _of_file(claim, VERIFIED, "", written[-1]) if written else None
    if files and not any(ledger.maybe_edited_since(file.first) for file in files):
        return _of_file(claim, CONTRADICTED, "the edit was refused", files[-1])
    return None


def _files_named(path: str, ledger: Ledger) -> list[ChangedFile]:
    """Return the files of the record that a path in a text can mean: it often leaves out the folders."""
    path = path.replace("\\", "/").removeprefix("./")
    exact = ledger.files.get(path)
    if exact is not None:
        return [exact]
    return [
        file
        for name, file in ledger.files.items()
        if name.endswith(f"/{path}") or ("/" in name and path.endswith(f"/{name}"))
    ]


def _of_file(claim: Claim, verdict: str, reason: str, file: ChangedFile) -> Tag:
    return Tag(claim, verdict, reason, evidence=file.path, at=file.last or file.first)


# -- deeds -----------------------------------------------------------------------------


def _deed(claim: Claim, ledger: Ledger) -> Tag | None:
    """Judge "committed" and "pushed"; of other deeds the record does not know how they show."""
    if claim.subject not in ("commit", "push"):
        return None
    tried = [each for each in ledger.commands if each.action == SHELL and claim.subject in git_words(each.label)]
    ran = [each for each in tried if not each.refused]
    if not ran:
        return None
    certain = [each for each in ran if _tells(each)]
    if certain and certain[-1] is ran[-1]:
        last = ran[-1]
        if not last.failed:
            return Tag(claim, VERIFIED, evidence=last.label, at=last.at)
        if all(each.failed for each in ran):
            return Tag(claim, CONTRADICTED, f"last {claim.subject} failed", evidence=last.label, at=last.at)
    return None


def _tells(command: Command) -> bool:
    """Tell whether the status of a command line is that of all its parts: they are joined by "and" alone."""
    line = unquoted(command.label).replace("&&", " ").replace("2>&1", " ")
    return not command.cut and not any(mark in line for mark in "|;&\n`$(")
