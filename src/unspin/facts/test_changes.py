"""What an edit did to a test: assertions removed or altered, skips added, tests deleted.

Read for the rule `tampering`: a test that was made to pass by changing what it asks. Precision comes
before recall: renamed identifiers, moved blocks, other set-up code, another framework for the same
expectation and stricter assertions are no weakening; a changed expected value, a weaker matcher, a lost
assertion and a skip are.

How: both texts are cut into statements (`statements`). Statements that stand in both are set aside,
whatever their order. The assertions that are left are paired, the likeliest first, and each pair is judged
by its literals, matcher and negation (`assertions.holds`). Statements that are no assertions count where
they hold expected values: rows of a test table, and what is assigned to a name such as `expected` or
`want`.

What it does not know: whether the change was right. Nor does it see an expected value that is computed
elsewhere, or literals of set-up code, which are inputs.
"""

from unspin.facts import assertions
from unspin.facts.assertions import (
    Assertion,
    clean,
    close,
    has_names,
    holds,
    key_of,
    literals_of,
    split,
    words,
)
from unspin.facts.definitions import defined_names, removed_names
from unspin.facts.digest import digest
from unspin.facts.patterns import IGNORECASE, pattern
from unspin.facts.statements import BLOCK, NUMBER, OPERATOR, STRING, WORD, Statement, Text, language_of, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Final

    from unspin.facts.assertions import Tokens

__all__ = ["TestChange", "changes_by_sed", "compare", "defined_names", "removed_names", "still_lost"]

_MAX_NAMES: "Final" = 40
_MAX_MARKS: "Final" = 48
_MAX_PAIRS: "Final" = 40_000  # assertions compared each with each; beyond that only near neighbours are
_NEAR: "Final" = 40

_EXPECTED_NAME = pattern(
    r"(?:^|_)(?:expected|expect|wanted|want|golden|exp)(?:_|$)|^(?:expected|want|golden)[A-Z]"
    r"|Expected(?:[A-Z]|$)|Want$"
    r"|(?:^|_)(?:EXPECTED|WANT|GOLDEN)(?:_|$)"
)
_TEST_MARK = pattern(
    r"(?:@|\[(?:[^\[\]]*,)?|#\[)(?:[\w.:]+[.:])?(?:test|Test|ParameterizedTest|RepeatedTest|Fact|Theory|TestMethod"
    r"|TestCase|rstest"
    r"|test_case|DataTestMethod|wasm_bindgen_test|gtest)\b"
)
_FUNCTION = pattern(r"\b(?:fn|func|fun|function|void|Task|public|def|Future)\b")

# Patterns over a statement as one line, without the text of strings.
_SKIP = pattern(
    # JavaScript, Go and their like: a modifier, a method, a prefix, an option
    r"\b(?:it|test|describe|context|suite|specify|bench|t|tb|ctx|this)(?:\.[\w$]+)*"
    r"\.(?:skip|todo|fixme|skipIf|runIf|failing|fails|ignore|Skip|Skipf|SkipNow)\b|^test\.fail\("
    r"|^x(?:it|test|describe|context|specify|example|feature|scenario)\b(?=[(\"' .])"
    r"|^(?:Deno\.)?(?:it|test|describe|context|specify|example|group|testWidgets)\b.*"
    r"(?:\b(?:skip|todo|pending|ignore|fails):(?!false|False)|,:(?:skip|pending)\b)"
    # Python
    r"|\bmark\.(?:skip|skipif|xfail)\b|\bunittest\.(?:skip|expectedFailure|SkipTest)"
    r"|^@(?:[\w.]+\.)?(?:skip|skipif|skipIf|skipUnless|skip_\w+|xfail|expectedFailure|Skip|wip|ignore)\b"
    r"|\bskipTest\("
    r"|\bpytest\.(?:skip|xfail|importorskip)\(|\b(?:raise|throw) (?:new )?(?:[\w.]+\.)?(?:SkipTest|XCTSkip"
    r"|SkipException|TestAbortedException|TestSkippedException)"
    r"|^__test__=False|\bcollect_ignore"
    # Java, Kotlin, C#, Swift
    r"|@(?:Ignore|IgnoreIf|Disabled\w*|EnabledIf\w*|PendingFeature\w*)\b|\bassume(?:True|False|That"
    r"|NoException)\(|\bAssumptions\.abort\(|^@Test\(.*\benabled=false|\.config\(.*\benabled=false"
    r"|\bSkip=|^\[.*\bIgnore(?:Reason)?=|\[(?:[A-Z][^\]]*,)?(?:Ignore|Explicit)\b"
    r"|\bAssert\.(?:Ignore|Inconclusive|Skip\w*)\("
    r"|\.disabled\(|\.enabled\(if:|\bXCTSkip(?:If|Unless)?\(|\bXCTExpectFailure\(|^(?:try |await )*withKnownIssue\b"
    # Rust, C++, PHP, Elixir, Julia, Perl
    r"|#\[ignore|#\[cfg_attr\([^\]]*\bignore|#\[cfg\((?:any\(\)|FALSE|false|not\(test\))\)|\bGTEST_SKIP\b|\bDISABLED_\w+|^SKIP\("
    r"|\bmarkTest(?:Skipped|Incomplete)\(|->(?:skip|todo)\((?![\d$])|^@(?:tag|moduletag|describetag)[ :]*\"?\"?:?skip"
    r"|^@(?:test_skip|test_broken)\b|\bskip_all\b|\bdoctest::(?:skip|may_fail|should_fail)\("
)
_SKIP_WORDS = {  # calls without an owner, by language
    **dict.fromkeys(
        ("ruby", "shell", "hash"), pattern(r"(?:^|\bthen |&&|\|\||;)(?:skip|pending|omit|pend)\b(?![=.:])")
    ),
    "js": pattern(r"^(?:skip|pending)\((?:\"\")?\)$"),
    "braces": pattern(r"^(?:cancel|pending)(?:\((?:\"\")?\))?$|^ignore\(\"\"\)|^assume\((?!true)"),
    "dash": pattern(r"^pending\b(?![=.:])"),
}
_SKIPS_BY_ASSERTION = pattern(r"\bAssert\.(?:Ignore|Inconclusive|Skip\w*)\(")
_SKIP_TAG = pattern(r"\[(?:\.|!(?:mayfail|shouldfail)\])")  # Catch2
_SKIP_BUILD = pattern(r"(?:go:build| ?\+build) +(?:ignore|skip|never|disabled)\b")
_ONLY = pattern(
    r"\b(?:it|test|describe|context|suite|specify)(?:\.[\w$]+)*\.only\b|^f(?:it|describe|context|specify|example)[( ]\""
    r"|^(?:it|test|describe)\b.*\bonly:true|^(?:it|describe|context|specify)\b.*,:focus\b|^@focus\b"
)
_NEVER = pattern(r"^if ?\(?(?:false|False|0|FALSE|!true|not True)\)?(?:$|:|\{|;|then\b)|^#if 0\b")
_ALWAYS = pattern(r"^if ?\(?(?:true|True|1|TRUE|!false|not False)\)?(?:\{\}|:|;?then)?(return(?: [\w()]{1,10})?)?;?$")
_RETURN = pattern(r"^return(?: (?:0|None|null|nil|undefined|true|false|True|False|Ok\(\(\)\)))?$")
_SWALLOWS = pattern(r"^except(?: ?\(?(?:AssertionError|Exception|BaseException)\b[^:]*)?:(?:pass|\.\.\.|continue)?$")
_EMPTY_CATCH = pattern(r"try\{\}catch(?:\([\w$ :.|]*\))?\{\}(?:finally\{\})?$")
_ROW_CALLS = pattern(
    r"\b(?:InlineData|DataRow|TestCaseData|TestWith|pytest\.param)\(|^\[TestCase\("
    r"|#\[(?:test_)?case(?:::\w+)?\("
    r"|^@example\(|\bArguments\.of\(|\barguments\("
)
_ROW_CALL = pattern(r"InlineData|DataRow|TestCase|case|test_case|example|of|arguments|TestCaseData|TestWith|param")
_LIST_CALLS = pattern(
    r"\bmark\.parametrize\(|\b(?:it|test|describe)(?:\.\w+)*\.each\b|@(?:CsvSource|ValueSource)\("
    r"|\bparameterized\.expand\(|\bnamed_parameters\(|\bwith_?[dD]ata\(|->with\("
)
_LIST_CALL = pattern(r"parametrize|each|CsvSource|ValueSource|expand|named_parameters|with_?[dD]ata|with")
_NO_BRACES = ("python", "ruby", "elixir")
_HAS_TITLES = pattern(r"\.(?:snap|snap\.new|ambr|storyshot|snapshot)\Z", IGNORECASE)
_ENTRY_TITLE = pattern(r"# (?:name:|serializer version:|---)|---$|\[\S+ - \d+\]$")  # syrupy, go-snaps
_NOTE = pattern(  # what insta notes above a snapshot
    r"(?:source|expression|assertion_line|description|info|input_file|snapshot_kind|created|creator|reviewer):"
)


class TestChange:
    """What changed in the tests between two texts.

    removed_assertions: stood there and are gone.
    altered_assertions: assertions and expected values that stood there and now say something else.
    added_skips: skips, expected failures, `only`, tests commented out, returned from early or never entered.
    deleted_tests: tests and rows of test tables that are gone, neither renamed nor moved.
    added_assertions: assertions that are new or newly worded.
    names: identifiers in what was removed or altered, at most 40, in order: the caller can see whether they
        name code that is gone.
    lost: each of the first four counts again, one by one: `r`, `a`, `s` or `d` and eight hex digits that stand
        for what was removed, altered, skipped or deleted; at most 48.
    came: the digits of what was not there before, whatever it is; with `lost`, `still_lost` tells over several
        edits what was put back.
    """

    __slots__ = (
        "added_assertions",
        "added_skips",
        "altered_assertions",
        "came",
        "deleted_tests",
        "lost",
        "names",
        "removed_assertions",
    )
    __test__ = False  # no test class, whatever a test runner makes of its name

    def __init__(
        self,
        removed_assertions: int = 0,
        altered_assertions: int = 0,
        added_skips: int = 0,
        deleted_tests: int = 0,
        added_assertions: int = 0,
        names: "tuple[str, ...]" = (),
        lost: "tuple[str, ...]" = (),
        came: "tuple[str, ...]" = (),
    ) -> None:
        self.removed_assertions = removed_assertions
        self.altered_assertions = altered_assertions
        self.added_skips = added_skips
        self.deleted_tests = deleted_tests
        self.added_assertions = added_assertions
        self.names = names
        self.lost = lost
        self.came = came

    def weakens(self) -> bool:
        """Whether the tests now ask for less, or for something else."""
        return bool(self.removed_assertions or self.altered_assertions or self.added_skips or self.deleted_tests)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TestChange) and self._told() == other._told()

    def __hash__(self) -> int:
        return hash(self._told())

    def __repr__(self) -> str:
        return f"TestChange({', '.join(f'{k}={getattr(self, k)!r}' for k in self.__slots__)})"

    def _told(self) -> "tuple[object, ...]":
        """All but the digests, which follow from the rest."""
        return tuple(getattr(self, k) for k in self.__slots__ if k not in ("lost", "came"))


def compare(before: str, after: str, path: str = "") -> TestChange:
    """What the tests of `before` lost in `after`: two whole files, or the two sides of one edit.

    `path` tells the language and whether the file is a snapshot; without it the look of the text does.
    Linear in the texts; never raises.
    """
    if before == after:
        return TestChange()
    if path:
        from unspin.facts.roles import is_snapshot

        if path.lower().endswith(".feature"):
            return _compare_feature(before, after)
        if is_snapshot(path):
            return _compare_lines(_snapshot_lines(before, path), _snapshot_lines(after, path))
    language = language_of(path, before if before.strip() else after)
    return _compare_parts(_Parts(read(before, language)), _Parts(read(after, language)))


def still_lost(changes: "Iterable[tuple[Sequence[str], Sequence[str]]]") -> "list[int]":
    """Assertions removed and altered, skips added and tests deleted by several edits together.

    `changes`: `lost` and `came` of each edit, in any order and of any files; what one edit took away and
    another brought back counts for nothing, nor does what was moved.
    """
    changes = list(changes)
    have = _counted(mark for _, came in changes for mark in came)
    totals = dict.fromkeys("rasd", 0)
    for lost, _ in changes:
        for mark in lost:
            if have.get(mark[1:], 0):
                have[mark[1:]] -= 1
            elif mark[:1] in totals:
                totals[mark[:1]] += 1
    return list(totals.values())


def _marks(lost: "dict[str, list[str]]", came: "list[list[str]]") -> "tuple[tuple[str, ...], tuple[str, ...]]":
    """`lost` by its letter and `came` by its kind as digests; each kind of `came` holds what `lost` can."""
    gone = [kind + digest(key)[:8] for kind, keys in lost.items() for key in keys[:_MAX_MARKS]]
    return tuple(gone[:_MAX_MARKS]), tuple(digest(key)[:8] for keys in came for key in keys[:_MAX_MARKS])


# ------------------------------------------------------------------------------------------------- reading
# one text


class _Test:
    """One test: its name, its statements and the assertions in it as keys, and how many statements do
    something.
    """

    __slots__ = ("body", "keys", "name", "real")

    def __init__(self, name: str) -> None:
        self.name = name
        self.body: list[str] = []
        self.keys: list[str] = []
        self.real = 0


class _Parts:
    """All that matters of one text."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self.assertions: list[Assertion] = []
        self.rows: list[Tokens] = []
        self.expected: list[tuple[str, Tokens]] = []
        self.tests: list[_Test] = []
        self.skips: list[tuple[str, str]] = []  # what, and the test that it stands at or ""
        self.swallowed: list[str] = []  # keys of assertions whose failure nobody hears of; they ask nothing
        self.loose: list[str] = []  # keys of the statements that are none of these
        self.functions: list[str] = []  # those that are no tests
        self.constants: dict[str, tuple[str, str]] = {}  # names that are given to one literal
        self._read()

    def _read(self) -> None:
        text = self.text
        language = text.language
        test: _Test | None = None
        marks = ""  # annotations that wait for what they stand at
        waiting: list[str] = []  # skips among them
        heads: list[tuple[int, Statement]] = []  # by indentation, where there are no braces
        conditions: set[int] = set()
        tries: list[tuple[int, int]] = []  # column of each open `try:`, and the assertions before it
        owners: list[_Test | None] = []  # the test of each assertion
        unheard: set[int] = set()  # which assertions are swallowed
        for order, statement in enumerate(text.statements):
            tokens = statement.tokens
            compact = _compact(tokens)
            while heads and heads[-1][0] >= statement.column:
                heads.pop()
            head = (heads[-1][1] if heads else None) if language in _NO_BRACES else statement.parent
            heads.append((statement.column, statement))

            annotation = _is_annotation(compact, language)
            name = _test_name(tokens, compact, marks, language)
            decorates = annotation and name is None
            start = -1
            if not decorates or "should_panic" in compact or "xpected" in compact:
                start = assertions.find(tokens, language)
            if start >= 0 and name is None and _SKIPS_BY_ASSERTION.search(compact):
                start = -1

            if start < 0:
                what = self._skip(compact, order, statement, head)
            elif name is not None:  # `it.skip("adds", () => expect(..))`: what stands before the assertion tells
                what = self._skip(_compact(tokens[: _after_arrow(tokens, start)]), order, statement, head)
            else:
                what = ""
            if what and decorates:
                waiting.append(what)
            elif what:
                self.skips.append((what, test.name if name is None and test else name or ""))

            if name is not None:
                test = _Test(name)
                self.tests.append(test)
            if name is not None or not annotation:
                self.skips.extend((what, name or compact[:80]) for what in waiting)
                waiting, marks = [], ""
            else:
                marks += compact[:200]

            if start >= 0:
                assertion = None
                if assertions.is_failure(compact) and head and head.tokens[0][1] in ("if", "unless", "elif", "else"):
                    if id(head) not in conditions:
                        conditions.add(id(head))
                        assertion = assertions.judge_condition(head, order)
                else:
                    said = tokens if name is None else tokens[_after_arrow(tokens, start) :]
                    assertion = assertions.judge(said, order, language)
                if assertion is not None:
                    self.assertions.append(assertion)
                    owners.append(test)
            elif name is not None:
                if ".each" in compact:
                    self._take_rows(tokens, compact)
            else:
                if not self._take_rows(tokens, compact):
                    self._take_expected(tokens)
                    self.loose.append(key_of(tokens))
                    self._take_function(tokens, compact)
                    self._take_constant(tokens)
            if test is not None and name is None:
                test.body.append(key_of(tokens))
                test.real += compact not in words("empty bodies")
            if language == "python":
                unheard.update(self._swallowed(statement, compact, order, tries))
        self.skips.extend((what, "") for what in waiting)
        self.skips.extend(("skip", "") for comment in text.comments if _SKIP_BUILD.match(comment))
        if language not in _NO_BRACES:
            unheard.update(self._caught())
        self._set_apart(unheard, owners)

    def _skip(self, compact: str, order: int, statement: Statement, head: "Statement | None") -> str:
        if "mark.parametrize(" in compact:
            return ""  # the marks of its rows are read with them
        called = _SKIP_WORDS.get(self.text.language)
        if _SKIP.search(compact) or (called and called.search(compact)):
            return "skip"
        if statement.tokens[0][1] in words("test macros") and any(
            kind == STRING and _SKIP_TAG.search(value) for kind, value in statement.tokens[:8]
        ):
            return "skip"
        if _ONLY.search(compact):
            return "only"
        if _NEVER.match(compact):
            return "never"
        first = statement.tokens[0]
        if first[0] == STRING and first[1][:1] == "!" and statement.tokens[-1][0] == BLOCK:
            return "skip"  # Kotest: `"!adds" { .. }`
        always = _ALWAYS.match(compact)
        if always and always.group(1):
            return "return"
        if not _RETURN.match(compact):
            return ""
        ends = self._is_dead_end(order, statement) or (head is not None and _ALWAYS.match(_compact(head.tokens)))
        return "return" if ends else ""

    def _is_dead_end(self, order: int, statement: Statement) -> bool:
        """Whether more of the same block follows: what follows a bare `return` is never reached."""
        statements = self.text.statements
        if order + 1 >= len(statements):
            return False
        following = statements[order + 1]
        if following.parent is not statement.parent or following.block != statement.block:
            return False
        if following.column != statement.column or following.tokens[0][1] in words("after a return"):
            return False
        above = statements[order - 1] if order else None
        return above is None or above.column >= statement.column or above.tokens[0][1] not in words("before a return")

    # --- expected values outside of assertions

    def _take_rows(self, tokens: "Tokens", compact: str) -> bool:
        """The rows of a test table in this statement; whether it holds one."""
        if _ROW_CALLS.search(compact):
            i = 0
            while i < len(tokens) - 1:
                if tokens[i][0] == WORD and tokens[i + 1][1] == "(" and _ROW_CALL.fullmatch(tokens[i][1]):
                    end = close(tokens, i + 1)
                    self._add_row(tokens[i + 2 : end])
                    i = end
                i += 1
            return True
        if _LIST_CALLS.search(compact):
            for i in range(len(tokens) - 1):
                if tokens[i][0] == WORD and _LIST_CALL.fullmatch(tokens[i][1]) and self._take_list(tokens, i + 1):
                    return True
        if tokens[0][1] == "for" and self._take_loop(tokens):
            return True
        for i in range(min(len(tokens), 6)):
            if tokens[i][0] == WORD and tokens[i][1].lower().lstrip("_") in words("table names"):
                for j in range(i + 1, min(len(tokens), i + 60)):
                    if tokens[j][1] in ("=", ":="):
                        group = _last_group(tokens, j + 1)
                        for row in split(group):
                            self._add_row(row)
                        return bool(group)
                break
        return self._take_bare_row(tokens)

    def _take_list(self, tokens: "Tokens", at: int) -> bool:
        kind, value = tokens[at]
        if kind == STRING:  # a table in a template string
            for line in value.splitlines():
                if line.strip():
                    self._add_row([(STRING, "|".join(cell.strip() for cell in line.split("|")))])
            return True
        if value != "(":
            return False
        arguments = split(tokens[at + 1 : close(tokens, at)])
        lists = [argument for argument in arguments if argument[0][1] in ("[", "{", "(")]
        for row in split(lists[0][1 : close(lists[0], 0)]) if lists else arguments:
            self._add_row(row)
        return True

    def _take_loop(self, tokens: "Tokens") -> bool:
        """`for n, want in [(1, 2), (2, 4)]:`."""
        for i in range(1, min(len(tokens) - 1, 20)):
            if tokens[i][1] in ("in", "of") and tokens[i + 1][1] in ("[", "(", "{"):
                rows = split(tokens[i + 2 : close(tokens, i + 1)])
                if rows and all(row[0][1] in ("(", "[", "{") for row in rows):
                    for row in rows:
                        self._add_row(row)
                    return True
        return False

    def _take_bare_row(self, tokens: "Tokens") -> bool:
        """A statement that is nothing but a row, as the two sides of an edit show it: `("Mary", 1),`."""
        opening = tokens[0]
        if opening[0] != OPERATOR or opening[1] not in ("(", "[", "{"):
            return False
        if self.text.language == "literals" and tokens[-1][1] == "]" and tokens[1][1][:1].isupper():
            return False  # `[TestMethod, Ignore("x")]`
        end = close(tokens, 0)
        if [value for _, value in tokens[end + 1 :]] not in ([], [","]) or end == len(tokens):
            return False
        inside = tokens[1:end]
        elements = split(inside)
        if len(elements) < 2 or not literals_of(inside):
            return False
        if opening[1] == "{":  # an object: a row where it names what is expected, or names nothing
            named = len(elements[0]) > 1 and elements[0][1][1] in (":", "=", "=>")
            if named and not any(len(e) > 2 and _names_expected(e[0]) for e in elements):
                return False
            if not named and self.text.language != "literals":
                return False
        self._add_row(inside)
        return True

    def _add_row(self, row: "Tokens") -> None:
        row = clean(row)
        if row and row[0][1] in ("(", "[", "{") and close(row, 0) == len(row) - 1:
            row = row[1:-1]
        kept: Tokens = []
        for element in split(row):
            if len(element) > 2 and element[0][1] in words("titles") and element[1][1] in (":", "="):
                continue
            if len(element) > 2 and element[0][1] in words("row options") and element[1][1] == "=":
                if element[0][1] == "marks" and _SKIP.search(_compact(element)):
                    self.skips.append(("skip", ""))  # `pytest.param(1, marks=pytest.mark.skip)`
                continue
            kept.extend(element)
            kept.append((OPERATOR, ","))
        if kept:
            self.rows.append(kept)

    def _take_expected(self, tokens: "Tokens") -> None:
        """Values assigned to, or keyed by, a name that says that they are expected."""
        if tokens[0][1] in words("declares"):
            return
        size = len(tokens)
        i = 0
        while i < size - 2:
            if tokens[i + 1][1] in (":", "=", ":=", "=>") and _names_expected(tokens[i]):
                end = _value_end(tokens, i + 2, whole=i == 0)
                self.expected.append((tokens[i][1], clean(tokens[i + 2 : end])))
                i = end
            i += 1

    def _take_function(self, tokens: "Tokens", compact: str) -> None:
        if _FUNCTION.search(compact):
            at = next((i for i in range(1, min(len(tokens), 40)) if tokens[i][1] == "("), 0)
            if at and tokens[at - 1][0] == WORD:
                self.functions.append(tokens[at - 1][1].lower())

    def _take_constant(self, tokens: "Tokens") -> None:
        tokens = clean(tokens[-8:]) if len(tokens) <= 8 else []
        if len(tokens) > 2 and tokens[-1][0] in (NUMBER, STRING) and tokens[-2][1] in ("=", ":="):
            name = next((value for kind, value in tokens if kind == WORD and value not in words("common words")), "")
            if name:
                self.constants[name] = tokens[-1]

    # --- assertions that cannot fail

    def _swallowed(
        self, statement: Statement, compact: str, order: int, tries: "list[tuple[int, int]]"
    ) -> "Iterable[int]":
        """Which assertions the `except` that the statement may be swallows."""
        while tries and tries[-1][0] > statement.column:
            tries.pop()
        if compact == "try:":
            tries.append((statement.column, len(self.assertions)))
        elif compact.startswith("except") and tries and tries[-1][0] == statement.column:
            since = tries.pop()[1]
            if not _SWALLOWS.match(compact):
                return ()
            following = self.text.statements[order + 1 : order + 2]
            if compact.endswith(":") and (
                not following or _compact(following[0].tokens) not in ("pass", "...", "continue", "return")
            ):
                return ()
            return range(since, len(self.assertions))
        return ()

    def _caught(self) -> "Iterable[int]":
        """Which assertions stand in `try { expect(..) } catch {}`."""
        busy = {(id(s.parent), s.block) for s in self.text.statements if s.parent is not None}
        for i, assertion in enumerate(self.assertions):
            statement = self.text.statements[assertion.order]
            parent = statement.parent
            if parent is None or statement.block != 1 or parent.tokens[0][1] != "try":
                continue
            if (id(parent), 2) not in busy and _EMPTY_CATCH.match(_compact(parent.tokens)):
                yield i

    def _set_apart(self, unheard: "set[int]", owners: "list[_Test | None]") -> None:
        """Keep those assertions that can fail, here and in their tests."""
        heard = []
        for i, (assertion, test) in enumerate(zip(self.assertions, owners, strict=True)):
            if i in unheard:
                self.swallowed.append(assertion.key)
                continue
            heard.append(assertion)
            if test is not None:
                test.keys.append(assertion.key)
        self.assertions = heard


def _compact(tokens: "Tokens", limit: int = 60) -> str:
    """The statement as one line without blanks and without the text of strings, for the patterns above."""
    parts: list[str] = []
    last = ""
    for kind, value in tokens[:limit]:
        if kind == STRING:
            value = value if value[:1] == ":" else '""'
        if kind in (WORD, NUMBER, STRING) and last in (WORD, NUMBER, STRING):
            parts.append(" ")
        parts.append(value)
        last = kind
    return "".join(parts)


def _is_annotation(compact: str, language: str) -> bool:
    """`@decorator`, `[Fact]`, `#[test]`."""
    if compact[:1] == "@":
        return language != "shell"
    if compact[:2] == "#[":
        return True
    return compact[:1] == "[" and compact[1:2].isupper() and language in ("literals", "braces")


def _after_arrow(tokens: "Tokens", at: int) -> int:
    """Where the expression begins that the assertion stands in, in `it("x", () => expect(1).toBe(1))`."""
    for i in range(at, 0, -1):
        if tokens[i][1] in ("=>", "->", "{", "do") or tokens[i][0] == BLOCK:
            return i + 1
    return at


def _names_expected(token: "tuple[str, str]") -> bool:
    return token[0] in (WORD, STRING) and len(token[1]) < 60 and bool(_EXPECTED_NAME.search(token[1]))


def _value_end(tokens: "Tokens", start: int, whole: bool) -> int:
    """Where a value ends: at a comma or a closing bracket of its level; `whole` takes all elements of a
    tuple.
    """
    depth = 0
    for i in range(start, len(tokens)):
        kind, value = tokens[i]
        if kind == OPERATOR:
            if value in ("(", "[", "{"):
                depth += 1
            elif value in (")", "]", "}"):
                depth -= 1
                if depth < 0:
                    return i
            elif value == "," and depth == 0 and not whole:
                return i
    return len(tokens)


def _last_group(tokens: "Tokens", start: int) -> "Tokens":
    """What the last bracket group of the outermost level holds."""
    group: Tokens = []
    i = start
    while i < len(tokens):
        if tokens[i][0] == OPERATOR and tokens[i][1] in ("(", "[", "{"):
            end = close(tokens, i)
            if end - i > 1:
                group = tokens[i + 1 : end]
            i = end
        i += 1
    return group


def _test_name(tokens: "Tokens", compact: str, marks: str, language: str) -> "str | None":
    """The name of the test that the statement opens, or nothing."""
    start = [value for kind, value in tokens[:12] if kind == WORD]
    first = start[1] if len(start) > 1 and start[0] == "async" else tokens[0][1]
    if language in ("python", "ruby") and "def" in start[:2]:
        name = start[start.index("def") + 1 : start.index("def") + 2]
        return name[0] if name and name[0].startswith("test") else None
    if language == "shell":
        return tokens[2][1] if compact.startswith("@test") and len(tokens) > 2 else None
    owned = first in ("t", "Deno", "QUnit") and len(tokens) > 3 and tokens[2][1] in ("test", "Run")
    if owned or first in words("test calls"):
        return _called_test(tokens, compact, language)
    if first in ("ignore", "skip", "pending") and (tokens[-1][0] == BLOCK or tokens[-1][1] == "do"):
        return _called_test(tokens, compact, language)  # a test turned into one that does not run
    if first in words("test macros") and len(tokens) > 2 and tokens[1][1] == "(":
        inner = [value for kind, value in tokens[2:8] if kind in (WORD, STRING)]
        return ".".join(inner[:2]).replace("DISABLED_", "") if inner else None
    if tokens[0][0] == STRING and tokens[-1][0] == BLOCK and language == "braces":
        return tokens[0][1].removeprefix("!")  # Kotest: `"adds" { .. }`
    if not _FUNCTION.search(compact[:200]):
        return None
    for i in range(1, min(len(tokens) - 1, 40)):
        kind, value = tokens[i]
        if kind not in (WORD, STRING) or tokens[i + 1][1] != "(":
            continue
        before = tokens[i - 1]
        if before[0] == WORD or before[1] in (">", "]"):
            if _TEST_MARK.search(marks) or _TEST_MARK.search(compact):
                return value
            prefixes = ("Test", "Fuzz", "Benchmark") if language == "literals" else ("test", "Test")
            if value.startswith(prefixes) and before[1] in ("func", "function", "void", "def"):
                return value
    return None


def _called_test(tokens: "Tokens", compact: str, language: str) -> "str | None":
    """`it("adds", ..)`, `test.each(..)("adds", ..)`, `it "adds" do`."""
    for i in range(1, min(len(tokens), 14)):
        kind, value = tokens[i]
        if kind == STRING:
            if tokens[i - 1][1] == "(" or tokens[i - 1][0] == WORD:
                return value
            break
        if kind == NUMBER or (kind == OPERATOR and value not in (".", "(", "[")):
            break
    if ".each" in compact[:40]:
        for i in range(len(tokens) - 1, 0, -1):
            if tokens[i][0] == STRING and tokens[i - 1][1] == "(":
                return tokens[i][1]
    return compact if language == "ruby" and tokens[0][1] in ("it", "specify") and len(tokens) > 1 else None


# ----------------------------------------------------------------------------------------------- comparing
# two texts


def _counted(values: "Iterable[str]") -> "dict[str, int]":
    out: dict[str, int] = {}
    for value in values:
        out[value] = out.get(value, 0) + 1
    return out


def _only_in(these: "list[str]", those: "list[str]") -> "list[int]":
    """The indices of what stands in `these` and not in `those`, repeats counted."""
    have = _counted(those)
    out = []
    for i, key in enumerate(these):
        if have.get(key, 0):
            have[key] -= 1
        else:
            out.append(i)
    return out


def _compare_parts(before: _Parts, after: _Parts) -> TestChange:
    old_keys, new_keys = [a.key for a in before.assertions], [a.key for a in after.assertions]
    removed = [before.assertions[i] for i in _only_in(old_keys, new_keys)]
    fresh = _only_in(new_keys, old_keys)
    added = [after.assertions[i] for i in fresh]
    removed, swallowed = _without_swallowed(removed, before, after)
    removed, added = _without_renamed(removed, added)
    removed, added = _without_held(removed, added)
    removed, added = _without_named(removed, added, before, after)

    rows_lost, rows_altered, values, row_names, rows_came = _compare_rows(before, after)
    expected_altered, more_values, expected_names, expected_came = _compare_expected(before, after)
    removed = _without_spread(removed, added, values + more_values)
    if _only_in(before.loose, after.loose):  # the call went, and with it the check that it had worked
        removed = [assertion for assertion in removed if not _is_error_check(assertion)]

    altered: list[Assertion] = []
    lost: list[Assertion] = []
    spare = [new for new in added[: 50 * _NEAR] if new.strength != 0]  # what always holds stands for nothing
    for assertion in removed:
        mate = _mate(assertion, spare)
        if mate is None:
            lost.append(assertion)
        else:
            spare.remove(mate)
            altered.append(assertion)
    deleted, skipped, emptied = _compare_tests(before, after, {assertion.key for assertion in removed})

    names: dict[str, None] = {}
    for assertion in altered + lost:
        for name in assertion.names:
            if name not in words("common words") and not (name.startswith("to") and assertions.kind_of(name)[0]):
                names.setdefault(name)
    for name in row_names + expected_names:
        names.setdefault(name)
    gone = {
        "r": [assertion.key for assertion in lost] + emptied,
        "a": [assertion.key for assertion in altered] + rows_altered + expected_altered + swallowed,
        "s": skipped,
        "d": deleted + rows_lost,
    }
    marks, more = _marks(gone, [*_came(before, after), [new_keys[i] for i in fresh], rows_came, expected_came])
    return TestChange(
        removed_assertions=len(gone["r"]),
        altered_assertions=len(gone["a"]),
        added_skips=len(gone["s"]),
        deleted_tests=len(gone["d"]),
        added_assertions=len(fresh),
        names=tuple(names)[:_MAX_NAMES],
        lost=marks,
        came=more,
    )


def _came(before: _Parts, after: _Parts) -> "list[list[str]]":
    """What undoes a loss other than that of an assertion, by kind: skips taken away, tests that came or got a
    body.
    """
    old_names, new_names = [test.name for test in before.tests], [test.name for test in after.tests]
    old_skips, new_skips = [_skip_key(skip) for skip in before.skips], [_skip_key(skip) for skip in after.skips]
    empty = {test.name for test in before.tests if not test.real}
    return [
        [old_skips[i] for i in _only_in(old_skips, new_skips)],
        ["test\x1e" + new_names[i] for i in _only_in(new_names, old_names)],
        ["body\x1e" + test.name for test in after.tests if test.real and test.name in empty],
    ]


def _skip_key(skip: "tuple[str, str]") -> str:
    what, where = skip
    return "skip\x1e" + (what if what == "only" else "") + "\x1e" + where


def _is_error_check(assertion: Assertion) -> bool:
    """`require.NoError(t, err)`, `if err != nil { t.Fatal(err) }`."""
    return (
        assertion.kind == "eq"
        and not assertion.negated
        and assertion.literals == ["none"]
        and all(name in ("err", "error", "e", "t", "require", "assert") for name in assertion.names)
    )


def _without_renamed(removed: "list[Assertion]", added: "list[Assertion]") -> "tuple[list[Assertion], list[Assertion]]":
    """Set aside what differs in identifiers only."""
    by_shape: dict[str, list[Assertion]] = {}
    for new in reversed(added):
        by_shape.setdefault(new.shape + "\x1e" + "\x1f".join(new.literals), []).append(new)
    left: list[Assertion] = []
    used: set[int] = set()
    for old in removed:
        mates = by_shape.get(old.shape + "\x1e" + "\x1f".join(old.literals), [])
        for k in range(len(mates) - 1, max(-1, len(mates) - 1 - _NEAR), -1):
            if holds(old, mates[k]):
                used.add(id(mates.pop(k)))
                break
        else:
            left.append(old)
    return left, [new for new in added if id(new) not in used]


def _without_swallowed(
    removed: "list[Assertion]", before: _Parts, after: _Parts
) -> "tuple[list[Assertion], list[str]]":
    """Set aside what stands there still and is swallowed now; the keys of that."""
    caught = _counted(after.swallowed[i] for i in _only_in(after.swallowed, before.swallowed))
    left: list[Assertion] = []
    swallowed: list[str] = []
    for old in removed:
        if caught.get(old.key, 0):
            caught[old.key] -= 1
            swallowed.append(old.key)
        else:
            left.append(old)
    return left, swallowed


def _without_held(removed: "list[Assertion]", added: "list[Assertion]") -> "tuple[list[Assertion], list[Assertion]]":
    """Set aside what another assertion still asks, the likeliest first."""
    left: list[Assertion] = []
    free = dict.fromkeys(range(len(added)))
    few = len(removed) * len(added) <= _MAX_PAIRS
    for n, old in enumerate(removed):
        middle = n * len(added) // len(removed)
        near: Iterable[int] = free if few else range(max(0, middle - _NEAR), min(len(added), middle + _NEAR))
        names = set(old.names)
        best, best_score = -1, -1
        for k in near:
            new = added[k]
            if k in free and holds(old, new):
                score = 4 * (old.literals == new.literals) + 2 * (old.kind == new.kind)
                score += min(len(names.intersection(new.names)), 5)
                if score > best_score:
                    best, best_score = k, score
        if best >= 0:
            del free[best]
        else:
            left.append(old)
    return left, [added[k] for k in free]


def _without_named(
    removed: "list[Assertion]", added: "list[Assertion]", before: _Parts, after: _Parts
) -> "tuple[list[Assertion], list[Assertion]]":
    """Set aside literals that were given a name, and names that gave way to their literal."""
    if not removed or not added or not (before.constants or after.constants):
        return removed, added
    spoken = [_spelt_out(assertion, before) for assertion in removed]
    left, free = _without_held(spoken, [_spelt_out(assertion, after) for assertion in added])
    keep, spare = {a.order for a in left}, {a.order for a in free}
    return [a for a in removed if a.order in keep], [a for a in added if a.order in spare]


def _spelt_out(assertion: Assertion, parts: _Parts) -> Assertion:
    """The assertion with the literals in place of the names that the text gives them."""
    constants = parts.constants
    tokens = assertion.tokens
    if not any(kind == WORD and value in constants for kind, value in tokens):
        return assertion
    spelt = [
        constants[value]
        if kind == WORD and value in constants and (i == 0 or tokens[i - 1][1] != ".")
        else (kind, value)
        for i, (kind, value) in enumerate(tokens)
    ]
    return assertions.judge(spelt, assertion.order, parts.text.language)


def _without_spread(removed: "list[Assertion]", added: "list[Assertion]", values: "list[str]") -> "list[Assertion]":
    """Set aside assertions that became several, rows of a table, or a named expected value."""
    sound = [new for new in added if new.strength != 0]
    if not removed or not sound:
        return removed
    exact = [new for new in sound if new.kind in ("eq", "other")]
    have = _counted([*values, *(value for new in exact for value in new.literals)])
    spread_names = {name for new in sound[:_NEAR] for name in new.names}
    left = []
    for old in removed:
        if old.kind == "eq" and old.literals and any(new.negated == old.negated for new in exact):
            parts = sum(1 for new in exact[:_NEAR] if set(new.literals) & set(old.literals))
            if (values or (parts > 1 and len(sound) > len(removed))) and all(
                have.get(value, 0) > 0 for value in old.literals
            ):
                for value in old.literals:
                    have[value] -= 1
                continue
        if old.ands and len(sound) > 1 and set(old.names) <= spread_names and all(v in have for v in old.literals):
            continue
        left.append(old)
    return left


def _mate(old: Assertion, spare: "list[Assertion]") -> "Assertion | None":
    """The new assertion that most likely stands in the place of the old one."""
    names = set(old.names)
    best: Assertion | None = None
    best_score = 0
    for new in spare[:_NEAR]:
        score = 2 * len(names.intersection(new.names)) + (old.shape == new.shape) + (old.kind == new.kind)
        if score > best_score:
            best, best_score = new, score
    return best


def _compare_rows(before: _Parts, after: _Parts) -> "tuple[list[str], list[str], list[str], list[str], list[str]]":
    """Rows lost, rows altered, the literals of the rows that came, names in the lost and altered, the rows
    that came.
    """
    old_keys, new_keys = [key_of(row) for row in before.rows], [key_of(row) for row in after.rows]
    gone = [before.rows[i] for i in _only_in(old_keys, new_keys)]
    fresh = _only_in(new_keys, old_keys)
    came, came_keys = [after.rows[i] for i in fresh], [new_keys[i] for i in fresh]
    values = [value for row in came for value in literals_of(row)]
    if not gone:
        return [], [], values, [], came_keys
    by_values: dict[str, list[int]] = {}
    for k, row in enumerate(came):
        by_values.setdefault("\x1f".join(literals_of(row)), []).append(k)
    used: set[int] = set()
    left = []
    for row in gone:
        mates = by_values.get("\x1f".join(literals_of(row)))
        if mates:
            used.add(mates.pop())
        else:
            left.append(row)
    rest = [row for k, row in enumerate(came) if k not in used]
    if not left or _have_a_column_more(left, rest):
        return [], [], values, [], came_keys
    asked = _counted(value for assertion in after.assertions for value in assertion.literals)
    if not rest:  # rows that became assertions of their own
        left = [row for row in left if not literals_of(row) or not all(asked.get(v) for v in literals_of(row))]
    altered = min(len(left), len(rest))
    names = [value for row in left[:50] for kind, value in row if kind == WORD and value not in words("common words")]
    lost = [key_of(row) for row in left]
    return lost[altered:], lost[:altered], values, names, came_keys


def _have_a_column_more(old: "list[Tokens]", new: "list[Tokens]") -> bool:
    if len(old) > len(new) or len(old) > 10 * _NEAR:
        return False
    pool = [(len(split(row)), literals_of(row)) for row in new]
    for row in old:
        values, columns = literals_of(row), len(split(row))
        for k, (more, others) in enumerate(pool[:_NEAR]):
            if more > columns and values and others[: len(values)] == values:
                del pool[k]
                break
        else:
            return False
    return True


def _compare_expected(before: _Parts, after: _Parts) -> "tuple[list[str], list[str], list[str], list[str]]":
    """Expected values altered, the literals of those that came, names in the altered, those that came."""
    old_keys = [name + "\x1e" + key_of(value) for name, value in before.expected]
    new_keys = [name + "\x1e" + key_of(value) for name, value in after.expected]
    came: dict[str, list[Tokens]] = {}
    values: list[str] = []
    fresh = _only_in(new_keys, old_keys)
    for i in fresh:
        name, value = after.expected[i]
        came.setdefault(name, []).append(value)
        values.extend(literals_of(value))
    altered: list[str] = []
    names: list[str] = []
    for i in _only_in(old_keys, new_keys):
        name, value = before.expected[i]
        mates = came.get(name)
        if not mates:
            continue
        old = literals_of(value)
        same = next((k for k, mate in enumerate(mates[:_NEAR]) if literals_of(mate) == old), -1)
        mate = mates.pop(max(same, 0))
        if same < 0 and literals_of(mate) and (old or not has_names(value)):
            altered.append(old_keys[i])
            names.append(name)
            names.extend(v for kind, v in value if kind == WORD and v not in words("common words"))
    return altered, values, names, [new_keys[i] for i in fresh]


def _compare_tests(before: _Parts, after: _Parts, lost: "set[str]") -> "tuple[list[str], list[str], list[str]]":
    """Tests deleted, skips added, tests without an assertion that were emptied.

    `lost`: the keys of the assertions that nobody asks any more.
    """
    old_names, new_names = [test.name for test in before.tests], [test.name for test in after.tests]
    gone = [before.tests[i] for i in _only_in(old_names, new_names)]
    came = [after.tests[i] for i in _only_in(new_names, old_names)]
    by_body: dict[str, list[_Test]] = {}
    for test in came:
        by_body.setdefault("\x1e".join(test.body), []).append(test)
    renamed: dict[str, str] = {}  # new name to old
    left: list[_Test] = []
    taken: set[int] = set()
    for test in gone:
        mates = by_body.get("\x1e".join(test.body))
        if mates:
            mate = mates.pop(0)
            taken.add(id(mate))
            renamed[mate.name] = test.name
        else:
            left.append(test)
    came = [test for test in came if id(test) not in taken]
    renamed.update((new.name, old.name) for old, new in zip(left, came, strict=False))

    deleted: list[str] = []
    commented: list[str] = []
    emptied: list[str] = []
    if len(left) > len(came):
        comments = "\n".join(after.text.comments)
        functions = [name for name in after.functions if name not in before.functions]
        for test in left[len(came) :]:
            if any(test.name.lower() in name for name in functions[:_NEAR]):
                commented.append("test\x1e" + test.name)  # renamed or unmarked, so that no runner finds it
                continue
            if test.keys and not lost.intersection(test.keys):
                continue  # it became part of another
            if test.name and test.name in comments:
                commented.append("test\x1e" + test.name)
            else:
                deleted.append("test\x1e" + test.name)
    if len(before.tests) == len(after.tests):
        bodies = {test.name: test for test in after.tests}
        for test in before.tests:
            now = bodies.get(test.name)
            if now is not None and test.real and not test.keys and not now.real and now.body:
                emptied.append("body\x1e" + test.name)
    return deleted, commented + _added_skips(before, after, renamed), emptied


def _added_skips(before: _Parts, after: _Parts, renamed: "dict[str, str]") -> "list[str]":
    stood = _counted(where or what for what, where in before.skips if what != "only")
    stood_only = _counted(where for what, where in before.skips if what == "only")
    known = {test.name for test in before.tests}
    now = {test.name for test in after.tests}
    added = []
    for what, where in after.skips:
        origin = renamed.get(where, where)
        have, token = (stood_only, origin) if what == "only" else (stood, origin or what)
        if have.get(token, 0):
            have[token] -= 1
        elif what == "only" or origin in known or where not in now:
            added.append(_skip_key((what, where)))  # else: a new test that begins as a skipped one
    return added


def _compare_lines(
    old: "list[str]", new: "list[str]", skips: int = 0, deleted: "list[str] | None" = None, came: "tuple[str, ...]" = ()
) -> TestChange:
    """Where each line is an expectation: as many altered as came in place of others, the rest removed."""
    gone = [old[i] for i in _only_in(old, new)]
    fresh = [new[i] for i in _only_in(new, old)]
    altered = min(len(gone), len(fresh))
    lost = {"r": gone[altered:], "a": gone[:altered], "s": ["skip"] * skips, "d": deleted or []}
    marks, more = _marks(lost, [fresh, [*came]])
    return TestChange(
        removed_assertions=len(gone) - altered,
        altered_assertions=altered,
        added_skips=skips,
        deleted_tests=len(lost["d"]),
        added_assertions=len(fresh),
        lost=marks,
        came=more,
    )


def _snapshot_lines(text: str, path: str) -> "list[str]":
    """The lines of a snapshot without the titles of its entries and what its tool notes about itself."""
    raw = text.splitlines()
    lines = [" ".join(line.split()).rstrip(",") for line in raw]
    if not _HAS_TITLES.search(path):
        return [line for line in lines if line]
    titled = any(line.startswith("exports[") for line in lines)
    out: list[str] = []
    for i in range(0 if titled else _notes_end(lines), len(lines)):
        line = lines[i]
        if titled and line.startswith("exports["):
            line = line.partition("] = ")[2]
        elif _ENTRY_TITLE.match(raw[i]) or (titled and not out and line.startswith("// ")):
            continue
        line = line.removesuffix("`;").removeprefix("`")
        if line:
            out.append(line)
    return out


def _notes_end(lines: "list[str]") -> int:
    """Where the body begins below the header of insta: `source: ..`, between two lines of `---`."""
    first = next((i for i, line in enumerate(lines) if line), len(lines))
    if lines[first : first + 1] == ["---"]:
        end = next((i for i in range(first + 1, len(lines)) if lines[i] == "---"), 0)
        if end and any(_NOTE.match(line) for line in lines[first + 1 : end]):
            return end + 1
        first += 1
    while first < len(lines) and _NOTE.match(lines[first]):  # a part of a header, as an edit shows it
        first += 1
    return first


def _compare_feature(before: str, after: str) -> TestChange:
    """Gherkin: `Then` steps and the rows of tables say what is expected."""
    old_steps, old_scenarios, old_skips = _feature(before)
    new_steps, new_scenarios, new_skips = _feature(after)
    return _compare_lines(
        old_steps,
        new_steps,
        max(0, new_skips - old_skips),
        ["scenario"] * (old_scenarios - new_scenarios),
        ("scenario",) * (new_scenarios - old_scenarios) + ("skip",) * (old_skips - new_skips),
    )


def _feature(text: str) -> "tuple[list[str], int, int]":
    """The expectations, and how many scenarios and skips there are."""
    steps: list[str] = []
    scenarios = skips = 0
    then = False
    for line in text.splitlines():
        line = " ".join(line.split())
        word, _, rest = line.partition(" ")
        if word in ("Given", "When") or word.startswith(("Scenario", "Example:")):
            then = False
        elif word == "Then":
            then = True
        scenarios += word.startswith("Scenario") or word == "Example:"
        if word.startswith("|"):
            steps.append(line)
        elif then and word in ("Then", "And", "But", "*"):
            steps.append(rest)
        skips += word.startswith("@") and any(tag in line for tag in ("@skip", "@ignore", "@wip", "@pending"))
    return steps, scenarios, skips


# -------------------------------------------------------------------------------------------------
# substitutions

_CLOSING: "Final" = {"{": "}", "(": ")", "[": "]", "<": ">"}
_PIECE = pattern(
    r"[=!]==?(?:\s|$)|\bto(?:Be|Equal|Have|Match|Throw|Contain|Strict)\w*|\bassert|\bEqual|\bexpect",
    IGNORECASE,
)
_ASSERTING = pattern(r"\b(?:assert|expect)", IGNORECASE)
_CHAINED = pattern(r"\s*\.?\s*(?:not\.)?to")
_ANCHOR = pattern(r"\\[bB<>]|^\^|\$$")
_BLANK = pattern(r"\\s[*+]?|\[\[:space:\]\][*+]?")
_ESCAPED = pattern(r"\\([^\w\s])")
_ANYTHING = pattern(r"\.[*+]\??")
_GROUP = pattern(r"\\?\(([^()]*)\\?\)")
_MATCHED = pattern(r"(?<!&)&(?!&)")
_TEST_START = pattern(r"\s*(?:it|test|describe|def test\w*|func Test\w*)\b")


def changes_by_sed(script: str, path: str = "") -> TestChange:
    """What sed or perl expressions do to assertions, as far as the expressions alone show it.

    `script`: one expression or several (`s/a/b/g; s|c|d|`, `-e s/a/b/ -e /x/d`). An expression that shows no
    assertion, such as `s/3/4/` or `5d`, says nothing.
    """
    total = TestChange()
    names: dict[str, None] = {}
    pos = 0
    for _ in range(200):
        while pos < len(script) and script[pos] in "\"' \t\r\n;{}":
            pos += 1
        if pos >= len(script):
            break
        if script[pos] == "-":  # an option
            while pos < len(script) and not script[pos].isspace():
                pos += 1
            continue
        change, pos = _sed_command(script, pos, path)
        if change is not None:
            total.removed_assertions += change.removed_assertions
            total.altered_assertions += change.altered_assertions
            total.added_skips += change.added_skips
            total.deleted_tests += change.deleted_tests
            total.added_assertions += change.added_assertions
            total.lost = (total.lost + change.lost)[:_MAX_MARKS]
            total.came = (total.came + change.came)[: 4 * _MAX_MARKS]
            names.update(dict.fromkeys(change.names))
    total.names = tuple(names)[:_MAX_NAMES]
    return total


def _sed_command(script: str, pos: int, path: str) -> "tuple[TestChange | None, int]":
    """What the command at `pos` does, and where it ends."""
    size = len(script)
    address = ""
    for _ in range(2):  # an address, or a range of two
        if script[pos : pos + 1] in ("/", "\\") and pos + 1 < size:
            pos += script[pos] == "\\"
            text, end = _until(script, pos + 1, script[pos])
            if end < 0:
                return None, size
            address = address or text
            pos = end
        while pos < size and (script[pos].isdigit() or script[pos] in "$+~I"):
            pos += 1
        if script[pos : pos + 1] != ",":
            break
        pos += 1
    while pos < size and script[pos] in " !":
        pos += 1
    command = script[pos : pos + 1]
    mark = script[pos + 1 : pos + 2]
    if command == "s" and mark and not mark.isalnum() and not mark.isspace():
        closing = _CLOSING.get(mark, mark)
        old, end = _until(script, pos + 2, closing)
        if end >= 0 and closing != mark:
            while end < size and script[end].isspace():
                end += 1
            end += 1
        new, end = _until(script, end, closing) if end >= 0 else ("", -1)
        if end < 0:
            return None, size
        while end < size and script[end].isalnum():
            end += 1
        return _compare_substitution(old, new, address, path), end
    if command in ("d", "D", "c") and not mark.isalnum():
        gone = _plain(address)
        if _TEST_START.match(gone):
            return TestChange(deleted_tests=1, lost=("d" + digest(gone)[:8],)), pos + 1
        if gone.strip().isidentifier():
            gone = gone.strip() + "(x)"
        return (compare(gone, "", path) if gone.strip() else None), pos + 1 if command != "c" else size
    while pos < size and script[pos] not in ";\n'\"":
        pos += 1
    return None, pos + 1


def _until(script: str, pos: int, mark: str) -> "tuple[str, int]":
    """The text up to the next bare `mark` and the place after it; the place is -1 where there is none."""
    out: list[str] = []
    while pos < len(script):
        char = script[pos]
        if char == "\\" and pos + 1 < len(script):
            out.append(script[pos + 1] if script[pos + 1] == mark else script[pos : pos + 2])
            pos += 2
        elif char == mark:
            return "".join(out), pos + 1
        else:
            out.append(char)
            pos += 1
    return "".join(out), -1


def _plain(text: str) -> str:
    """A regular expression as the text that it most likely stands for."""
    text = _ANCHOR.sub("", text)
    text = _BLANK.sub(" ", text)
    text = _ESCAPED.sub(r"\1", text)
    return _ANYTHING.sub(" _ ", text)


def _compare_substitution(old: str, new: str, address: str, path: str) -> TestChange:
    before = _plain(old)
    after = _ESCAPED.sub(r"\1", new)
    groups = [found.group(1) for found in _GROUP.finditer(old)]  # what the pattern captured is kept
    for k, group in enumerate(groups[:9], 1):
        for reference in (f"\\{k}", f"${k}"):
            after = after.replace(reference, _plain(group.rstrip("\\")))
    after = _MATCHED.sub(lambda _: before, after)
    change = compare(before, after, path)
    if change.weakens():
        return change
    if _PIECE.search(before) or _PIECE.search(address):  # a piece of an assertion: make it a whole one
        head, tail = "assert x ", ""
        if _ASSERTING.search(before):
            head = ""
        elif _CHAINED.match(before):
            head = "expect(x)."
        if before.strip().isidentifier():
            tail = " x" if before.strip() in ("assert", "expect") else "(x, y)"
        return compare(
            head + before.lstrip(" .") + tail, head + after.lstrip(" .") + tail if after.strip() else "", path
        )
    if _TEST_START.match(before):  # `s/it(/it.skip(/`: the call is there, its argument is not
        sides = [side.rstrip("(") for side in (before, after)]
        if all(side.replace(".", "").isalnum() for side in sides):
            return compare(sides[0] + '("x")', sides[1] + '("x")', path)
    return change
