"""What an edit did to a test: assertions removed or altered, skips added, tests deleted.

Read for the rule `tampering`: a test that was made to pass by changing what it asks for. Precision comes before
recall: renamed identifiers, moved blocks, other set-up code, another framework for the same expectation and
stricter assertions are no weakening; a changed expected value, a weaker matcher, a lost assertion, a skip are.

How: both texts are cut into statements (`statements`). Statements that stand in both are set aside, whatever their
order. What is left is paired, the closest first, and each pair is judged by its literals, its matcher and its
negation, not by its names. Statements that are no assertions count where they hold expected values: rows of a test
table, and what is assigned to a name such as `expected` or `want`.

What it does not know: whether the change was right. Nor can it see an expected value that is computed elsewhere, or
the literals of set-up code: they are inputs.
"""

import re

from unspin.facts.statements import BLOCK, NUMBER, OPERATOR, STRING, WORD, Statement, Text, language_of, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    Tokens = list[tuple[str, str]]

_MAX_NAMES = 40
_MAX_PAIRS = 40_000  # assertions compared each with each; beyond that only near neighbours are
_NEAR = 40
_HUGE_TOLERANCE = 0.1  # a tenth of the expected value, or more, checks nothing

_LISTS: "dict[str, frozenset[str]]" = {}
_KIND_OF: "dict[str, str]" = {}
_KINDS = (
    "eq", "null", "empty", "called once", "ne", "contain", "not contain", "gt", "ge", "lt", "le", "approx", "type",
    "raises", "called", "exists", "dom", "true", "false",
)  # fmt: skip
# How much a matcher asks: 5 pins the value down, 2 says only that there is one. 0 holds always.
_STRENGTH = {
    "eq": 5, "snapshot": 5, "approx": 4, "contain": 3, "not contain": 3, "cmp": 3, "type": 3, "raises": 3, "called": 3,
    "dom": 3, "ne": 2, "exists": 2, "truth": 2, "trivial": 0,
}  # fmt: skip

_ASSERTION_WORD = re.compile(
    r"\w*assert\w*|Assert\w*|XCTAssert\w*|XCTUnwrap|expect|expect[A-Z_]\w*|EXPECT_\w+|ASSERT_\w+|CHECK(?:_\w+)?"
    r"|REQUIRE(?:_\w+)?|\w*_CHECK\w*|\w*_REQUIRE\w*|BOOST_TEST|QCOMPARE\w*|QVERIFY\w*|QEXPECT\w*|should|[sS]hould[A-Z_]\w*"
    r"|Should|refute\w*|must_\w+|wont_\w+|is_expected|andExpect\w*|assertion\w*|ck_assert\w*|cr_assert\w*|TEST_ASSERT\w*",
    re.IGNORECASE,
)
_ASSERTION_CASE = re.compile(
    r"(?:check|require|should)\Z"
)  # these need their capitals or a call on something
_PREFIX = re.compile(
    r"(?:xctassert|testassert|boostcheck|boostrequire|debugassert|propassert|ckassert|crassert|assertthat|assert|refute"
    r"|expect|check|require|shouldnot|should|mustnot|must|wont|andexpect|tonot|to|be)(?:that|is|be|have|has)?"
)
_EXPECTED_NAME = re.compile(
    r"(?:^|_)(?:expected|expect|want|wanted|golden|exp)(?:_|$)|^(?:expected|want|golden)[A-Z]|Expected(?:[A-Z]|$)|_expected|Want$",
    re.I,
)
_DECLARES = frozenset(
    "import from use using require include package export def function func fn fun class type interface".split()
)
_TRUE = frozenset(("true", "True", "TRUE", "YES"))
_FALSE = frozenset(("false", "False", "FALSE", "NO"))
_NONE = frozenset(("None", "null", "nil", "NULL", "nullptr", "undefined", "NSNull"))
_COMPARES = {
    "==": "eq",
    "===": "eq",
    "!=": "ne",
    "!==": "ne",
    "<": "lt",
    ">": "gt",
    "<=": "le",
    ">=": "ge",
    "=~": "contain",
    "!~": "not contain",
}
_OPPOSITE = {
    "eq": "ne",
    "ne": "eq",
    "contain": "not contain",
    "not contain": "contain",
    "lt": "ge",
    "ge": "lt",
    "gt": "le",
    "le": "gt",
    "exists": "null",
    "true": "false",
    "false": "true",
}
_SHELL_COMPARES = {"-eq": "eq", "-ne": "ne", "-lt": "lt", "-gt": "gt", "-le": "le", "-ge": "ge", "=": "eq"}
_STRICTER_COMPARE = {("ge", "gt"), ("le", "lt")}
_BROAD_ERRORS = frozenset(
    "Exception BaseException Error Throwable StandardError RuntimeException AnyError".split()
)
_TEST_CALLS = frozenset(
    "it test specify fit xit xtest xspecify testWidgets subtest scenario fact Scenario".split()
)
_TEST_MACROS = frozenset(
    "TEST TEST_F TEST_P TYPED_TEST TEST_CASE SCENARIO TEST_METHOD BOOST_AUTO_TEST_CASE Test".split()
)
_NOT_NAMES = frozenset("skip only todo each concurrent failing fails fixme skipIf runIf serial".split())
_TEST_MARK = re.compile(
    r"(?:@|\[|#\[)(?:[\w.:]+[.:])?(?:test|Test|ParameterizedTest|RepeatedTest|Fact|Theory|TestMethod|TestCase|rstest|test_case|DataTestMethod|wasm_bindgen_test|gtest)\b"
)

_SKIP = re.compile(
    r"(?:\b(?:it|test|describe|context|suite|specify|bench|t|ctx|this|Deno\.test)(?:\.[\w$]+)*\.(?:skip|todo|fixme|skipIf|runIf|failing|fails|Skip|Skipf|SkipNow)\b)"
    r"|^(?:await )?x(?:it|test|describe|context|specify|feature|scenario)\b(?=[(\"' ])"
    r"|\bmark\.(?:skip|skipif|xfail)\b|\bunittest\.(?:skip|expectedFailure|SkipTest)|^@(?:skip\w*|xfail|expectedFailure)\b|\bskipTest\("
    r"|\bpytest\.(?:skip|xfail|importorskip|fail_skip)\(|\b(?:raise|throw) (?:unittest\.)?(?:SkipTest|XCTSkip|SkipException)|\bXCTSkip(?:If|Unless)?\("
    r"|^__test__=False|\bcollect_ignore|^@(?:Ignore|Disabled\w*|EnabledIf\w*|DisabledIf\w*|PendingFeature|Ignored?Test)\b"
    r"|\bassum(?:e(?:True|False|That|NoException)?|ptions?\.\w+)\(|\bSkip=|\[Ignore|\[Explicit|\bAssert\.(?:Ignore|Inconclusive)\("
    r"|#\[ignore|#\[cfg_attr\([^]]*\bignore|#\[cfg\(any\(\)\)|\bmarkTest(?:Skipped|Incomplete)\(|->(?:skip|todo)\("
    r"|^@(?:tag|moduletag|describetag):?skip|^@(?:tag|moduletag) ?:?\"?\"?skip|\.disabled\(|\bGTEST_SKIP\b|\bDISABLED_\w+|^SKIP\(|^@(?:test_skip|test_broken)\b"
    r"|^(?:it|test|describe|context|specify|group|testWidgets)\b.*\b(?:skip|todo|pending):(?!false|False)|^@(?:skip|wip|ignore|Skip)\b"
    r"|^(?:plan )?skip_all\b"
)
_SKIP_WORD_LANGUAGES = frozenset(("ruby", "shell", "hash"))
_SKIP_WORD = re.compile(r"^(?:skip|pending|omit|pend)\b(?!=|\.|:)")
_ONLY = re.compile(
    r"\b(?:it|test|describe|context|suite|specify)(?:\.[\w$]+)*\.only\b|^f(?:it|describe|context)\(\"|^(?:it|test|describe)\b.*\bonly:true|^@focus\b"
)
_NEVER = re.compile(
    r"^(?:\}?else )?if ?\(?(?:false|False|0|FALSE|!true|not True)\)?(?:$|:|\{|\bthen\b)|^#if 0\b|^if\(?(?:process\.env\.CI|os\.environ)"
)
_SWALLOW = re.compile(r"^except\b[^:]*:(?:pass|\.\.\.|continue)?$")
_EMPTY_BODY = frozenset(("pass", "...", "return", "{}", "end", "}", "continue", "None"))


class TestChange:
    """What changed in the tests between two texts. Counts are of assertions, skips and tests.

    `names`: identifiers in the removed and altered lines, at most 40, in order: the caller can see whether they name
    code that is gone.
    """

    __slots__ = (
        "added_assertions",
        "added_skips",
        "altered_assertions",
        "deleted_tests",
        "names",
        "removed_assertions",
    )
    __test__ = False  # no test class, whatever a test runner thinks of its name

    def __init__(
        self,
        removed_assertions: int = 0,
        altered_assertions: int = 0,
        added_skips: int = 0,
        deleted_tests: int = 0,
        added_assertions: int = 0,
        names: "tuple[str, ...]" = (),
    ) -> None:
        self.removed_assertions = removed_assertions
        self.altered_assertions = altered_assertions
        self.added_skips = added_skips
        self.deleted_tests = deleted_tests
        self.added_assertions = added_assertions
        self.names = names

    def weakens(self) -> bool:
        """Whether the tests now ask for less, or for something else."""
        return bool(
            self.removed_assertions or self.altered_assertions or self.added_skips or self.deleted_tests
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TestChange) and all(
            getattr(self, k) == getattr(other, k) for k in self.__slots__
        )

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, k) for k in self.__slots__))

    def __repr__(self) -> str:
        return "TestChange(" + ", ".join(f"{k}={getattr(self, k)!r}" for k in self.__slots__) + ")"


class _Assertion:
    """One assertion, reduced to what it asks."""

    __slots__ = (
        "ands", "consts", "exact_words", "expected", "key", "kind", "literals", "names", "negated", "op", "order", "ors", "shape",
        "strength", "tokens", "wildcards",
    )  # fmt: skip

    def __init__(self, tokens: "Tokens", order: int) -> None:
        self.tokens = tokens
        self.order = order
        self.kind = "other"
        self.op = ""
        self.negated = False
        self.strength: int | None = None  # None: a matcher that is not known, as good as any
        self.key = ""
        self.shape = ""
        self.literals: list[str] = []
        self.expected: list[str] = []  # those of the literals that are the expected value
        self.exact_words = False  # the expected value is a name, not a literal
        self.consts: frozenset[str] = frozenset()
        self.names: list[str] = []
        self.wildcards = 0
        self.ors = 0
        self.ands = 0


class _Test:
    __slots__ = ("body", "keys", "name", "order", "real")

    def __init__(self, name: str, order: int) -> None:
        self.name = name
        self.order = order
        self.body: list[str] = []
        self.keys: list[str] = []  # of its assertions
        self.real = 0


class _Read:
    """All that matters of one text."""

    __slots__ = (
        "assertions",
        "expected",
        "loose",
        "never",
        "only",
        "rows",
        "skips",
        "statements",
        "swallowed",
        "tests",
        "text",
    )

    def __init__(self, text: Text) -> None:
        self.text = text
        self.assertions: list[_Assertion] = []
        self.rows: list[Tokens] = []
        self.expected: list[tuple[str, Tokens]] = []
        self.tests: list[_Test] = []
        self.skips: list[tuple[str, str]] = []  # (what, the test it stands at)
        self.swallowed: dict[str, int] = {}
        self.loose: list[Tokens] = []  # statements that are none of these


def compare(before: str, after: str, path: str = "") -> TestChange:
    """What the tests of `before` lost in `after`: two whole files, or the two sides of one edit. Never raises."""
    if before == after:
        return TestChange()
    _load()
    if path:
        from unspin.facts.roles import file_role

        if file_role(path) == "snapshot":
            return _compare_lines(before, after)
    if path.lower().endswith(".feature"):
        return _compare_feature(before, after)
    language = language_of(path, before if before.strip() else after)
    return _compare_texts(_examine(read(before, language)), _examine(read(after, language)))


# --- reading one text ------------------------------------------------------------------------------------------------


def _load() -> None:
    if _LISTS:
        return
    import json

    with open(__file__.rpartition("test_changes")[0] + "assertions.json", encoding="utf-8") as file:
        lists = {name: frozenset(words) for name, words in json.load(file).items()}
    for kind in _KINDS:
        for word in lists[kind]:
            _KIND_OF.setdefault(word, kind)
    _LISTS.update(lists)


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


def _key(tokens: "Tokens") -> str:
    return "\x1f".join(kind + value for kind, value in tokens)


def _clean(tokens: "Tokens") -> "Tokens":
    """Without what formatters and wrappers change: trailing commas, `await`, time limits, signs apart from numbers."""
    out: Tokens = []
    size = len(tokens)
    i = 0
    while i < size:
        kind, value = tokens[i]
        i += 1
        if kind == WORD:
            if value in ("await", "async"):
                continue
            if (
                value in ("timeout", "interval", "msg", "reason", "rationale")
                and i + 1 < size
                and tokens[i][1] in (":", "=")
                and tokens[i + 1][0] in (NUMBER, STRING)
            ):
                i += 2
                continue
        elif kind == NUMBER:
            if (
                out
                and out[-1] == (OPERATOR, "-")
                and (len(out) < 2 or out[-2][1] not in (")", "]") and out[-2][0] not in (WORD, NUMBER))
            ):
                out.pop()
                out.append((NUMBER, "-" + _number(value)))
                continue
            value = _number(value)
        elif kind == OPERATOR:
            if value in (")", "]", "}"):
                while out and out[-1] == (OPERATOR, ","):
                    out.pop()
            elif value == ";":
                continue
        elif kind == STRING and i < size and tokens[i - 1][0] == STRING:
            value = value.replace("\\'", "'").replace('\\"', '"')
        out.append((kind, value))
    while out and out[-1] in ((OPERATOR, ","), (OPERATOR, ";")):
        out.pop()
    return out


def _number(text: str) -> str:
    plain = text.replace("_", "")
    if len(plain) > 40:
        return plain
    try:
        value = float(plain.rstrip("LlUuFfDdMmn")) if not plain[:2].lower() == "0x" else float(int(plain, 16))
    except ValueError:
        return plain
    return repr(value)


def _examine(text: Text) -> _Read:
    found = _Read(text)
    language = text.language
    current: _Test | None = None
    marks = ""  # annotations that wait for the test they stand at
    waiting: list[str] = []  # skips among them
    columns: list[tuple[int, Statement]] = []  # by indentation, for languages without braces
    judged_heads: set[int] = set()
    previous: Statement | None = None
    tried: list[tuple[int, int]] = []  # (column, number of assertions so far) of open `try:`
    for order, statement in enumerate(text.statements):
        tokens = statement.tokens
        compact = _compact(tokens)
        first = tokens[0][1]
        while columns and columns[-1][0] >= statement.column:
            columns.pop()
        head = (
            statement.parent
            if language not in ("python", "ruby", "elixir")
            else (columns[-1][1] if columns else None)
        )
        columns.append((statement.column, statement))

        annotation = (
            first in ("@", "[", "#") and not (language == "shell" and first == "[") and compact[:2] != "[]"
        )
        if (
            annotation
            and compact[:1] == "["
            and not (len(compact) > 1 and compact[1].isupper() and language in ("literals", "braces"))
        ):
            annotation = False
        name = _test_name(
            tokens, compact, marks if language in ("literals", "braces", "js") else "", language
        )
        is_decorator = annotation and name is None
        start = (
            _assertion_at(tokens, language) if not (is_decorator and not _is_expected_error(compact)) else -1
        )

        # skips
        if start < 0:
            what = ""
            if _SKIP.search(compact) or (language in _SKIP_WORD_LANGUAGES and _SKIP_WORD.match(compact)):
                what = "skip"
            elif _ONLY.search(compact):
                what = "only"
            elif _NEVER.match(compact):
                what = "never"
            elif _is_dead_end(statement, text.statements, order, previous, current):
                what = "return"
            if what:
                if is_decorator:
                    waiting.append(what)
                elif name is not None:
                    found.skips.append((what, name))
                else:
                    found.skips.append((what, current.name if current else ""))
        previous = statement

        if name is not None:
            current = _Test(name, order)
            found.tests.append(current)
            found.skips.extend((what, name) for what in waiting)
            waiting = []
            marks = ""
        elif is_decorator:
            marks += compact[:200]
        elif first in ("class", "describe", "context", "mod", "struct") or "class" in compact[:40].split(" "):
            found.skips.extend((what, compact[:80]) for what in waiting)
            waiting = []
            marks = ""

        # what it says
        if start >= 0:
            said = tokens
            if name is not None or first in _TEST_CALLS:
                said = tokens[_receiver(tokens, start) :]
            failing = _is_failure(compact)
            if failing and head is not None and head.tokens[0][1] in ("if", "unless", "elif", "else"):
                if id(head) not in judged_heads:
                    judged_heads.add(id(head))
                    _add(found, _judge_condition(head, order), current)
            else:
                _add(found, _judge(said, order, language), current)
        elif name is None:
            if not _collect_rows(found, statement, compact, language):
                _collect_expected(found, tokens)
                found.loose.append(tokens)
        if current is not None and name is None:
            current.body.append(_key(tokens))
            if compact not in _EMPTY_BODY:
                current.real += 1

        # assertions whose failure is swallowed
        if language == "python":
            while tried and tried[-1][0] > statement.column:
                tried.pop()
            if first == "try":
                tried.append((statement.column, len(found.assertions)))
            elif first == "except" and tried and tried[-1][0] == statement.column:
                column, since = tried.pop()
                nothing = _SWALLOW.match(compact) and (
                    not compact.endswith(":")
                    or (
                        order + 1 < len(text.statements)
                        and _compact(text.statements[order + 1].tokens) in ("pass", "...", "continue")
                    )
                )
                if nothing and (
                    len(compact) < 8 or re.search(r"\b(?:AssertionError|Exception|BaseException)\b", compact)
                ):
                    for assertion in found.assertions[since:]:
                        found.swallowed[assertion.key] = found.swallowed.get(assertion.key, 0) + 1
    found.skips.extend((what, "") for what in waiting)
    if language not in ("python", "ruby", "elixir"):
        _swallowed_by_catch(found)
    return found


def _add(found: _Read, assertion: _Assertion, test: "_Test | None") -> None:
    found.assertions.append(assertion)
    if test is not None:
        test.keys.append(assertion.key)


def _is_expected_error(compact: str) -> bool:
    return "should_panic" in compact or "expected" in compact.lower()


def _swallowed_by_catch(found: _Read) -> None:
    """`try { expect(..) } catch {}`: an assertion in the first block of a statement whose last block is empty."""
    children: dict[int, int] = {}
    for statement in found.text.statements:
        if statement.parent is not None:
            children[id(statement.parent)] = children.get(id(statement.parent), 0) + 1
    by_order = found.text.statements
    for assertion in found.assertions:
        parent = by_order[assertion.order].parent
        if parent is None or parent.tokens[0][1] != "try":
            continue
        compact = _compact(parent.tokens)
        # every child of such a statement is in its `try` block when the `catch` block is empty
        if re.match(r"try\{\}catch(?:\([\w$ :.|]*\))?\{\}$", compact) and not _block_after(
            found, parent, assertion.order
        ):
            found.swallowed[assertion.key] = found.swallowed.get(assertion.key, 0) + 1


def _block_after(found: _Read, parent: Statement, order: int) -> bool:
    """Whether the `catch` block of `parent` holds a statement: one that starts after the word `catch` does."""
    for statement in found.text.statements[order + 1 :]:
        if statement.parent is parent:
            if statement.start > parent.blocks[-1]:
                return True
        elif statement.parent is parent.parent:
            return False
    return False


def _is_dead_end(
    statement: Statement,
    statements: "list[Statement]",
    order: int,
    previous: "Statement | None",
    test: "_Test | None",
) -> bool:
    """A bare `return` with more of the same block after it."""
    tokens = statement.tokens
    if tokens[0] != (WORD, "return") or len(tokens) > 1 or order + 1 >= len(statements):
        return False
    following = statements[order + 1]
    return (
        following.parent is statement.parent
        and following.column == statement.column
        and not (
            previous is not None
            and previous.column < statement.column
            and previous.tokens[0][1]
            in ("if", "elif", "else", "for", "except", "while", "case", "default", "with")
        )
        and following.tokens[0][1]
        not in (
            "case",
            "default",
            "end",
            "}",
            "def",
            "elif",
            "else",
            "except",
            "async",
            "@",
            "rescue",
            "ensure",
            "when",
        )
    )


def _test_name(tokens: "Tokens", compact: str, marks: str, language: str) -> "str | None":
    """The name of the test that the statement opens, or nothing."""
    kinds = [kind for kind, _ in tokens[:12]]
    words = [value for kind, value in tokens[:12] if kind == WORD]
    first = tokens[0][1]
    if first == "async" and len(tokens) > 1:
        first = tokens[1][1]
    if language in ("python", "ruby"):
        if "def" in words[:2]:
            at = words.index("def") + 1
            if at < len(words) and words[at].startswith("test"):
                return words[at]
            return None
    if language == "shell":
        return (
            tokens[2][1]
            if compact.startswith('@test""') or compact.startswith('@test ""') and len(tokens) > 2
            else None
        )
    if first in _TEST_CALLS or (
        first in ("t", "Deno", "QUnit") and len(tokens) > 3 and tokens[2][1] in ("test", "Run")
    ):
        for i in range(1, min(len(tokens), 14)):
            kind, value = tokens[i]
            if kind == STRING:
                if tokens[i - 1][1] == "(" or tokens[i - 1][0] == WORD:
                    return value
                return None
            if kind == OPERATOR and value not in (".", "(", "["):
                break
            if kind == NUMBER:
                break
        if "each" in words[:4]:
            for i in range(len(tokens) - 1, 0, -1):
                if tokens[i][0] == STRING and tokens[i - 1][1] == "(":
                    return tokens[i][1]
        if language == "ruby" and first in ("it", "specify") and len(tokens) > 1:
            return compact
        return None
    if first in _TEST_MACROS and len(tokens) > 2 and tokens[1][1] == "(":
        inner = [value for kind, value in tokens[2:8] if kind in (WORD, STRING)]
        return ".".join(inner[:2]).replace("DISABLED_", "") if inner else None
    if (
        BLOCK not in kinds
        and "def" not in words
        and not re.search(r"\b(?:fn|func|fun|function|void|Task|public|def)\b", compact[:120])
    ):
        return None
    for i, (kind, value) in enumerate(tokens[:40]):
        if kind in (WORD, STRING) and i + 1 < len(tokens) and tokens[i + 1][1] == "(" and i > 0:
            before = tokens[i - 1][1]
            if (
                before in ("func", "fn", "fun", "function", "void", "Task", "Future", ">", "def", "]")
                or tokens[i - 1][0] == WORD
            ):
                if _TEST_MARK.search(marks) or _TEST_MARK.search(compact[:200]):
                    return value
                if value.startswith(("Test", "test", "Fuzz", "Benchmark")) and before in (
                    "func",
                    "function",
                    "void",
                    "def",
                ):
                    return value
    return None


def _assertion_at(tokens: "Tokens", language: str) -> int:
    """Where the word stands that makes the statement an assertion, or -1."""
    first = tokens[0][1]
    if first in _DECLARES and not (first in ("export", "def") and len(tokens) > 8):
        return -1
    if first == "#" and len(tokens) > 1 and tokens[1][1] in ("include", "import", "define"):
        return -1
    size = len(tokens)
    if language == "shell":
        if first == "[" or (first == "test" and size > 2):
            return 0
    elif first == "raise" and size > 1 and tokens[1][1] == "AssertionError":
        return 1
    for i in range(size):
        kind, word = tokens[i]
        if kind != WORD:
            continue
        following = tokens[i + 1] if i + 1 < size else ("", "")
        before = tokens[i - 1][1] if i else ""
        called = following[1] in ("(", "!", ".", "::", "->") or (following[1] == "<" and language == "js")
        if before in _DECLARES:
            continue
        if (
            word in ("raises", "warns", "deprecated_call", "fail")
            and (before == "." or i == 0 or tokens[i - 1][1] == "with")
            and following[1] == "("
        ):
            if (
                word == "fail"
                and before == "."
                and tokens[i - 2][1]
                not in ("self", "pytest", "this", "Assert", "Assertions", "assert", "XCT")
            ):
                continue
            return i
        if before == "." and i >= 2 and tokens[i - 2][1] == "t" and following[1] == "(":
            if word in _LISTS["fail of t"] and (language == "literals" or word != "Error"):
                return i
            if language == "js" and word in _LISTS["methods of t"]:
                return i
            continue
        if language == "hash" and i == 0 and word in _LISTS["perl and shell"] and following[1] == "(":
            return i
        if language == "hash" and word.startswith("test") and before == "@":
            return i
        if language == "lisp" and word == "is" and before == "(":
            return i
        if (
            word in ("verify", "coVerify", "verifyNoMoreInteractions", "verifyNoInteractions")
            and i == 0
            and following[1] in ("(", "{", "{}")
        ):
            return i
        if word == "require" and following[1] == "." and i + 2 < size and tokens[i + 2][1][:1].isupper():
            return i
        if word in ("XCTFail", "flunk") or (word == "Fail" and before == "."):
            return i
        if not _ASSERTION_WORD.fullmatch(word) or word[-5:].lower() == "rtion":
            continue
        lower = word.lower()
        if word in ("require", "check", "CHECK", "REQUIRE") and (word.islower() or following[1] != "("):
            continue
        if lower.startswith(("check", "require")) and not word.startswith(("CHECK", "REQUIRE")):
            continue
        if lower in ("assertionerror", "assertions", "assertion", "expected", "expectation", "expectations"):
            continue
        if lower.startswith("expected"):
            if not (word.startswith("expectE") and called):
                continue
        if called:
            if (
                word == "assert"
                and following[1] == "."
                and i + 2 < size
                and tokens[i + 2][1] in ("match",)
                and "=" in (before,)
            ):
                continue
            return i
        if lower.startswith(("should", "must_", "wont_", "is_expected")):
            if following[0] or before in (".", ")"):
                return i
            continue
        if (i == 0 or before in (":", ";", "{", "then", "do", "@", "#", "?")) and (
            following[0] in (WORD, STRING, NUMBER, BLOCK)
            or following[1] in ("(", "[", "{", "!", "-", "$", "^", "%", "~", ":", "@")
        ):
            return i
    return -1


def _receiver(tokens: "Tokens", at: int) -> int:
    """Where the expression begins that the assertion word stands in: after the last arrow or block of a test call."""
    for i in range(at, 0, -1):
        if tokens[i][1] in ("=>", "->", "{", "do") or tokens[i][0] == BLOCK:
            return i + 1
    return at


def _is_failure(compact: str) -> bool:
    return bool(
        re.match(
            r"(?:t|tb|b)\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\(|(?:pytest|self|this|Assert|Assertions|assert)\.(?:fail|Fail)\(|fail\(|raise AssertionError|XCTFail\(|flunk\b",
            compact,
        )
    )


def _kind_of(word: str) -> "tuple[str, bool]":
    """The kind of a matcher's name and whether the name negates; no kind: `("", False)`."""
    plain = word.lower().replace("_", "").replace(".", "")
    kind = _KIND_OF.get(plain)
    if kind:
        return kind, False
    negated = plain.startswith(("refute", "wont", "shouldnot", "mustnot", "tonot"))
    stem = plain
    for _ in range(3):
        found = _PREFIX.match(stem)
        if not found or found.end() == len(stem):
            break
        # the longest prefix may eat the matcher itself: `beNull` is `null`, `isin` is `in`
        short = _KIND_OF.get(stem[found.end() :])
        if short:
            return short, negated
        stem = stem[found.end() :]
        kind = _KIND_OF.get(stem)
        if kind:
            return kind, negated
    if stem.startswith("not") and len(stem) > 3:
        kind = _KIND_OF.get(stem[3:])
        if kind:
            return kind, not negated
    if stem.endswith("with") and _KIND_OF.get(stem[:-4]) == "raises":
        return "raises", negated
    return "", negated


def _split(tokens: "Tokens") -> "list[Tokens]":
    """The elements between the commas of the outermost level."""
    out: list[Tokens] = []
    part: Tokens = []
    depth = 0
    for token in tokens:
        if token[0] == OPERATOR:
            if token[1] in ("(", "[", "{"):
                depth += 1
            elif token[1] in (")", "]", "}"):
                depth -= 1
            elif token[1] == "," and depth == 0:
                if part:
                    out.append(part)
                part = []
                continue
        part.append(token)
    if part:
        out.append(part)
    return out


def _close(tokens: "Tokens", at: int) -> int:
    """The index of the bracket that closes the one at `at`, or the end."""
    depth = 0
    for i in range(at, len(tokens)):
        if tokens[i][0] == OPERATOR:
            if tokens[i][1] in ("(", "[", "{"):
                depth += 1
            elif tokens[i][1] in (")", "]", "}"):
                depth -= 1
                if depth == 0:
                    return i
    return len(tokens)


def _literals(tokens: "Tokens") -> "list[str]":
    """Numbers, strings and the words true, false and null; an index or a key in brackets is a name, not a value."""
    out: list[str] = []
    size = len(tokens)
    for i in range(size):
        kind, value = tokens[i]
        if kind in (NUMBER, STRING):
            if (
                i
                and i + 1 < size
                and tokens[i - 1][1] == "["
                and tokens[i + 1][1] == "]"
                and i > 1
                and (tokens[i - 2][0] == WORD or tokens[i - 2][1] in (")", "]"))
            ):
                if tokens[i - 2][1] not in ("in", "is", "not", "and", "or", "return", "assert"):
                    continue
            if (
                kind == STRING
                and i > 1
                and tokens[i - 1][1] == "("
                and tokens[i - 2][1] in _LISTS["selectors"]
            ):
                continue
            out.append(kind + value)
        elif kind == WORD:
            if value in _TRUE:
                out.append("true")
            elif value in _FALSE:
                out.append("false")
            elif value in _NONE:
                out.append("none")
    return out


def _judge_condition(head: Statement, order: int) -> _Assertion:
    """`if got != 3 { t.Errorf(..) }` asserts the opposite of its condition."""
    tokens = [token for token in _clean(head.tokens) if token[0] != BLOCK]
    if tokens and tokens[-1][1] == ":":
        tokens.pop()
    negate = tokens[0][1] != "unless"
    tokens = tokens[1:]
    for i in range(len(tokens) - 1, -1, -1):
        if tokens[i][1] == ";":
            tokens = tokens[i + 1 :]
            break
    assertion = _judge([(WORD, "assert"), *tokens], order, "python")
    assertion.key = "if " + assertion.key
    if negate:
        if assertion.kind == "cmp":
            assertion.op = _OPPOSITE.get(assertion.op, "")
        else:
            assertion.negated = not assertion.negated
        assertion.strength = _strength(assertion)
        assertion.ors, assertion.ands = assertion.ands, assertion.ors
    return assertion


def _strength(assertion: _Assertion) -> "int | None":
    kind = assertion.kind
    if kind == "eq" and assertion.negated:
        return 2
    return _STRENGTH.get(kind)


def _judge(raw: "Tokens", order: int, language: str) -> _Assertion:
    tokens = _clean(raw)
    out = _Assertion(tokens, order)
    at = _assertion_at(tokens, language)
    if at < 0:
        at = 0
    word = tokens[at][1] if tokens else ""
    lower = word.lower()
    size = len(tokens)

    # The words of the outermost level, and the first group after the assertion word.
    depth = 0
    level: list[int] = []  # indices of outermost words after the assertion word
    group = (-1, -1)
    i = at + 1
    while i < size:
        kind, value = tokens[i]
        if kind == OPERATOR and value in ("(", "[", "{"):
            end = _close(tokens, i)
            if group[0] < 0 and value == "(":
                group = (i, end)
            i = end + 1
            continue
        if kind == WORD:
            level.append(i)
        i += 1

    bare = (
        lower
        in (
            "assert",
            "refute",
            "xctassert",
            "check",
            "require",
            "static_assert",
            "expect_true",
            "boost_test",
            "cr_assert",
            "prop_assert",
            "debug_assert",
            "fail",
            "assert_",
            "verify2",
            "qverify",
            "boost_check",
            "boost_require",
            "ck_assert",
        )
        or (lower == "expect" and at > 0 and tokens[at - 1][1] == "#")
        or (language == "shell" and at == 0)
        or (language == "hash" and at > 0 and tokens[at - 1][1] == "@")
    )
    if bare and at + 1 < size and tokens[at + 1][1] in (".", "::", "->"):
        bare = False
    kind = ""
    negated = False
    matcher = at
    if bare:
        kind = "false" if lower == "refute" else "true"
        if (
            not (group[0] == at + 1 or (group[0] == at + 2 and tokens[at + 1][1] == "!"))
            or group[1] < size - 1
        ):
            if language in ("python", "elixir", "ruby", "braces", "js", "literals") and tokens[
                at + 1 : at + 2
            ] != [(OPERATOR, "!")]:
                body = _split(tokens[at + 1 :])
                keep = body[0] if body else []
                inner_tokens = keep
            else:
                inner_tokens = tokens[at + 1 :]
        else:
            arguments = _split(tokens[group[0] + 1 : group[1]])
            inner_tokens = arguments[0] if arguments else []
        tokens = [*tokens[: at + 1], *inner_tokens]
        inner = (at + 1, len(tokens))
    else:
        kind, negated = _kind_of(word)
        if lower in (
            "expect",
            "should",
            "assertthat",
            "assert",
            "require",
            "is_expected",
            "expecttypeof",
            "t",
        ):
            kind, negated = "", False
        text_matcher = ""
        for i in level:
            value = tokens[i][1]
            if value in ("not", "never", "not_to", "to_not", "Not", "isNot", "notTo", "toNot"):
                negated = not negated
                continue
            if value in (
                "to",
                "be",
                "have",
                "been",
                "with",
                "and",
                "Should",
                "resolves",
                "rejects",
                "eventually",
                "soft",
                "poll",
                "as",
                "describedAs",
                "that",
                "And",
                "which",
                "at",
                "deep",
                "a",
                "an",
            ):
                if value in ("be", "a", "an", "rejects", "that") and not kind:
                    kind, matcher = (
                        ("eq", i) if value in ("be",) else ("type" if value in ("a", "an") else kind, i)
                    )
                continue
            found, flips = _kind_of(value)
            if found:
                kind, matcher = found, i
                negated = negated != flips
        if (
            not kind
            and lower.startswith("should")
            and group[0] >= 0
            and tokens[group[0] + 1 : group[0] + 2]
            and tokens[group[0] + 1][0] == STRING
        ):
            text_matcher = tokens[group[0] + 1][1]
            for piece in text_matcher.split("."):
                if piece == "not":
                    negated = not negated
                    continue
                found, flips = _kind_of(piece)
                if found:
                    kind = found
                    negated = negated != flips
        if not kind and group[0] >= 0:
            arguments = _split(tokens[group[0] + 1 : group[1]])
            for argument in arguments[1:2]:  # Hamcrest, Dart: assertThat(x, is(3))
                for t_kind, value in argument[:6]:
                    if t_kind == WORD:
                        if value in ("not", "isNot"):
                            negated = not negated
                            continue
                        found, flips = _kind_of(value)
                        if found:
                            kind = found
                            negated = negated != flips
            if not kind and lower in ("assertthat", "expect") and len(arguments) == 2:
                kind = "eq" if lower == "expect" else "true"
        inner = (group[0] + 1, group[1]) if group[0] >= 0 else (at + 1, len(tokens))
        tokens, inner = _without_messages(tokens, at, matcher, group, kind, inner)

    out.tokens = tokens
    out.key = _key(tokens)
    expected: Tokens = []
    compared = -1
    chained = matcher != at or lower.startswith(("should", "must", "wont"))
    if (
        kind == "eq"
        and chained
        and _literals(tokens[matcher + 1 :]) in (["true"], ["false"])
        and not any(k == WORD and v not in _TRUE and v not in _FALSE for k, v in tokens[matcher + 1 :])
    ):
        kind = "true" if _literals(tokens[matcher + 1 :]) == ["true"] else "false"
    if kind in ("true", "false") or (
        kind == "eq" and chained and any(t[1] in _COMPARES for t in tokens[matcher + 1 :] if t[0] == OPERATOR)
    ):
        compared, op = _comparison(
            tokens, inner if kind in ("true", "false") else (matcher + 1, len(tokens)), language
        )
        if compared >= 0:
            if kind == "false":
                negated = not negated
            kind = op
            left = tokens[inner[0] : compared]
            right = tokens[compared + 1 : inner[1] if inner[1] > compared else len(tokens)]
            expected = right
            if not _words(left) and _words(right):
                expected = left
        elif kind == "true" and inner[0] < len(tokens):
            for i in range(inner[0], min(inner[1], len(tokens))):
                if tokens[i][0] == WORD and tokens[i][1] in (
                    "isinstance",
                    "hasattr",
                    "startswith",
                    "endswith",
                    "startsWith",
                    "endsWith",
                    "issubclass",
                    "includes",
                    "contains",
                    "all",
                    "any",
                    "Contains",
                    "HasPrefix",
                ):
                    kind = "type" if tokens[i][1].startswith("is") else "contain"
                    break
        if compared < 0 and kind in ("true", "false"):
            if tokens[inner[0] : inner[0] + 1] and tokens[inner[0]][1] in ("!", "not"):
                negated = not negated
    elif chained:
        expected = tokens[matcher + 1 :]
    elif kind and inner[0] > 0:
        arguments = _split(tokens[inner[0] : inner[1]])
        if arguments and arguments[0] in ([(WORD, "t")], [(WORD, "self")]):
            arguments = arguments[1:]
        pure = [
            argument
            for argument in arguments
            if not _words(argument) or _literals(argument) and len(argument) == 1
        ]
        for argument in pure or arguments[1:2]:
            expected = [*expected, *argument]
    if (
        kind == "eq"
        and not chained
        and compared < 0
        and _literals(expected) in (["true"], ["false"])
        and len(expected) == 1
    ):
        negated = negated != (_literals(expected) == ["false"])
        kind = "true"

    literals = _literals(tokens)
    wanted = _literals(expected)
    if kind in ("true", "false") and literals and compared < 0:
        for value in ("true", "false"):  # the value that the matcher is about
            if value in literals and (
                chained or not _words(tokens[inner[0] :]) or kind == "true" and not chained
            ):
                if _words(tokens[inner[0] : inner[1]]):
                    literals.remove(value)
                break
        wanted = []

    if kind == "ne":
        kind, negated = "eq", not negated
    elif kind == "not contain":
        kind, negated = "contain", not negated
    elif kind == "exists":
        kind, negated = "eq", not negated
        literals.append("none")
        wanted = [*wanted, "none"]
    elif kind == "null":
        kind = "eq"
        literals.append("none")
        wanted = [*wanted, "none"]
    elif kind == "empty":
        kind = "eq"
        literals.append("empty")
        wanted = [*wanted, "empty"]
    elif kind == "called once":
        kind = "eq"
        literals.append(NUMBER + "1.0")
        wanted = [*wanted, NUMBER + "1.0"]
    elif kind == "true":
        kind = "truth"
    elif kind == "false":
        kind, negated = "truth", not negated
    elif kind in ("gt", "ge", "lt", "le"):
        out.op = _OPPOSITE[kind] if negated else kind
        negated = False
        kind = "cmp"
    out.kind = kind or "other"
    out.negated = negated
    out.literals = literals
    out.expected = wanted
    out.exact_words = bool(_words(expected)) and not wanted
    out.strength = _strength(out)

    vocabulary = {
        tokens[i][1] for i in range(at, len(tokens)) if tokens[i][0] == WORD and (i == at or i == matcher)
    }
    names: list[str] = []
    for i in range(len(tokens)):
        t_kind, value = tokens[i]
        if t_kind != WORD:
            continue
        before = tokens[i - 1] if i else ("", "")
        if value in _LISTS["wildcards"] and (before[1] == "." or value not in ("any", "anything", "isA")):
            out.wildcards += 1
        if (
            value in ("or", "and")
            and before[1] not in (".", ")")
            or value in ("or", "and")
            and before[1] == ")"
            and bare
        ):
            if value == "or":
                out.ors += 1
            else:
                out.ands += 1
            continue
        if value in vocabulary or value in _TRUE or value in _FALSE or value in _NONE:
            continue
        names.append(value)
    out.ors += sum(1 for token in tokens if token == (OPERATOR, "||"))
    out.ands += sum(1 for token in tokens if token == (OPERATOR, "&&"))
    out.names = names
    if out.kind == "raises":
        out.consts = frozenset(
            v
            for k, v in tokens[at:]
            if k == WORD and v[:1].isupper() and v not in vocabulary and v != "Assert"
        )
    subject = [
        n
        for n in names
        if n not in _LISTS["keywords"] or n in ("result", "response", "actual", "got", "length", "len")
    ]
    if (
        not subject
        and not out.consts
        and out.kind in ("truth", "eq")
        and not negated
        and (bare or group[0] >= 0)
    ):
        values = _literals(tokens)
        if values and (
            values == ["true"] * len(values)
            or (out.kind == "eq" and len(values) == 2 and values[0] == values[1])
        ):
            out.kind, out.strength = "trivial", 0
        elif bare and values and values[0] not in ("false", "none") and out.kind == "truth":
            out.kind, out.strength = "trivial", 0
    out.shape = (
        out.kind
        + str(negated)
        + out.op
        + "|"
        + " ".join(
            value if k == OPERATOR or k == BLOCK else ("" if k == WORD else "#") for k, value in tokens
        )
    )
    return out


def _words(tokens: "Iterable[tuple[str, str]]") -> bool:
    return any(kind == WORD and v not in _TRUE and v not in _FALSE and v not in _NONE for kind, v in tokens)


def _comparison(tokens: "Tokens", span: "tuple[int, int]", language: str) -> "tuple[int, str]":
    """The outermost comparison in the span: where, and its kind; `(-1, "")` if there is none."""
    best, best_depth, op = -1, 1 << 30, ""
    depth = 0
    for i in range(span[0], min(span[1], len(tokens))):
        kind, value = tokens[i]
        if kind == OPERATOR:
            if value in ("(", "[", "{"):
                depth += 1
                continue
            if value in (")", "]", "}"):
                depth -= 1
                continue
            found = _COMPARES.get(value, "")
            if value == "=" and language == "shell":
                found = "eq"
        elif kind == WORD and value in ("in", "is") and i > span[0]:
            before = tokens[i - 1][1]
            found = "contain" if value == "in" else "eq"
            if value == "in" and before == "not":
                found = "not contain"
            elif value == "is" and i + 1 < len(tokens) and tokens[i + 1][1] == "not":
                found = "ne"
            elif before in (".", "->", "for"):
                continue
            if value == "in" and any(token[1] == "for" for token in tokens[max(span[0], i - 8) : i]):
                continue
        elif kind == WORD and language == "shell" and i and tokens[i - 1][1] == "-":
            found = _SHELL_COMPARES.get("-" + value, "")
        else:
            continue
        if found and depth < best_depth:
            best, best_depth, op = i, depth, found
    if (
        best >= 0
        and best_depth > 0
        and any(k == WORD for k, _ in tokens[span[0] : span[0] + 1])
        and best_depth > 1
    ):
        return -1, ""
    if best >= 0 and tokens[span[0]][1] in ("!", "not") and best_depth > 0:
        op = _OPPOSITE.get(op, op)
    elif best >= 0 and tokens[span[0]][1] == "not":
        op = _OPPOSITE.get(op, op)
    return best, op


def _without_messages(
    tokens: "Tokens", at: int, matcher: int, group: "tuple[int, int]", kind: str, inner: "tuple[int, int]"
) -> "tuple[Tokens, tuple[int, int]]":
    """The assertion without the text that is shown when it fails."""
    if group[0] < 0 or group[1] >= len(tokens):
        return tokens, inner
    arguments = _split(tokens[group[0] + 1 : group[1]])
    first = arguments[0] if arguments else []
    skip = 1 if first in ([(WORD, "t")], [(WORD, "self")]) else 0
    if tokens[at][1] == "expect" and matcher != at:
        arity = 1
    elif kind in ("true", "false", "null", "exists", "empty"):
        arity = 1
    elif kind in ("eq", "ne", "contain", "not contain", "gt", "ge", "lt", "le", "type") and (
        matcher == at or matcher < group[0]
    ):
        arity = 2
    elif kind == "approx" and (matcher == at or matcher < group[0]):
        arity = 3
    else:
        return tokens, inner
    arity += skip
    kept = arguments
    for i in range(arity, len(arguments)):
        if arguments[i][0][0] == STRING:
            kept = arguments[:i]
            break
    if len(kept) == arity + 1 and len(kept[0]) == 1 and kept[0][0][0] == STRING and not skip:
        kept = kept[1:]
    if kept is arguments:
        return tokens, inner
    joined: Tokens = []
    for argument in kept:
        if joined:
            joined.append((OPERATOR, ","))
        joined.extend(argument)
    out = [*tokens[: group[0] + 1], *joined, *tokens[group[1] :]]
    return out, (group[0] + 1, group[0] + 1 + len(joined))


# --- expected values outside of assertions -----------------------------------------------------------------------------

_ROW_CALL = re.compile(
    r"InlineData|DataRow|TestCase|case|test_case|example|of|arguments|TestCaseData|TestWith|param|row"
)
_LIST_CALL = re.compile(
    r"parametrize|each|CsvSource|ValueSource|expand|named_parameters|with_data|withData|Values|parameters"
)
_ROW_LOOK = re.compile(
    r"\b(?:InlineData|DataRow|TestCaseData|TestWith|pytest\.param)\(|^\[TestCase\(|#\[(?:test_)?case(?:::\w+)?\(|^@example\(|\bArguments\.of\(|\barguments\("
)
_LIST_LOOK = re.compile(
    r"\bmark\.parametrize\(|\b(?:it|test|describe)(?:\.\w+)*\.each\b|@(?:CsvSource|ValueSource)\(|\bparameterized\.expand\(|\bnamed_parameters\(|\bwith_?[dD]ata\("
)
_NOT_A_VALUE = frozenset(
    "name id ids desc description title label comment reason testName test_name scenario".split()
)


def _collect_rows(found: _Read, statement: Statement, compact: str, language: str) -> bool:
    """Rows of a test table in this statement; whether it was one."""
    tokens = statement.tokens
    if _ROW_LOOK.search(compact):
        took = False
        i = 0
        while i < len(tokens) - 1:
            if tokens[i][0] == WORD and tokens[i + 1][1] == "(" and _ROW_CALL.fullmatch(tokens[i][1]):
                end = _close(tokens, i + 1)
                _add_row(found, tokens[i + 2 : end])
                took = True
                i = end
            i += 1
        if took:
            return True
    if _LIST_LOOK.search(compact):
        for i in range(len(tokens) - 1):
            if tokens[i][0] == WORD and _LIST_CALL.fullmatch(tokens[i][1]):
                following = tokens[i + 1]
                if following[0] == STRING:  # a table in a template string
                    for line in following[1].splitlines():
                        if line.strip():
                            _add_row(found, [(STRING, re.sub(r"\s*\|\s*", "|", line.strip()))])
                    return True
                if following[1] != "(":
                    continue
                arguments = _split(tokens[i + 2 : _close(tokens, i + 1)])
                for argument in arguments:
                    if argument[0][1] in ("[", "{", "("):
                        for row in _split(argument[1 : _close(argument, 0)]):
                            _add_row(found, row)
                        return True
                for argument in arguments:
                    _add_row(found, argument)
                return True
    for i in range(min(len(tokens), 6)):
        kind, value = tokens[i]
        if kind == WORD and value.lower().lstrip("_") in _LISTS["table names"]:
            for j in range(i + 1, min(len(tokens), i + 60)):
                if tokens[j][1] in ("=", ":="):
                    group = _last_group(tokens, j + 1)
                    if group:
                        for row in _split(group):
                            _add_row(found, row)
                        return True
                    break
            break
    return _is_bare_row(found, tokens, language)


def _last_group(tokens: "Tokens", start: int) -> "Tokens":
    i = start
    group: Tokens = []
    while i < len(tokens):
        if tokens[i][0] == OPERATOR and tokens[i][1] in ("(", "[", "{"):
            end = _close(tokens, i)
            if end - i > 1:
                group = tokens[i + 1 : end]
            i = end
        i += 1
    return group


def _is_bare_row(found: _Read, tokens: "Tokens", language: str) -> bool:
    """A line that is nothing but a row, as the two sides of an edit show it."""
    opening = tokens[0][1]
    if tokens[0][0] != OPERATOR or opening not in ("(", "[", "{"):
        return False
    end = _close(tokens, 0)
    if end < len(tokens) - 2 or (end == len(tokens) - 2 and tokens[-1][1] != ","):
        return False
    inside = tokens[1:end]
    elements = _split(inside)
    if len(elements) < 2 or not _literals(inside):
        return False
    if opening == "{" and not (language == "literals" and (len(elements[0]) < 2 or elements[0][1][1] != ":")):
        if not any(_is_expected_key(element) for element in elements):
            return False
    _add_row(found, inside)
    return True


def _is_expected_key(element: "Tokens") -> bool:
    return (
        len(element) > 2
        and element[0][0] in (WORD, STRING)
        and element[1][1] in (":", "=", "=>")
        and bool(_EXPECTED_NAME.search(element[0][1]))
    )


def _add_row(found: _Read, row: "Tokens") -> None:
    row = _clean(row)
    kept: Tokens = []
    for element in _split(
        row[1:-1] if row and row[0][1] in ("(", "[", "{") and _close(row, 0) == len(row) - 1 else row
    ):
        if len(element) > 2 and element[0][1] in _NOT_A_VALUE and element[1][1] in (":", "="):
            continue
        kept.extend(element)
        kept.append((OPERATOR, ","))
    if kept:
        found.rows.append(kept)


def _collect_expected(found: _Read, tokens: "Tokens") -> None:
    """Values assigned to, or keyed by, a name that says that they are expected."""
    if tokens[0][1] in _DECLARES:
        return
    size = len(tokens)
    i = 0
    while i < size - 2:
        kind, value = tokens[i]
        if (
            kind in (WORD, STRING)
            and tokens[i + 1][1] in (":", "=", ":=", "=>")
            and len(value) < 60
            and _EXPECTED_NAME.search(value)
        ):
            depth = 0
            end = i + 2
            while end < size:
                mark = tokens[end]
                if mark[0] == OPERATOR:
                    if mark[1] in ("(", "[", "{"):
                        depth += 1
                    elif mark[1] in (")", "]", "}"):
                        depth -= 1
                        if depth < 0:
                            break
                    elif mark[1] == "," and depth == 0 and i > 0:
                        break
                end += 1
            found.expected.append((value, _clean(tokens[i + 2 : end])))
            i = end
        i += 1


# --- comparing two texts -----------------------------------------------------------------------------------------------


def _leftovers(before: "list[str]", after: "list[str]") -> "tuple[list[int], list[int]]":
    """The indices of what stands in one list only, counting repeats."""
    counts: dict[str, int] = {}
    for key in after:
        counts[key] = counts.get(key, 0) + 1
    gone = []
    for i, key in enumerate(before):
        if counts.get(key, 0):
            counts[key] -= 1
        else:
            gone.append(i)
    counts = {}
    for key in before:
        counts[key] = counts.get(key, 0) + 1
    new = []
    for i, key in enumerate(after):
        if counts.get(key, 0):
            counts[key] -= 1
        else:
            new.append(i)
    return gone, new


def _counted(values: "Iterable[str]") -> "dict[str, int]":
    out: dict[str, int] = {}
    for value in values:
        out[value] = out.get(value, 0) + 1
    return out


def _within(part: "Iterable[str]", whole: "Iterable[str]") -> bool:
    have = _counted(whole)
    for value in part:
        if not have.get(value, 0):
            return False
        have[value] -= 1
    return True


def _compare_texts(before: _Read, after: _Read) -> TestChange:
    gone, new = _leftovers([a.key for a in before.assertions], [a.key for a in after.assertions])
    removed = [before.assertions[i] for i in gone]
    added = [after.assertions[i] for i in new]
    added_count = max(0, len(added))
    removed, added = _pair_renamed(removed, added)
    removed, added = _pair_held(removed, added)

    rows_gone, rows_new, rows_altered, row_names = _compare_rows(before, after)
    expected_altered, expected_names, pool = _compare_expected(before, after)
    pool = [*pool, *(value for row in rows_new for value in _literals(row))]
    removed = _not_spread(removed, added, pool)
    moved = len(_leftovers([_key(t) for t in before.loose], [_key(t) for t in after.loose])[0])
    if moved:  # the call went, and with it the check that it worked
        removed = [r for r in removed if not _is_error_check(r)]

    altered: list[_Assertion] = []
    lost: list[_Assertion] = []
    spare = list(added[:2000])
    for r in removed:
        mate = _mate(r, spare)
        if mate is None:
            lost.append(r)
        else:
            spare.remove(mate)
            altered.append(r)
    swallowed = sum(
        min(count - before.swallowed.get(key, 0), sum(1 for a in before.assertions if a.key == key))
        for key, count in list(after.swallowed.items())[:200]
        if count > before.swallowed.get(key, 0)
    )
    deleted, skipped = _compare_tests(before, after, rows_gone)

    names: dict[str, None] = {}
    for assertion in [*altered, *lost]:
        for name in assertion.names:
            if name not in _LISTS["keywords"]:
                names.setdefault(name)
    for name in [*row_names, *expected_names]:
        names.setdefault(name)
    return TestChange(
        removed_assertions=len(lost),
        altered_assertions=len(altered) + rows_altered + expected_altered + max(0, swallowed),
        added_skips=skipped,
        deleted_tests=deleted,
        added_assertions=added_count,
        names=tuple(list(names)[:_MAX_NAMES]),
    )


def _is_error_check(assertion: _Assertion) -> bool:
    return (
        assertion.kind == "eq"
        and assertion.literals == ["none"]
        and all(n in ("err", "error", "e", "t", "require", "assert") for n in assertion.names)
    )


def _pair_renamed(
    removed: "list[_Assertion]", added: "list[_Assertion]"
) -> "tuple[list[_Assertion], list[_Assertion]]":
    """Set aside what differs in identifiers only."""
    by_shape: dict[str, list[_Assertion]] = {}
    for a in reversed(added):
        by_shape.setdefault(a.shape + "\x1e" + "\x1f".join(a.literals), []).append(a)
    left: list[_Assertion] = []
    used: set[int] = set()
    for r in removed:
        mates = by_shape.get(r.shape + "\x1e" + "\x1f".join(r.literals))
        for k in range(len(mates) - 1, max(-1, len(mates) - 1 - _NEAR), -1) if mates else ():
            if _holds(r, mates[k]):  # type: ignore[index]
                used.add(id(mates.pop(k)))  # type: ignore[union-attr]
                break
        else:
            left.append(r)
    return left, [a for a in added if id(a) not in used]


def _pair_held(
    removed: "list[_Assertion]", added: "list[_Assertion]"
) -> "tuple[list[_Assertion], list[_Assertion]]":
    """Set aside what another assertion still asks, the likeliest first."""
    left: list[_Assertion] = []
    free = dict.fromkeys(range(len(added)))
    many = len(removed) * len(added) > _MAX_PAIRS
    for n, r in enumerate(removed):
        best, best_score = -1, -1
        if many:
            middle = n * len(added) // len(removed)
            candidates: Iterable[int] = (
                k for k in range(max(0, middle - _NEAR), min(len(added), middle + _NEAR)) if k in free
            )
        else:
            candidates = free
        names = set(r.names)
        for k in candidates:
            a = added[k]
            if not _holds(r, a):
                continue
            score = (
                4 * (r.literals == a.literals)
                + 2 * (r.kind == a.kind)
                + min(len(names.intersection(a.names)), 5)
            )
            if score > best_score:
                best, best_score = k, score
        if best >= 0:
            del free[best]
        else:
            left.append(r)
    return left, [added[k] for k in free]


def _holds(r: _Assertion, a: _Assertion) -> bool:
    """Whether `a` asks at least what `r` asked."""
    if r.strength == 0:
        return True
    if a.strength == 0 or a.ors > r.ors or a.wildcards > r.wildcards:
        return False
    same = r.literals == a.literals or sorted(r.literals) == sorted(a.literals)
    if r.strength is not None and a.strength is not None:
        if a.strength < r.strength:
            if r.kind == "eq" and a.kind == "approx":
                return _is_close(r, a)
            if not (same and r.kind == "approx"):
                return False
        if r.kind == a.kind and r.negated != a.negated:
            return r.kind == "eq" and r.negated and r.expected == ["none"] and "none" not in a.expected
        if r.kind != a.kind and r.strength == a.strength:
            return False
        if r.kind == "truth" and a.kind == "eq":
            void = a.expected in (["none"], ["false"], [NUMBER + "0.0"], [STRING], ["empty"])
            if void != r.negated and not a.negated and (void or r.negated):
                return False
            if a.negated and not r.negated and not void:
                return False
        if r.kind == "cmp" and a.kind == "cmp" and not _is_stricter(r, a, same):
            return False
    if r.consts != a.consts and r.kind == "raises":
        broad = r.consts <= _BROAD_ERRORS and a.consts
        if not broad and not r.consts < a.consts:
            return False
    if r.kind == "cmp" and a.kind == "cmp":
        return True
    if a.ands < r.ands and not set(r.names) <= set(a.names):
        return False
    if same:
        if r.shape == a.shape:
            return not _other_member(r.tokens, a.tokens)
        if not r.literals or r.literals == ["none"]:
            ours, theirs = set(r.names) - _LISTS["keywords"], set(a.names) - _LISTS["keywords"]
            return not ours or not theirs or bool(ours & theirs)
        return True
    if _within(r.literals, a.literals):
        if r.kind != a.kind:
            ours = set(r.names) - _LISTS["keywords"]
            return not ours or bool(ours & set(a.names)) or bool(r.literals)
        if sorted(r.expected) == sorted(a.expected):
            return bool(set(r.names) & set(a.names)) or bool(r.expected)
        if r.kind in ("contain", "raises", "called", "other", "type", "truth", "dom"):
            return bool(set(r.names) & set(a.names))
        return not r.expected and r.exact_words
    if r.kind == a.kind == "approx":
        return _is_close(r, a)
    # A literal gave way to a named constant.
    if r.kind == a.kind and r.expected and not a.expected and a.exact_words:
        return any(n.isupper() and len(n) > 1 for n in a.names) and _within(a.literals, r.literals)
    return False


def _values(literals: "list[str]") -> "list[float]":
    return [float(v[1:]) for v in literals if v[0] == NUMBER and re.fullmatch(r"-?[\d.e+-]+", v[1:])]


def _is_stricter(r: _Assertion, a: _Assertion, same: bool) -> bool:
    if r.op[:1] != a.op[:1]:
        return False
    if same:
        return r.op == a.op or (r.op, a.op) in _STRICTER_COMPARE
    old, new = _values(r.expected), _values(a.expected)
    if not r.expected and r.exact_words:
        return bool(set(r.names) & set(a.names))
    if len(old) != 1 or len(new) != 1:
        return False
    return new[0] >= old[0] if r.op[:1] == "g" else new[0] <= old[0]


def _is_close(r: _Assertion, a: _Assertion) -> bool:
    """Whether an approximate assertion still pins the value that the other one pinned."""
    if r.kind == "approx":
        old, new = _values(r.literals), _values(a.literals)
        if len(old) != len(new):
            return _within(r.literals, a.literals)
        changed = [(x, y) for x, y in zip(old, new, strict=True) if x != y]
        if len(changed) != 1 or sorted(set(r.literals) - set(a.literals))[1:]:
            return False
        x, y = changed[0]
        digits = any(
            "close" in n.lower() or "places" in n.lower() or "almost" in n.lower()
            for _, n in a.tokens
            if len(n) < 40
        ) and x == int(x)
        return (y > x) if digits else (y < x and x <= 1)
    if not _within(r.literals, a.literals):
        return False
    extra = list(a.literals)
    for value in r.literals:
        extra.remove(value)
    expected = max((abs(v) for v in _values(r.expected)), default=0.0)
    digits = any("close" in n.lower() or n == "places" for _, n in a.tokens if len(n) < 40)
    for value in _values(extra):
        if digits and value == int(value):
            if value <= 0:
                return False
        elif abs(value) >= _HUGE_TOLERANCE * max(expected, 1e-9) and abs(value) >= 1e-3:
            return False
    return True


def _other_member(before: "Tokens", after: "Tokens") -> bool:
    """`Status.OK` became `Status.ERROR`: the same type, another of its values."""
    for i in range(2, min(len(before), len(after))):
        if before[i] == after[i] or before[i][0] != WORD or after[i][0] != WORD:
            continue
        if (
            before[i - 1][1] in (".", "::")
            and before[i - 2] == after[i - 2]
            and before[i - 2][1][:1].isupper()
            and before[i][1][:1].isupper()
            and after[i][1][:1].isupper()
            and (i + 1 >= len(after) or after[i + 1][1] != "(")
        ):
            return True
    return False


def _not_spread(
    removed: "list[_Assertion]", added: "list[_Assertion]", pool: "list[str]"
) -> "list[_Assertion]":
    """What is left when assertions that became several, or became rows of a table, are set aside."""
    if not removed or not added:
        return removed
    strongest = [a for a in added if a.strength != 0]
    values = [*pool, *(v for a in strongest for v in a.literals)]
    have = _counted(values)
    left = []
    for r in removed:
        ok = (
            bool(r.literals)
            and r.kind == "eq"
            and any(a.kind in ("eq", "other") and a.negated == r.negated for a in strongest)
        )
        parts = (
            [a for a in strongest[:_NEAR] if set(a.literals) & set(r.literals)]
            if ok and not pool
            else strongest
        )
        if ok and (pool or len(parts) > 1) and all(have.get(v, 0) > 0 for v in r.literals):
            for v in r.literals:
                have[v] -= 1
            continue
        if (
            r.ands
            and len(strongest) > 1
            and set(r.names) <= {n for a in strongest[:_NEAR] for n in a.names}
            and all(v in have for v in r.literals)
        ):
            continue
        left.append(r)
    return left


def _mate(r: _Assertion, spare: "list[_Assertion]") -> "_Assertion | None":
    names = set(r.names)
    best = None
    score = 0
    for a in spare[:_NEAR]:
        s = 2 * len(names.intersection(a.names)) + (r.shape == a.shape) + (r.kind == a.kind)
        if s > score:
            best, score = a, s
    return best


def _row_literals(row: "Tokens") -> "list[str]":
    return _literals(row)


def _compare_rows(before: _Read, after: _Read) -> "tuple[int, list[Tokens], int, list[str]]":
    """Rows lost for good, rows that came, rows altered, names in the altered."""
    gone, new = _leftovers([_key(row) for row in before.rows], [_key(row) for row in after.rows])
    old_rows = [before.rows[i] for i in gone]
    new_rows = [after.rows[i] for i in new]
    if not old_rows:
        return 0, new_rows, 0, []
    by_values: dict[str, list[int]] = {}
    for k, row in enumerate(new_rows):
        by_values.setdefault("\x1f".join(_literals(row)), []).append(k)
    left: list[Tokens] = []
    used: set[int] = set()
    for row in old_rows:
        mates = by_values.get("\x1f".join(_literals(row)))
        if mates and _literals(row):
            used.add(mates.pop())
        else:
            left.append(row)
    rest = [row for k, row in enumerate(new_rows) if k not in used]
    # A column was added to every row.
    if left and len(left) <= len(rest):
        still = []
        pool = list(rest[:400])
        for row in left[:400]:
            values = _literals(row)
            mate = next(
                (
                    r
                    for r in pool
                    if values and len(r) > len(row) + 1 and _literals(r)[: len(values)] == values
                ),
                None,
            )
            if mate is None:
                still.append(row)
            else:
                pool.remove(mate)
        if not still:
            return 0, new_rows, 0, []
    assertion_values = _counted(v for a in after.assertions for v in a.literals)
    left = [
        row
        for row in left
        if not _literals(row) or not all(assertion_values.get(v) for v in _literals(row)) or rest
    ]
    altered = min(len(left), len(rest))
    names: list[str] = []
    for row in left[:50]:
        names.extend(v for k, v in row if k == WORD and v not in _LISTS["keywords"])
    return len(left) - altered, new_rows, altered, names


def _compare_expected(before: _Read, after: _Read) -> "tuple[int, list[str], list[str]]":
    """Expected values altered, names in them, and the literals of the expected values that came."""
    gone, new = _leftovers(
        [name + "\x1e" + _key(value) for name, value in before.expected],
        [name + "\x1e" + _key(value) for name, value in after.expected],
    )
    came: dict[str, list[Tokens]] = {}
    pool: list[str] = []
    for k in new:
        name, value = after.expected[k]
        came.setdefault(name, []).append(value)
        pool.extend(_literals(value))
    altered = 0
    names: list[str] = []
    for k in gone:
        name, value = before.expected[k]
        mates = came.get(name)
        if not mates:
            continue
        old = _literals(value)
        for m, mate in enumerate(mates[:_NEAR]):
            if _literals(mate) == old:
                mates.pop(m)
                break
        else:
            mate = mates.pop(0)
            if _literals(mate) and (old or not _words(value)):
                altered += 1
                names.append(name)
                names.extend(v for kind, v in value if kind == WORD and v not in _LISTS["keywords"])
    return altered, names, pool


def _compare_tests(before: _Read, after: _Read, rows_lost: int) -> "tuple[int, int]":
    """Tests deleted and skips added."""
    gone, new = _leftovers([t.name for t in before.tests], [t.name for t in after.tests])
    lost = [before.tests[i] for i in gone]
    came = [after.tests[i] for i in new]
    renamed: dict[str, str] = {}  # new name -> old name
    by_body: dict[str, list[_Test]] = {}
    for test in came:
        by_body.setdefault("\x1e".join(test.body), []).append(test)
    left = []
    for test in lost:
        mates = by_body.get("\x1e".join(test.body))
        if mates:
            mate = mates.pop(0)
            renamed[mate.name] = test.name
            came.remove(mate)
        else:
            left.append(test)
    for old, fresh in zip(left, came, strict=False):
        renamed[fresh.name] = old.name
    have = _counted(a.key for a in after.assertions)
    deleted = 0
    commented = 0
    if len(left) > len(came):
        comments = "\n".join(after.text.comments)
        for test in left[len(came) :]:
            if test.keys and all(have.get(key) for key in test.keys):
                continue  # merged into another
            if test.name and test.name in comments:
                commented += 1
            else:
                deleted += 1
    # emptied
    bodies = {test.name: test for test in after.tests}
    for test in before.tests:
        same = bodies.get(test.name)
        if (
            same is not None
            and test.real
            and not same.real
            and len(before.tests) == len(after.tests)
            and same.body
        ):
            deleted += 1
    deleted += rows_lost

    known = {test.name for test in before.tests}
    old_skips = _counted(f"{where}" if where else what for what, where in before.skips)
    old_only = _counted(where for what, where in before.skips if what == "only")
    skipped = commented
    for what, where in after.skips:
        origin = renamed.get(where, where)
        if what == "only":
            if old_only.get(origin, 0):
                old_only[origin] -= 1
            else:
                skipped += 1
            continue
        token = origin if origin else what
        if old_skips.get(token, 0):
            old_skips[token] -= 1
            continue
        if where and where in {t.name for t in after.tests} and origin not in known:
            continue  # a new test that begins as a skipped one
        skipped += 1
    return deleted, skipped


def _compare_lines(before: str, after: str) -> TestChange:
    """A snapshot: every line is an expected value, but for the titles of its entries."""

    def lines(text: str) -> "list[str]":
        out = []
        for line in text.splitlines():
            line = " ".join(line.split())
            if line and not line.startswith(("exports[", "# name:", "// ", "---", "source:", "expression:")):
                out.append(line.rstrip(","))
        return out

    old, fresh = lines(before), lines(after)
    gone, new = _leftovers(old, fresh)
    altered = min(len(gone), len(new))
    return TestChange(altered_assertions=altered, removed_assertions=len(gone) - altered)


def _compare_feature(before: str, after: str) -> TestChange:
    """Gherkin: `Then` steps and the rows of tables are what is expected."""

    def expectations(text: str) -> "tuple[list[str], list[str], int]":
        steps: list[str] = []
        scenarios: list[str] = []
        skips = 0
        then = False
        for line in text.splitlines():
            line = " ".join(line.split())
            word = line.partition(" ")[0]
            if word in ("Given", "When"):
                then = False
            elif word == "Then":
                then = True
            if word.startswith("Scenario") or word == "Example:":
                scenarios.append(line)
                then = False
            if line.startswith("|") or (then and word in ("Then", "And", "But", "*")):
                steps.append("".join(line.partition(" ")[2:]) if not line.startswith("|") else line)
            if line.startswith("@") and re.search(r"@(?:skip|ignore|wip|pending)\b", line):
                skips += 1
        return steps, scenarios, skips

    old_steps, old_scenarios, old_skips = expectations(before)
    new_steps, new_scenarios, new_skips = expectations(after)
    gone, new = _leftovers(old_steps, new_steps)
    altered = min(len(gone), len(new))
    return TestChange(
        altered_assertions=altered,
        removed_assertions=len(gone) - altered,
        added_skips=max(0, new_skips - old_skips),
        deleted_tests=max(0, len(old_scenarios) - len(new_scenarios)),
        added_assertions=len(new) - altered,
    )


# --- substitutions -------------------------------------------------------------------------------------------------------

_SED_COMMAND = re.compile(r"(?:s|y|tr)(?=[^\w\s\\])")
_SED_DELETE = re.compile(r"(?P<mark>[/|#,!])(?P<pattern>(?:[^/\\]|\\.)*?)(?P=mark)(?:,[^d;\s]*)?\s*d\b")


def changes_by_sed(script: str, path: str = "") -> TestChange:
    """What a sed or perl substitution does to assertions, as far as the expression alone shows it.

    `script`: one expression or several (`s/a/b/g; s|c|d|`, `-e s/a/b/ -e /x/d`). An expression that shows no
    assertion, as `s/3/4/` or `5d`, says nothing.
    """
    total = TestChange()
    names: dict[str, None] = {}
    pos = 0
    size = len(script)
    for _ in range(200):
        if pos >= size:
            break
        char = script[pos]
        if char in "\"' \t\n;{}" or char == "-":
            if char == "-":
                while pos < size and not script[pos].isspace():
                    pos += 1
            pos += 1
            continue
        change, pos = _sed_command(script, pos, path)
        if change is not None:
            total.removed_assertions += change.removed_assertions
            total.altered_assertions += change.altered_assertions
            total.added_skips += change.added_skips
            total.deleted_tests += change.deleted_tests
            total.added_assertions += change.added_assertions
            for name in change.names:
                names.setdefault(name)
    total.names = tuple(list(names)[:_MAX_NAMES])
    return total


def _until(script: str, pos: int, mark: str) -> "tuple[str, int]":
    """The text up to the next bare `mark`, and the place after it; `-1` where there is none."""
    out: list[str] = []
    while pos < len(script):
        char = script[pos]
        if char == "\\" and pos + 1 < len(script):
            following = script[pos + 1]
            out.append(following if following == mark else char + following)
            pos += 2
            continue
        if char == mark:
            return "".join(out), pos + 1
        out.append(char)
        pos += 1
    return "".join(out), -1


def _plain(pattern: str) -> str:
    """A regular expression as the text that it most likely stands for."""
    pattern = re.sub(r"\\([(){}+?|])", r"\1", pattern)
    pattern = re.sub(r"\\[bB<>]|^\^|\$$", "", pattern)
    pattern = re.sub(r"\\s[*+]?|\[\[:space:\]\][*+]?", " ", pattern)
    pattern = re.sub(r"\\([^\w\s])", r"\1", pattern)
    return re.sub(r"\(?\.[*+]\??\)?", " _ ", pattern)


def _sed_command(script: str, pos: int, path: str) -> "tuple[TestChange | None, int]":
    size = len(script)
    address = ""
    for _ in range(2):  # an address or a range of two
        char = script[pos] if pos < size else ""
        if char == "/" or (char == "\\" and pos + 1 < size):
            if char == "\\":
                pos += 1
            text, end = _until(script, pos + 1, script[pos])
            if end < 0:
                return None, size
            address = address or text
            pos = end
            while pos < size and script[pos] in "I":
                pos += 1
        else:
            while pos < size and (script[pos].isdigit() or script[pos] in "$+~"):
                pos += 1
        if pos < size and script[pos] == ",":
            pos += 1
        else:
            break
    while pos < size and script[pos] in " !":
        pos += 1
    if pos >= size:
        return None, size
    command = script[pos]
    if command == "s" and pos + 1 < size and not script[pos + 1].isalnum() and not script[pos + 1].isspace():
        mark = script[pos + 1]
        closing = {"{": "}", "(": ")", "[": "]", "<": ">"}.get(mark, mark)
        old, end = _until(script, pos + 2, closing)
        if end < 0:
            return None, size
        if closing != mark:
            while end < size and script[end].isspace():
                end += 1
            end += 1
        new, end = _until(script, end, closing)
        if end < 0:
            return None, size
        while end < size and script[end].isalnum():
            end += 1
        return _compare_substitution(old, new, address, path), end
    if command in ("d", "D", "c"):
        end = pos + 1
        if command == "c":
            while end < size and script[end] != "\n":
                end += 1
        if not address:
            return None, end
        return compare(
            _plain(address) + "(x)" if re.fullmatch(r"[\w.]+", _plain(address)) else _plain(address), "", path
        ), end
    while pos < size and script[pos] not in ";\n'\"":
        pos += 1
    return None, pos + 1


def _compare_substitution(old: str, new: str, address: str, path: str) -> TestChange:
    before = _plain(old)
    after = re.sub(r"\\([^\w\s])", r"\1", new)
    # What the pattern kept is kept: `\1`, `&` stand for what was matched.
    groups = re.findall(r"\(([^()]*)\)", re.sub(r"\\([()])", r"\1", old)) if "\\" in new or "$" in new else []
    for k, group in enumerate(groups[:9], 1):
        after = after.replace(f"\\{k}", _plain(group)).replace(f"${k}", _plain(group))
    after = re.sub(r"(?<!\\)&(?!&)", lambda _: before, after)
    change = compare(before, after, path)
    if change.weakens():
        return change
    # A piece of an assertion: its matcher, or what it is compared with.
    if re.search(r"[=!]==?\s|\bto[A-Z]\w+\(|\bassert|\bEqual", before) or (
        address and re.search(r"assert|expect", address)
    ):
        head = (
            ""
            if re.search(r"\bassert|\bexpect", before)
            else ("expect(x)." if re.match(r"\s*\.?\s*(?:not\.)?to[A-Z]", before) else "assert x ")
        )
        whole_before, whole_after = head + before.lstrip(" ."), head + after.lstrip(" .")
        if not after.strip():
            whole_after = ""
        return compare(whole_before, whole_after, path)
    if re.match(r"\s*(?:it|test|describe|def test\w*|func Test\w*)\b", before):
        return compare(
            before + '("x")' if before.isidentifier() else before,
            after + '("x")' if before.isidentifier() else after,
            path,
        )
    return change


# --- names ---------------------------------------------------------------------------------------------------------------

_DEFINITION = re.compile(
    r"\b(?:def|class|function\*?|func|fn|fun|struct|enum|trait|interface|type|module|mod|namespace|protocol|object|record|macro_rules!|defp?|defmodule|defmacrop?|const|let|var|val|static|union|typedef struct|impl)[ \t]+"
    r"(?:\([^()\n]{0,80}\)[ \t]*)?(?:mut[ \t]+|self\.)?([A-Za-z_$][\w$]*[?!]?)"
)
_ASSIGNED = re.compile(
    r"^(?:export[ \t]+(?:default[ \t]+)?)?([A-Za-z_]\w*)[ \t]*(?::[ \t]*[\w.\[\], |]{1,60})?[ \t]*=(?![=>])",
    re.MULTILINE,
)
_METHOD = re.compile(
    r"^[ \t]*(?:(?:public|private|protected|internal|static|async|final|abstract|override|virtual|readonly|export|inline|extern|unsafe|get|set|synchronized|constexpr|suspend|open)[ \t]+){0,5}"
    r"(?:[A-Za-z_][\w<>,.:\[\]?*&]*[ \t]+[*&]?)?([A-Za-z_$][\w$]*)[ \t]*\([^;{}\n]{0,200}\)[^;{}\n=]{0,80}\{",
    re.MULTILINE,
)
_MEMBER_EXPORT = re.compile(
    r"\b(?:exports|module\.exports|self|this|prototype)\.([A-Za-z_$][\w$]*)[ \t]*=(?!=)"
)
_KEYWORD_NAMES = frozenset(
    "if for while switch catch return function else do try with match elif and or not in is new typeof await async def class struct enum self cls this super".split()
)


def defined_names(text: str) -> "set[str]":
    """The names of functions, classes, methods, constants and exports that the text defines, by the look of it."""
    out: set[str] = set()
    for line in text.splitlines():
        if len(line) > 1000:
            line = line[:1000]
        stripped = line.lstrip()
        if stripped.startswith(("#!", "//", "*", "/*", "# ")):
            continue
        for pattern in (_DEFINITION, _ASSIGNED, _METHOD, _MEMBER_EXPORT):
            for found in pattern.finditer(line):
                name = found.group(1)
                if name not in _KEYWORD_NAMES:
                    out.add(name)
    return out


def removed_names(before: str, after: str) -> "set[str]":
    """What `before` defines and `after` does not."""
    return defined_names(before) - defined_names(after)
