"""What an agent's text claims: checks that pass or fail, commands that ran, files that changed, deeds done.

A claim is a statement about what has been done or how things stand, in the agent's own voice. Questions,
conditions, plans, instructions, quotes, hedged and negated statements are none; where it is not certain that
a sentence claims something, it does not. The words are data (``claims.json``): English.

It does not know what happened: whether a claim is so is another room's question.
"""

from __future__ import annotations

import re

from unspin.facts.claim_text import CODED, QUOTED, Sentence, one_of, sentences, words_of
from unspin.facts.lists import read_list
from unspin.facts.shell import read_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

CHECK = "check"  # a kind of check passes or fails
RAN = "ran"  # a command, or a kind of check, was run
FILE = "file"  # a file was created, changed, deleted, moved
DEED = "deed"  # something else was done: committed, pushed, deployed, installed ...

_MAX_LOOK = 12  # tokens in which a subject has to end
_TOKEN = re.compile(
    rf"(`+{CODED}+`+)|({QUOTED}+)|(\d[\d,]*\s?/\s?\d[\d,]*(?![\w/.]))|(\d{{1,3}}(?:,\d{{3}})+(?![\w,])|[^\W_][\w'’./+#%@\\-]*|[./~@_][\w@./~\\-]*\w)|(\S)"
)
_COUNT = re.compile(r"\d{1,3}(?:,\d{3})+\Z|\d{1,9}\Z")
_RATIO = re.compile(r"([\d,]{1,11})\s?/\s?([\d,]{1,11})\Z")
_LINKING = re.compile(
    r"(?:and|it|they|it's|they're|that|which|everything|all|both|of|them|each|every|one|with|:|;|,|-|—|–|→|\()\Z"
)
_ASIDE = re.compile(r"(?:can|since|\w+ly)\Z")  # between the agent and its "confirmed"
_OWN_TOO = ("and", "run", "runs")
_CLAUSE_ENDS = re.compile("[.;:,—–!?]")
_STOPS = ".;:,()[]{}—–!?|•…"
_TICKS = "✅✓✔☑🟢🎉"
_LINKS = (":", "—", "–", "-", "=", "→", "\ufe0f", "|")
_PLACE = re.compile(r"[\w@~.\-/\\+\[\]()$]+\Z")
_LINE_OF = re.compile(r"(?::\d+(?:[-:]\d+)?|#L\d+(?:-L?\d+)?)\Z")


class Claim:
    """One claim. ``start`` and ``end`` are its offsets in the text, ``stop`` where a tag of it goes.

    ``kind`` is ``check``, ``ran``, ``file`` or ``deed``. ``subject`` says what about: the kind of check (several
    joined by ``|`` where the words leave it open), the command, the path, or what was done. ``verb`` is what
    is said of it (``pass``, ``fail``, ``ran``, ``create``, ``change``, ``delete``, ``move``, ``done``), ``holds`` is
    false where it says that a check fails. ``count`` and ``total`` are numbers of tests, ``scope`` the words
    that limit it to a part (``("crypto",)``), ``whole`` is set where it speaks of all. ``place`` is ``ci`` or
    ``hook`` where it speaks of checks that run elsewhere. ``quote`` is the sentence.
    """

    __slots__ = (
        "count", "end", "holds", "kind", "place", "quote", "scope", "start", "stop", "subject", "total", "verb",
        "whole",
    )  # fmt: skip

    def __init__(
        self,
        kind: str,
        subject: str,
        verb: str,
        *,
        start: int = 0,
        end: int = 0,
        stop: int = 0,
        quote: str = "",
        holds: bool = True,
        count: int | None = None,
        total: int | None = None,
        scope: tuple[str, ...] = (),
        whole: bool = False,
        place: str = "",
    ):
        self.kind = kind
        self.subject = subject
        self.verb = verb
        self.start = start
        self.end = end
        self.stop = stop
        self.quote = quote
        self.holds = holds
        self.count = count
        self.total = total
        self.scope = scope
        self.whole = whole
        self.place = place

    def __repr__(self) -> str:
        return f"Claim({self.kind!r}, {self.subject!r}, {self.verb!r}, quote={self.quote!r})"


def claims(text: str) -> list[Claim]:
    """Return what ``text`` claims, in order. Linear in its length; never raises for any text."""
    found: list[Claim] = []
    for sentence in sentences(text):
        if claims_nothing(sentence.masked):
            continue
        found += _Reader(text, sentence).read()
    return found


# -- patterns made of the lists, once --------------------------------------------------

_made: dict[str, re.Pattern[str]] = {}


def _pattern(name: str, make: Callable[[], str]) -> re.Pattern[str]:
    if name not in _made:
        _made[name] = re.compile(make(), re.IGNORECASE)
    return _made[name]


def _any(name: str) -> re.Pattern[str]:
    """Return the pattern of a list's words standing anywhere."""
    return _pattern(name, lambda: rf"(?<![\w\-/.])(?:{one_of(words_of(name))})(?![\w\-/]|\.\w)")


def _whole(name: str) -> re.Pattern[str]:
    """Return the pattern of a list's words standing alone."""
    return _pattern(f"={name}", lambda: rf"(?:{one_of(words_of(name))})\Z")


def _kinds_of(list_name: str) -> dict[str, re.Pattern[str]]:
    """Return the patterns of a list's kinds, each standing alone."""
    return {
        kind: _pattern(f"{list_name}.{kind}", lambda words=words: rf"(?:{one_of(words)})\Z")  # type: ignore[misc]
        for kind, words in words_of(list_name).items()
    }


def claims_nothing(masked: str) -> bool:
    """Tell whether a whole sentence, masked, claims nothing: a question, a condition, something hedged or hoped for."""
    if masked.rstrip(" \"'”’)*_").endswith("?"):
        return True
    if _any("blocking").search(masked) or _opening().match(masked):
        return True
    soft = _any("softening").search(masked)
    return bool(soft and _any("softened").search(masked, soft.end()))


def held_off(masked: str, start: int, stop: int) -> bool:
    """Tell whether words in a part of a sentence, or at its beginning, make a claim there none (negations)."""
    blocking = _any("blocking_clause")
    opening = blocking.search(masked)
    if opening and not masked[: opening.start()].strip(" -–—\"'([{"):
        return True  # "Before the fix, all tests passed"
    if _pattern("blocking_opening", lambda: rf"[\W_]*(?:{one_of(words_of('blocking_opening'))})(?!\w)").match(masked):
        return True  # "On main, all tests pass"
    before = masked[:start].rstrip(" *_")
    if before.endswith(":"):
        label = _CLAUSE_ENDS.split(before[:-1])[-1].strip(" -–*_\"'([{#")
        if blocking.search(label) or _whole("held_labels").match(label):
            return True  # "The log says: all tests pass"
    return bool(blocking.search(masked, start, stop))


def says_how_it_ended(text: str) -> bool:
    """Tell whether words behind the claim of a run say how it ended: then it claims more than that it ran."""
    return bool(_any("how_it_ended").search(text)) or any(tick in text for tick in (*_TICKS, "❌", "✗"))


def _opening() -> re.Pattern[str]:
    """Return the pattern of how an instruction begins: "Then run ..."."""
    return _pattern(
        "opening",
        lambda: rf"\W*(?:(?:then|next|now|finally|also|first),? )?(?:{one_of(words_of('imperatives'))})(?![\w:'’-])",
    )


class _Token:
    __slots__ = ("end", "kind", "low", "start", "text")

    def __init__(self, text: str, kind: str, start: int, end: int):
        self.text = text
        self.low = text.lower().replace("’", "'")
        self.kind = kind  # "code", "quote", "ratio", "word", "mark"
        self.start = start
        self.end = end


class _Subject:
    """What a check claim is about, as far as it was read."""

    def __init__(self) -> None:
        self.kinds: list[str] = []
        self.scope: list[str] = []
        self.whole = False
        self.count: int | None = None
        self.total: int | None = None


class _Reader:
    """Reads one sentence, token by token: a claim begins where a clause does."""

    def __init__(self, text: str, sentence: Sentence):
        self.sentence = sentence
        self.tokens = _tokens(sentence.masked)
        offset = sentence.start
        self.quote = " ".join(text[offset : sentence.end].split())
        self.code = {
            each.start: text[offset + each.start : offset + each.end].strip("`")
            for each in self.tokens
            if each.kind == "code"
        }
        masked = sentence.masked
        self.place = "hook" if _any("hooks").search(masked) else "ci" if _any("elsewhere").search(masked) else ""
        self.found: list[Claim] = []

    def read(self) -> list[Claim]:
        at = 0
        while at < len(self.tokens):
            if self._clause_begins(at):
                begin = self._after_leads(at)
                end = (
                    self._check(begin)
                    or self._no_errors(begin)
                    or self._all_checks(begin)
                    or self._ran(begin)
                    or self._file(begin)
                    or self._path_first(begin)
                    or self._deed(begin)
                )
                if end:
                    at = max(at + 1, end)
                    continue
            at += 1
        return self.found

    # -- where a clause begins ---------------------------------------------------------

    def _clause_begins(self, at: int) -> bool:
        if at == 0:
            return True
        before = self.tokens[at - 1]
        if before.kind == "mark":
            return before.text in _STOPS or before.text in _TICKS or before.text in "-=→&+"
        return before.low in ("and", "with", "plus", "-", "that") and (before.low != "that" or self._confirmed(at - 1))

    def _confirmed(self, at: int) -> bool:
        """Tell whether the agent, or its run, has confirmed what begins here: "QA confirmed that" is another's word."""
        if not at or self.tokens[at - 1].low not in ("confirmed", "verified", "confirm"):
            return False
        at -= 2
        while at >= 0 and (_whole("deed_adverbs").match(self.tokens[at].low) or _ASIDE.match(self.tokens[at].low)):
            at -= 1
        token = self.tokens[at] if at >= 0 else None
        return token is None or token.kind == "mark" or bool(_whole("own").match(token.low)) or token.low in _OWN_TOO

    def _low(self, at: int) -> str:
        return self.tokens[at].low if at < len(self.tokens) else ""

    def _after_leads(self, at: int) -> int:
        """Skip what may open a statement: "Now", "I verified that", a tick."""
        for _ in range(3):
            size = self._phrase(at, _whole("leads"), 5)
            if size and at + size < len(self.tokens):
                at += size
                while at < len(self.tokens) and self.tokens[at].text in (",", ":", "-", "—"):
                    at += 1
            elif at < len(self.tokens) and self.tokens[at].text in ("(", "[", "\ufe0f"):
                at += 1
            else:
                break
        return at

    def _phrase(self, at: int, pattern: re.Pattern[str], longest: int = 4) -> int:
        """Return how many tokens from ``at`` on the longest match of ``pattern`` takes, 0 for none."""
        for size in range(min(longest, len(self.tokens) - at), 0, -1):
            if pattern.match(" ".join(token.low for token in self.tokens[at : at + size])):
                return size
        return 0

    # -- checks ------------------------------------------------------------------------

    def _check(self, begin: int) -> int:
        """Read "all 12 unit tests and the linter pass", "Tests: 12 passed", "`npm test` is green"."""
        subject = _Subject()
        at = self._subject(begin, subject)
        if not at:
            return self._bare_count(begin) or self._compiles(begin)
        at = self._aside(at, subject)
        at = self._part(at, subject)
        at = self._between(at, subject)
        verb, size = self._predicate(at, subject)
        if not verb:
            return self._compiles(begin)
        end = at + size
        if not self._may_follow(end):
            return 0
        self._aside(end, subject)  # "All tests pass (12/12)"
        if verb == "pass" and subject.total is not None and subject.count != subject.total:
            verb = "fail"
        self._claim_checks(begin, end, subject, verb)
        return end

    def _subject(self, at: int, subject: _Subject) -> int:
        """Read the nouns of checks with what stands before them; return the end, 0 where there are none."""
        end = self._noun(at, subject)
        while end:
            begin = aside = self._aside(end, subject)
            while begin < len(self.tokens) and self.tokens[begin].text in (",", "&", "/", "+", "and"):
                begin += 1
            if begin == aside:
                break
            further = self._noun(begin, subject, more=True)
            if not further:
                break
            end = further
        return end

    def _noun(self, at: int, subject: _Subject, *, more: bool = False) -> int:
        limit = min(len(self.tokens), at + (6 if more else _MAX_LOOK))
        words: list[str] = []
        count = total = None
        determined = False
        while at < limit:
            token = self.tokens[at]
            kind, size = self._noun_at(at)
            if kind:
                after, further = self._noun_at(at + size)
                if after and after != kind:  # "TypeScript build", "lint tests": the last one says what it is
                    words.append(token.low)
                    at += size
                    continue
                end = at + size + further if after else at + size
                if token.kind == "code":
                    words.append(self.code[token.start])
                elif token.low in ("test", "spec") and size == 1:
                    words.append("this")  # one of them
                if self.tokens[end - 1].low in ("files", "file", "suites", "suite", "runs"):
                    count = total = None  # of something else than tests
                self._take(subject, kind, words, count, total)
                return end
            if token.kind == "ratio":
                count, total = _ratio(token.text)
            elif token.kind == "word" and _COUNT.match(token.text):
                if count is not None and words and words[-1] in ("of", "the"):
                    total = _number(token.text)  # "9 of the 12 tests"
                else:
                    count = _number(token.text)
            elif token.kind in ("code", "word") and self._may_qualify(
                token, words, determined=determined or bool(count)
            ):
                words.append(self.code.get(token.start, token.low))
                determined = determined or bool(_whole("determiners").match(token.low))
            else:
                return 0
            at += 1
        return 0

    def _noun_at(self, at: int) -> tuple[str, int]:
        """Return the kind of check that the words at ``at`` name, and how many tokens they take."""
        if at >= len(self.tokens):
            return "", 0
        token = self.tokens[at]
        if token.kind == "code":
            kind = _kind_of_command(self.code[token.start])
            return (kind, 1) if kind else ("", 0)
        best = ("", 0)
        for kind, pattern in _kinds_of("nouns").items():
            size = self._phrase(at, pattern, 3)
            if size > best[1]:
                best = (kind, size)
        if not best[0] and "/" in token.low and token.kind == "word":  # tests/lint/typecheck
            parts = [
                next((kind for kind, pattern in _kinds_of("nouns").items() if pattern.match(part)), "")
                for part in token.low.split("/")[:6]
            ]
            if all(parts):
                return "+".join(dict.fromkeys(parts)), 1
        return best

    def _may_qualify(self, token: _Token, words: list[str], *, determined: bool) -> bool:
        low = token.low
        if _whole("determiners").match(low) or low in ("of", "all"):
            # "the subagent reports all tests pass": a new noun begins, and what stood before is no part of it
            return low == "of" or all(_whole("neutral").match(each) or self._known(each) for each in words)
        if token.kind == "code":
            return True
        if low in words_of("not_qualifiers") or len(words) >= 6:
            return False
        if _whole("qualifiers").match(low):
            return True
        free = sum(not _whole("neutral").match(each) and not _whole("qualifiers").match(each) for each in words)
        return free < (3 if determined else 1) and (determined or not (words or low.endswith(("ing", "ly"))))

    @staticmethod
    def _known(word: str) -> bool:
        return any(_whole(name).match(word) for name in ("determiners", "qualifiers"))

    def _take(self, subject: _Subject, kinds: str, words: list[str], count: int | None, total: int | None) -> None:
        for kind in kinds.split("+"):
            if kind not in subject.kinds:
                subject.kinds.append(kind)
        subject.scope += [each for each in words if not _whole("neutral").match(each)]
        subject.whole = subject.whole or any(_whole("whole").match(each) for each in words)
        if count is not None and subject.count is None:
            subject.count, subject.total = count, total

    def _aside(self, at: int, subject: _Subject) -> int:
        """Skip a parenthesis, and take the number of tests in it: "tests (1219)"."""
        if at < len(self.tokens) and self.tokens[at].text == "(":
            for end in range(at + 1, min(len(self.tokens), at + 16)):
                if self.tokens[end].text == ")":
                    inner = self.tokens[at + 1 : end]
                    if inner and subject.count is None and len(inner) <= 3:
                        self._number(inner[0], subject)
                    return end + 1
        return at

    def _number(self, token: _Token, subject: _Subject) -> bool:
        if token.kind == "ratio":
            subject.count, subject.total = _ratio(token.text)
            return True
        if token.kind == "word" and _COUNT.match(token.text):
            subject.count = _number(token.text)
            return True
        return False

    def _part(self, at: int, subject: _Subject) -> int:
        """Read what limits the subject to a part: "in `a.py`", "for the parser"."""
        if at >= len(self.tokens) or self.tokens[at].low not in ("in", "for", "of", "across", "on", "under"):
            return at
        across = self.tokens[at].low == "across"
        for end in range(at + 1, min(len(self.tokens), at + 7)):
            if self.tokens[end].kind == "mark":
                return at
            if self._phrase(end, _whole("adverbs"), 3) or self._phrase(end, _whole("passing"), 3):
                if not across:
                    words = [self.code.get(each.start, each.low) for each in self.tokens[at + 1 : end]]
                    subject.scope += [each for each in words if not _whole("neutral").match(each)]
                return end
        return at

    def _between(self, at: int, subject: _Subject) -> int:
        """Skip what may stand between subject and predicate: "are now all", ": 12", "(12/12) —"."""
        for _ in range(7):
            if at >= len(self.tokens):
                break
            token = self.tokens[at]
            size = self._phrase(at, _whole("adverbs"), 3)
            if size and self._phrase(at, _whole("passing"), 5) <= size:
                subject.whole = subject.whole or token.low == "all"
                at += size
            elif token.text in _LINKS or self._leads_on(at):
                at += 1
            elif token.text == "(":
                further = self._aside(at, subject)
                if further == at:
                    break
                at = further
            elif self._number(token, subject):
                at += 1
                if at < len(self.tokens) and self.tokens[at].low in ("tests", "test", "specs"):
                    at += 1
            else:
                break
        return at

    def _leads_on(self, at: int) -> bool:
        """Tell whether a comma or a tick is followed by what is said of the subject: ", all green", "✅ 12 passed"."""
        if self.tokens[at].text == ",":
            return self._low(at + 1) in ("all", "both")
        if self.tokens[at].text not in _TICKS or at + 1 >= len(self.tokens):
            return False
        at += 1
        token = self.tokens[at]
        counted = token.kind == "ratio" or bool(_COUNT.match(token.text))
        return counted or bool(self._phrase(at, _whole("passing"), 3)) or bool(self._phrase(at, _whole("adverbs"), 1))

    def _predicate(self, at: int, subject: _Subject) -> tuple[str, int]:
        size = self._phrase(at, _whole("passing"), 5)
        if size:
            return "pass", size
        size = self._phrase(at, _whole("failing"), 1)
        if size:
            return "fail", size
        if not {"build", "type"}.isdisjoint(subject.kinds):
            size = self._phrase(at, _whole("compiling"), 5)
            if size:
                subject.kinds = ["type|build" if each == "type" else each for each in subject.kinds]
                return "pass", size
        return "", 0

    def _may_follow(self, at: int) -> bool:
        """Tell whether a predicate may end here: "passes `x` to `y`" says something else."""
        if at >= len(self.tokens):
            return True
        token = self.tokens[at]
        if token.kind == "mark":
            return token.text not in "=<>*'\"`$#@" and not (token.text in ":—–-" and self._denied(at + 1))
        if token.kind in ("code", "quote"):
            return False
        return bool(self._phrase(at, _whole("followers"), 3)) or token.kind == "ratio"

    def _denied(self, at: int) -> bool:
        """Tell whether what stands behind a colon or dash denies, whole: "Tests pass: no", not "no regressions"."""
        size = self._phrase(at, _whole("denials"), 6)
        return bool(size) and (at + size == len(self.tokens) or self.tokens[at + size].kind == "mark")

    def _bare_count(self, begin: int) -> int:
        """Read "12 passed, 0 failed" and "12/12 passing" where the sentence speaks of tests."""
        tokens = self.tokens
        subject = _Subject()
        if begin + 1 >= len(tokens) or not self._number(tokens[begin], subject):
            return 0
        size = self._phrase(begin + 1, _pattern("bare", lambda: r"(?:pass|passed|passing)\Z"), 1)
        if not size or not self._may_follow(begin + 2):
            return 0
        of_tests = re.search(r"\b(?:tests?|specs|suites?|pytest|jest|vitest)\b", self.sentence.masked, re.IGNORECASE)
        nothing_failed = re.search(r"\b(?:0|no|zero) (?:fail|skip)", self.sentence.masked, re.IGNORECASE)
        if not of_tests and not nothing_failed and "test" not in map(_kind_of_command, self.code.values()):
            return 0
        subject.kinds = ["test"]
        verb = "fail" if subject.total is not None and subject.total != subject.count else "pass"
        self._claim_checks(begin, begin + 2, subject, verb)
        return begin + 2

    def _compiles(self, begin: int) -> int:
        """Read "the code compiles cleanly", "everything type-checks"."""
        at = begin
        while at < len(self.tokens) and _whole("determiners").match(self.tokens[at].low):
            at += 1
        size = self._phrase(at, _whole("compiled"), 2)
        if not size:
            return 0
        at += size
        for _ in range(3):
            at += self._phrase(at, _whole("adverbs"), 2)
        for name, kind in (("compiling", "build|type"), ("checking", "type")):
            size = self._phrase(at, _whole(name), 5)
            if size and self._may_follow(at + size):
                subject = _Subject()
                subject.kinds = [kind]
                self._claim_checks(begin, at + size, subject, "pass")
                return at + size
        return 0

    def _no_errors(self, begin: int) -> int:
        """Read "zero lint errors", "no type or lint errors"."""
        tokens = self.tokens
        if begin + 2 >= len(tokens) or not _whole("none").match(tokens[begin].low):
            return 0
        subject = _Subject()
        for at in range(begin + 1, min(len(tokens), begin + 7)):
            low = tokens[at].low
            if _whole("errors").match(low):
                if not subject.kinds or not self._may_follow(at + 1):
                    return 0
                self._claim_checks(begin, at + 1, subject, "pass")
                return at + 1
            kind = next((kind for kind, pattern in _kinds_of("errors_of").items() if pattern.match(low)), "")
            if kind:
                subject.kinds.append(kind)
            elif low not in ("or", "and", ",", "/"):
                return 0
        return 0

    def _all_checks(self, begin: int) -> int:
        """Read "all checks pass (tests, lint, types)": what is listed is claimed."""
        at = begin
        while at < len(self.tokens) and at < begin + 5 and self._may_open(self.tokens[at]):
            at += 1
        nouns = _pattern("checks", lambda: r"(?:checks|everything|validations?|verification|gates)\Z")
        if self._phrase(at, nouns, 1):
            at += 1
        elif at == begin or self._low(at - 1) != "all":
            return 0
        subject = _Subject()
        at = self._between(at, subject)
        size = self._phrase(at, _whole("passing"), 4)
        at += size
        if not size or at >= len(self.tokens) or self.tokens[at].text not in "(:—–-":
            return 0
        end = self._subject(at + 1, subject)
        if not end or (end < len(self.tokens) and self.tokens[end].text not in ").;"):
            return 0
        self._claim_checks(begin, end, subject, "pass")
        return end

    def _may_open(self, token: _Token) -> bool:
        return bool(
            _whole("determiners").match(token.low) or _COUNT.match(token.text) or token.low in ("three", "four")
        )

    def _claim_checks(self, begin: int, end: int, subject: _Subject, verb: str) -> None:
        if self._clause_blocked(begin, end) or (subject.count == 0 and verb == "pass"):
            return
        for kind in subject.kinds:
            counted = kind == "test"
            self._add(
                CHECK, kind, verb, begin, end,
                holds=verb == "pass",
                count=subject.count if counted else None,
                total=subject.total if counted else None,
                scope=tuple(subject.scope),
                whole=subject.whole,
                place=self.place,
            )  # fmt: skip

    # -- what was done -----------------------------------------------------------------

    def _doer(self, at: int) -> int:
        """Skip the agent's own "I have also"; what is left out is its own as well, but in "were made and pushed"."""
        size = self._phrase(at, _whole("own"), 2)
        if not size and at and self.tokens[at - 1].low == "and" and self._in_passive(at):
            return len(self.tokens)
        at += size
        for _ in range(2):
            at += self._phrase(at, _whole("deed_adverbs"), 1)
        return at

    def _in_passive(self, at: int) -> bool:
        before = [token.low for token in self.tokens[max(0, at - 8) : at]]
        return not {"were", "was", "been", "be", "is", "are", "gets"}.isdisjoint(before)

    def _ran(self, begin: int) -> int:
        """Read "ran `npm test`", "I ran the full test suite"."""
        at = self._doer(begin)
        size = self._phrase(at, _whole("ran"), 2)
        if not size and at > begin and self.tokens[at - 1].low.endswith(("have", "'ve")):
            size = self._phrase(at, _pattern("run", lambda: r"(?:re-?)?run\Z"), 1)
        if not size:
            return 0
        at += size
        for end in range(at, min(len(self.tokens), at + 5)):
            token = self.tokens[end]
            if token.kind == "code":
                command = self.code[token.start].strip()
                if not _is_command(command) or self._clause_blocked(begin, end + 1):
                    return 0
                self._add(RAN, command, "ran", begin, end + 1)
                kind = _kind_of_command(command)
                return self._and_it_passed(begin, end + 1, [kind] if kind else [])
            if token.kind != "word":
                break
        subject = _Subject()
        end = self._subject(at, subject)
        if not end or self._clause_blocked(begin, end):
            return 0
        for kind in subject.kinds:
            self._add(RAN, kind, "ran", begin, end, scope=tuple(subject.scope), whole=subject.whole, place=self.place)
        return self._and_it_passed(begin, end, subject.kinds, subject)

    def _and_it_passed(self, begin: int, end: int, kinds: list[str], ran: _Subject | None = None) -> int:
        """Read what is said of a run behind it: "and it passed", "— all green"; return where to go on."""
        subject = _Subject()
        subject.kinds = kinds
        if ran is not None:
            subject.scope, subject.whole = ran.scope, ran.whole
        if not kinds:
            return end
        size = self._phrase(end, _whole("ended_well"), 3)
        if size and self._may_follow(end + size):
            self._claim_checks(begin, end + size, subject, "pass")
            return end + size
        at = end
        while at < min(len(self.tokens), end + 6) and _LINKING.match(self.tokens[at].low):
            at += 1
        if at == end:
            return end
        at = self._between(at, subject)
        verb, size = self._predicate(at, subject)
        if not verb or not self._may_follow(at + size):
            return end
        self._claim_checks(begin, at + size, subject, verb)
        return at + size

    def _file(self, begin: int) -> int:
        """Read "Created `a.py` and `b.py`", "fixed the total in src/cart.py", "Modified: `a.py`"."""
        at = self._doer(begin)
        verb, size = self._deed_of("changed", at)
        if not size:
            return 0
        first = at + size
        at = first
        if at < len(self.tokens) and self.tokens[at].text == ":":
            at += 1
        paths: list[str] = []
        indirect = end = 0
        for place in range(at, min(len(self.tokens), at + 24)):
            token = self.tokens[place]
            path = self._path(token)
            if path:
                if paths and not self._goes_on(end, place):
                    break
                if not paths and place > at:
                    before = [each.low for each in self.tokens[at:place]]
                    indirect = any(each in ("in", "to", "from", "into", "at", "inside", "within") for each in before)
                    if not indirect and (len(before) > 4 or any(each.kind == "code" for each in self.tokens[at:place])):
                        return 0
                    if {"of", "with", "by", "using", "via", "like", "per"} & set(before) and not indirect:
                        return 0
                    if "to" in before and before[-1] != "to" and not _a_place_follows(before):
                        return 0  # "added a filter to exclude a.py"
                    if before[-1] in ("with", "by", "using", "via", "like", "per", "see", "of", "as", "on", "than"):
                        return 0
                paths.append(path)
                end = place + 1
            elif self._ends_object(token, found=bool(paths)):
                break
        if not paths or self._clause_blocked(begin, end):
            return 0
        if indirect and verb in ("delete", "move", "create"):
            verb = "change"
        for path in paths if verb != "move" else paths[:1]:
            self._add(FILE, path, verb, begin, end)
        return end

    @staticmethod
    def _ends_object(token: _Token, *, found: bool) -> bool:
        if token.kind == "mark":
            return token.text not in ",&+'’/" or (token.text == "," and not found)
        return not found and token.low in ("so", "because", "which", "where", "who", "that")

    def _goes_on(self, end: int, place: int) -> bool:
        return all(each.text in (",", "&", "and", "+") for each in self.tokens[end:place])

    def _path_first(self, begin: int) -> int:
        """Read "`a.py` — added a guard" and "`a.py` has been updated"."""
        if begin >= len(self.tokens) or (begin and not self.sentence.item):
            return 0
        path = self._path(self.tokens[begin])
        if not path:
            return 0
        at = begin + 1
        if at < len(self.tokens) and self.tokens[at].text == "(":
            at = self._aside(at, _Subject())
        if at >= len(self.tokens):
            return 0
        passive = self._phrase(at, _pattern("passive", lambda: r"(?:was|has been|is now|have been)\Z"), 2)
        if passive:
            at += passive
        elif self.tokens[at].text in ("—", "–", "-", ":", "→"):
            at += 1
        else:
            return 0
        verb, size = self._deed_of("changed", at)
        if not size or self._clause_blocked(begin, at + size):
            return 0
        direct = passive or at + size >= len(self.tokens)
        self._add(FILE, path, verb if direct else "change", begin, at + size)
        return at + size

    def _deed(self, begin: int) -> int:
        """Read "Committed as `1a2b3c4`", "pushed to main", "installed `left-pad`"."""
        at = self._doer(begin)
        if at == begin and at < len(self.tokens) and self.tokens[at].low in ("changes", "everything"):
            at += 1
            at += self._phrase(at, _pattern("passive", lambda: r"(?:was|has been|is now|have been)\Z"), 2)
        verb, size = self._deed_of("deeds", at)
        if not size or self._clause_blocked(begin, at + size):
            return 0
        end = at + size
        if end < len(self.tokens) and self.tokens[end].low in ("back", "on", "by"):
            return 0
        self._add(DEED, verb, "done", begin, end)
        if verb == "push" and "commit" in self.tokens[at].low:
            self._add(DEED, "commit", "done", begin, end)
        return end

    def _deed_of(self, name: str, at: int) -> tuple[str, int]:
        best = ("", 0)
        for verb, pattern in _kinds_of(name).items():
            size = self._phrase(at, pattern, 4)
            if size > best[1]:
                best = (verb, size)
        return best

    def _path(self, token: _Token) -> str:
        text = self.code[token.start].strip() if token.kind == "code" else token.text if token.kind == "word" else ""
        return as_path(text)

    # -- both --------------------------------------------------------------------------

    def _clause_blocked(self, begin: int, end: int) -> bool:
        """Tell whether words around the claim, in its own part of the sentence, make it none."""
        tokens = self.tokens
        first = begin
        while first > 0 and tokens[first - 1].text not in ".;:,—–!?":
            first -= 1
        last = end
        while last < len(tokens) and tokens[last].text not in ".;:,—–!?":
            last += 1
        start = tokens[first].start if first < len(tokens) else 0
        stop = tokens[last - 1].end if last else 0
        return held_off(self.sentence.masked, start, stop)

    def _add(self, kind: str, subject: str, verb: str, begin: int, end: int, **more: object) -> None:
        offset = self.sentence.start
        last = self.tokens[min(end, len(self.tokens)) - 1]
        claim = Claim(
            kind,
            subject,
            verb,
            start=offset + self.tokens[begin].start,
            end=offset + last.end,
            stop=self.sentence.stop,
            quote=self.quote,
        )
        for name, value in more.items():
            setattr(claim, name, value)
        self.found.append(claim)


def _tokens(masked: str) -> list[_Token]:
    found = []
    for match in _TOKEN.finditer(masked):
        kind = ("code", "quote", "ratio", "word", "mark")[(match.lastindex or 5) - 1]
        text, start, end = match[0], match.start(), match.end()
        if kind == "word":
            bare = text.rstrip("./-'’+%" if not text.endswith("100%") else "./-'’+")
            if bare and bare != text:
                found.append(_Token(bare, kind, start, start + len(bare)))
                found += [_Token(masked[place], "mark", place, place + 1) for place in range(start + len(bare), end)]
                continue
        found.append(_Token(text, kind, start, end))
    return found


def _number(text: str) -> int:
    return int(text.replace(",", "")[:9])


def _ratio(text: str) -> tuple[int | None, int | None]:
    match = _RATIO.match(text)
    if not match or not match[1].strip(",") or not match[2].strip(","):
        return None, None
    return _number(match[1]), _number(match[2])


def _a_place_follows(before: list[str]) -> bool:
    """Tell whether what stands between "to" and a path says that it is a place, and no verb's object."""
    between = before[len(before) - before[::-1].index("to") :]
    return (
        between[0] in words_of("determiners")
        or between[0] in ("a", "an", "its", "existing", "new", "file", "module")
        or not {"in", "from", "into", "at", "inside", "within"}.isdisjoint(between)
    )


def _kind_of_command(text: str) -> str:
    """Return the kind of check that a command in backticks runs, empty for none."""
    if " " not in text and text.lower() not in ("pytest", "tsc", "mypy", "eslint", "ruff", "vitest", "jest", "pyright"):
        return ""
    if len(text) > 200:
        return ""
    kinds = {check.kind for check in read_line(text).checks}
    return kinds.pop() if len(kinds) == 1 and not kinds & {"run"} else ""


def _is_command(text: str) -> bool:
    first = text.split(" ", 1)[0]
    return bool(text) and bool(re.match(r"[\w./~-]+\Z", first)) and not (first == text and ("_" in text or "." in text))


def as_path(text: str) -> str:
    """Return the path that a word is, without a line number behind it; empty where it is none."""
    text = _LINE_OF.sub("", text)
    if not text or len(text) > 300 or not _PLACE.match(text) or "//" in text or text.startswith(("-", "@")):
        return ""
    name = text.replace("\\", "/").rsplit("/", 1)[-1].lower()
    names, extensions = _file_names()
    stem, _, extension = name.rpartition(".")
    return text if name in names or (stem and extension in extensions) else ""


def _file_names() -> tuple[frozenset[str], frozenset[str]]:
    """Return names and extensions of files, as the roles of files are told by them."""
    if not _files:
        roles = read_list("roles")
        _files.append(frozenset(roles["config_names"]))
        _files.append(frozenset((*roles["code"], *roles["doc"], *roles["config"], *words_of("extensions"))))
    return _files[0], _files[1]


_files: list[frozenset[str]] = []
