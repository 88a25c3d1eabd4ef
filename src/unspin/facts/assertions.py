"""One assertion of a test, reduced to what it asks: how strongly, of which value, with which negation.

The vocabulary of the common test frameworks is in `assertions.json`, as the names of matchers by kind. Two
assertions are compared by their kinds, literals and negation, never by the names of variables: `holds(old,
new)` says whether `new` still asks what `old` asked.

What it does not know: statements and files (`statements`, `test_changes`), and what a name stands for.
"""

from unspin.facts.lists import read_list
from unspin.facts.patterns import IGNORECASE, pattern
from unspin.facts.statements import BLOCK, NUMBER, OPERATOR, STRING, WORD, Statement

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final

    Token = tuple[str, str]
    Tokens = list[Token]

_HUGE_TOLERANCE: "Final" = 0.1  # of the expected value: an approximation that allows this much pins nothing down

# How much a matcher asks: 5 pins the value down, 2 says only that there is one or that it is not another,
# 0 always
# holds. A matcher that is not known has no strength and is taken to be as good as any.
_STRENGTH: "Final" = {
    "eq": 5,
    "approx": 4,
    "contain": 3,
    "cmp": 3,
    "type": 3,
    "raises": 3,
    "called": 3,
    "dom": 3,
    "truth": 2,
}
# What a kind comes down to: (kind, negates, the value that it names itself).
_COMES_TO: "Final" = {
    "ne": ("eq", True, ""),
    "not contain": ("contain", True, ""),
    "null": ("eq", False, "none"),
    "exists": ("eq", True, "none"),
    "empty": ("eq", False, "empty"),
    "called once": ("eq", False, NUMBER + "1.0"),
    "true": ("truth", False, ""),
    "false": ("truth", True, ""),
}
_COMPARES: "Final" = {
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
_SHELL_COMPARES: "Final" = {"eq": "eq", "ne": "ne", "lt": "lt", "gt": "gt", "le": "le", "ge": "ge"}
_OPPOSITE: "Final" = {
    "eq": "ne",
    "ne": "eq",
    "contain": "not contain",
    "not contain": "contain",
    "lt": "ge",
    "ge": "lt",
    "gt": "le",
    "le": "gt",
    "true": "false",
    "false": "true",
}
_ORDERS: "Final" = ("gt", "ge", "lt", "le")
_STRICTER: "Final" = (("ge", "gt"), ("le", "lt"))
_CONSTANTS: "Final" = {
    **dict.fromkeys(("true", "True", "TRUE", "YES"), "true"),
    **dict.fromkeys(("false", "False", "FALSE", "NO"), "false"),
    **dict.fromkeys(("None", "null", "nil", "NULL", "nullptr", "undefined", "NSNull"), "none"),
}
_VOID: "Final" = (["none"], ["false"], [NUMBER + "0.0"], [STRING], ["empty"])

_NAMED = pattern(  # an assertion by its name; what must be called to be one is asked apart
    r"\w*assert\w*|XCTUnwrap|expect|expect[A-Z_]\w*|EXPECT_\w+|CHECK(?:_\w+)?|REQUIRE(?:_\w+)?|BOOST_TEST\w*"
    r"|\w*_(?:CHECK|REQUIRE)\w*|QCOMPARE\w*|QVERIFY\w*|QEXPECT\w*|[sS]hould(?:[A-Z_]\w*)?|refute\w*"
    r"|must_\w+|wont_\w+"
    r"|is_expected|andExpect\w*"
)
_ANY_CASE_ASSERT = pattern(r"\w*assert\w*", IGNORECASE)
_NO_ASSERTION = pattern(
    r"(?:expected|expectation|assertion)\w*|\w*(?:assertion_?error|assertions?|expectations?)", IGNORECASE
)
_SUFFIXED = pattern(r"(?:[sS]hould|must_|wont_|is_expected)")  # `x shouldBe 3`: the subject stands before it
_PREFIX = pattern(
    r"xctassert|assertthat|assert|refute|andexpect|expect|check|require|should|must|wont|not|to|been|be"
    r"|is|that|have|has"
    r"|does|test|boost|debug|prop|ck|cr"
)
_NEGATING_PREFIX = ("refute", "wont", "not")
_FAILS = pattern(
    r"(?:t|tb|b)\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\(|(?:pytest|self|this|Assert|Assertions"
    r"|assert)\.[fF]ail\("
    r"|fail\(|raise AssertionError|XCTFail\(|flunk\b"
)

_lists: "dict[str, frozenset[str]]" = {}
_kinds: "dict[str, str]" = {}


def words(name: str) -> "frozenset[str]":
    """A list of `assertions.json` by name; the file is read once."""
    if not _lists:
        data = read_list("assertions")
        for kind, matchers in data["matchers"].items():
            for matcher in matchers:
                _kinds.setdefault(matcher, kind)
        _lists.update({key: frozenset(value) for key, value in data.items() if isinstance(value, list)})
    return _lists[name]


class Assertion:
    """One assertion, reduced to what it asks.

    kind: `eq`, `cmp`, `contain`, ... or `other`.
    strength: how much that asks, see `_STRENGTH`; None where the matcher is not known.
    op: which comparison, for `cmp`.
    literals, expected: all in it, in order, and those of them that are the expected value.
    by_name, by_variable: the expected value holds no literal; it is a single lower-case name.
    errors: the classes that `raises` names.
    shape: the tokens with names and values left out.
    ors, ands, wildcards: how many of them there are.
    """

    __slots__ = (
        "ands",
        "by_name",
        "by_variable",
        "errors",
        "expected",
        "key",
        "kind",
        "literals",
        "names",
        "negated",
        "op",
        "order",
        "ors",
        "shape",
        "strength",
        "tokens",
        "wildcards",
    )

    def __init__(self, order: int) -> None:
        self.order = order
        self.tokens: Tokens = []
        self.key = ""
        self.shape = ""
        self.kind = "other"
        self.op = ""
        self.negated = False
        self.strength: int | None = None
        self.literals: list[str] = []
        self.expected: list[str] = []
        self.by_name = False
        self.by_variable = False
        self.errors: frozenset[str] = frozenset()
        self.names: list[str] = []
        self.ors = 0
        self.ands = 0
        self.wildcards = 0


# ------------------------------------------------------------------------------------------------------
# tokens


def key_of(tokens: "Iterable[Token]") -> str:
    return "\x1f".join(kind + value for kind, value in tokens)


def clean(tokens: "Tokens") -> "Tokens":
    """Without what formatters and wrappers change: trailing commas, `await`, time limits; signs join
    numbers.
    """
    ignored = words("ignored arguments")
    out: Tokens = []
    size = len(tokens)
    i = 0
    while i < size:
        kind, value = tokens[i]
        i += 1
        if kind == WORD:
            if value in ("await", "async"):
                continue
            if value in ignored and i + 1 < size and tokens[i][1] in (":", "=") and tokens[i + 1][0] in "ns":
                i += 2
                continue
        elif kind == NUMBER:
            value = number(value)
            if out and out[-1] == (OPERATOR, "-") and not (len(out) > 1 and _is_operand(out[-2])):
                out.pop()
                value = "-" + value
        elif kind == OPERATOR:
            if value in (")", "]", "}"):
                while out and out[-1] == (OPERATOR, ","):
                    out.pop()
            elif value == ";":
                continue
        elif kind == STRING:
            value = value.replace("\\'", "'").replace('\\"', '"')
        out.append((kind, value))
    while out and out[-1] == (OPERATOR, ","):
        out.pop()
    return out


def _is_operand(token: "Token") -> bool:
    kind, value = token
    return value in (")", "]") or (
        kind in (WORD, NUMBER) and value not in ("return", "in", "is", "and", "or", "assert")
    )


def number(text: str) -> str:
    """A number as one text whatever its notation: `3`, `3.0`, `3_0`, `3L`, `0x3`."""
    plain = text.replace("_", "")
    if len(plain) > 40:
        return plain
    try:
        if plain[:2].lower() == "0x":
            return repr(float(int(plain, 16)))
        return repr(float(plain.rstrip("LlUuFfDdMmn")))
    except (ValueError, OverflowError):
        return plain


def split(tokens: "Tokens") -> "list[Tokens]":
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


def close(tokens: "Tokens", at: int) -> int:
    """The index of the bracket that closes the one at `at`, or the length where none does."""
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


def literals_of(tokens: "Tokens") -> "list[str]":
    """Numbers, strings, true, false and null. An index, a key in brackets and a selector are names, not
    values.
    """
    selectors = words("selectors")
    out: list[str] = []
    size = len(tokens)
    for i in range(size):
        kind, value = tokens[i]
        if kind == WORD:
            constant = _CONSTANTS.get(value)
            if constant:
                out.append(constant)
        elif kind in (NUMBER, STRING):
            if 1 < i < size - 1 and tokens[i - 1][1] == "[" and tokens[i + 1][1] == "]" and _is_operand(tokens[i - 2]):
                continue
            if kind == STRING and i > 1 and tokens[i - 1][1] == "(":
                call = tokens[i - 2][1]
                owner = tokens[i - 4][1] if i > 3 else ""
                if call in selectors or (call in ("get", "find") and (owner == "cy" or value[:1] in ".#[")):
                    continue
            out.append(kind + value)
    return out


def has_names(tokens: "Iterable[Token]") -> bool:
    return any(kind == WORD and value not in _CONSTANTS for kind, value in tokens)


# -------------------------------------------------------------------------------------------------
# recognition


def find(tokens: "Tokens", language: str) -> int:
    """The index of the word that makes the statement an assertion, or -1."""
    first = tokens[0][1]
    declares = words("declares")
    if first in declares and not (first in ("export", "def") and len(tokens) > 8):
        return -1
    size = len(tokens)
    if first == "#" and size > 1 and tokens[1][1] in ("include", "import", "define"):
        return -1
    if language == "shell" and (first == "[" or (first == "test" and size > 2)):
        return 0
    if first == "raise" and size > 1 and tokens[1][1] == "AssertionError":
        return 1
    for i in range(size):
        if tokens[i][0] == WORD and (i == 0 or tokens[i - 1][1] not in declares) and _asserts(tokens, i, language):
            return i
    return -1


def _asserts(tokens: "Tokens", i: int, language: str) -> bool:
    word = tokens[i][1]
    size = len(tokens)
    before = tokens[i - 1][1] if i else ""
    owner = tokens[i - 2][1] if i > 1 and before in (".", "::", "->") else ""
    next_kind, following = tokens[i + 1] if i + 1 < size else ("", "")
    if before == "." and owner == "t" and following == "(":
        if word in words("fails of t"):
            return language == "literals" or word != "Error"
        return language == "js" and word in words("methods of t")
    if word in ("raises", "warns", "deprecated_call"):
        return following == "(" and (before in (".", "with") or i == 0)
    if word in ("fail", "Fail"):
        return following == "(" and (i == 0 or owner in words("owners of fail"))
    if word in ("XCTFail", "flunk"):
        return True
    if word in ("verify", "coVerify", "verifyNoMoreInteractions", "verifyNoInteractions"):
        return i == 0 and following in ("(", "{", "{}")
    if word == "require":  # testify; `require("x")` is an import
        return following == "." and i + 2 < size and tokens[i + 2][1][:1].isupper()
    if language == "hash":
        if i == 0 and word in words("perl") and following == "(":
            return True
        if before == "@" and word.startswith("test"):
            return True
    if language == "lisp" and word == "is":
        return before == "("
    if not (_NAMED.fullmatch(word) or _ANY_CASE_ASSERT.fullmatch(word)) or _NO_ASSERTION.fullmatch(word):
        return False
    if following in ("(", "!", ".", "::", "->") or (following == "<" and language == "js"):
        return True
    if _SUFFIXED.match(word):
        return bool(next_kind) or before in (".", ")")
    starts = i == 0 or before in (":", ";", "{", "then", "do", "@", "#", "?")
    return starts and (
        next_kind in (WORD, STRING, NUMBER, BLOCK) or following in ("[", "{", "-", "$", "^", "%", "~", ":", "@")
    )


def is_failure(compact: str) -> bool:
    """Whether a statement only fails: `t.Fatal(..)`, `self.fail(..)`; what is asserted is the condition
    above it.
    """
    return bool(_FAILS.match(compact))


def kind_of(name: str) -> "tuple[str, bool]":
    """The kind of a matcher by its name, and whether the name negates it; `("", False)` where it is not
    known.
    """
    plain = name.lower().replace("_", "").replace(".", "")
    kind = _kinds.get(plain)
    if kind:
        return kind, False
    negated = False
    stem = plain
    for _ in range(5):
        found = _PREFIX.match(stem)
        if not found:
            break
        negated = negated != (found.group() in _NEGATING_PREFIX)
        stem = stem[found.end() :]
        kind = _kinds.get(stem)
        if kind:
            return kind, negated
    if stem.endswith("with") and _kinds.get(stem[:-4]) == "raises":
        return "raises", negated
    if plain.endswith(("equal", "equals")):  # `assert_frame_equal`, `assertQuerySetEqual`
        return "eq", negated != ("not" in stem)
    return "", negated


# ---------------------------------------------------------------------------------------------------
# judgement


def judge(raw: "Tokens", order: int, language: str) -> Assertion:
    """What the assertion in these tokens asks. `order`: the place of its statement, kept for the caller."""
    tokens = clean(raw)
    out = Assertion(order)
    at = max(0, find(tokens, language)) if tokens else 0
    word = tokens[at][1].lower() if tokens else ""
    level, group = _outermost(tokens, at)
    bare = _is_bare(tokens, at, word, language)
    matcher = at
    if bare:
        kind, negated = ("false" if word == "refute" else "true"), False
        tokens, inner = _bare_body(tokens, at, group, language)
    else:
        kind, negated, matcher = _matcher(tokens, at, level, group)
        inner = (group[0] + 1, group[1]) if group[0] >= 0 else (at + 1, len(tokens))
        tokens, inner = _without_messages(tokens, at, matcher, group, kind, inner)
    if kind == "raises" and matcher <= group[0]:
        tokens, inner = _without_call(tokens, group, inner)
    out.tokens = tokens
    out.key = key_of(tokens)

    expected: Tokens = []
    chained = matcher > max(at, group[0]) or bool(_SUFFIXED.match(word))
    tail = tokens[matcher + 1 :]
    if kind == "eq" and chained and not has_names(tail) and literals_of(tail) in (["true"], ["false"]):
        kind = literals_of(tail)[0]  # `toBe(true)`
    truth = kind
    compared = -1
    if kind in ("true", "false"):
        compared, op = _comparison(tokens, inner, language)
    elif kind == "eq" and chained and any(t[1] in _COMPARES for t in tail):
        compared, op = _comparison(tokens, (matcher + 1, len(tokens)), language)  # `to be > 3`
    if compared >= 0:
        negated = negated != (kind == "false")
        kind = op
        left, right = tokens[inner[0] : compared], tokens[compared + 1 : max(inner[1], compared + 1)]
        expected = left if has_names(right) and not has_names(left) else right
        if kind == "eq" and any(k == WORD and kind_of(v)[0] == "approx" for k, v in expected):
            kind = "approx"  # `x == pytest.approx(0.3)`
    elif kind in ("true", "false"):
        inside = tokens[inner[0] : inner[1]]
        negated = negated != (kind == "false")
        if inside and inside[0][1] in ("!", "not"):
            negated = not negated
        kind = _kind_of_call(inside) or "true"
    elif chained:
        expected = tail
    elif kind:
        arguments = split(tokens[inner[0] : inner[1]])
        if arguments and arguments[0] in ([(WORD, "t")], [(WORD, "self")]):
            arguments = arguments[1:]
        pure = [argument for argument in arguments if not has_names(argument)]
        expected = [token for argument in pure or arguments[1:2] for token in argument]
        if kind == "eq" and len(expected) == 1 and literals_of(expected) in (["true"], ["false"]):
            kind = literals_of(expected)[0]  # `assertEqual(x, True)`

    literals, wanted = literals_of(tokens), literals_of(expected)
    if kind not in ("true", "false") and chained and truth in literals:
        literals.remove(truth)  # `expect(x == 3).toBe(true)`
    if kind in ("true", "false") and compared < 0:
        if kind in literals and (chained or not bare) and has_names(tokens[inner[0] : inner[1]]):
            literals.remove(kind)
        wanted = []
    if kind in _COMES_TO:
        kind, negates, value = _COMES_TO[kind]
        negated = negated != negates
        if value and not (matcher < len(tokens) and tokens[matcher][1] in _CONSTANTS):
            literals.append(value)
            wanted = [*wanted, value]
    elif kind in _ORDERS:
        out.op = _OPPOSITE[kind] if negated else kind
        kind, negated = "cmp", False
    out.kind = kind or "other"
    out.negated = negated
    out.literals = literals
    out.expected = wanted
    out.by_name = has_names(expected) and not wanted
    asked = expected[1:-1] if len(expected) == 3 and expected[0][1] == "(" else expected
    out.by_variable = out.by_name and len(asked) == 1 and asked[0][1].islower()
    _count_words(out, tokens, at, matcher)
    _set_strength(out)
    if (bare or group[0] >= 0) and _always_holds(out, bare):
        out.kind, out.strength = "trivial", 0
    return out


def _kind_of_call(tokens: "Tokens") -> str:
    """What a condition asks that is a call: `isinstance(x, int)`, `text.startswith("a")`, `reflect.DeepEqual(a, b)`."""
    for kind, value in tokens:
        if kind == WORD and value in words("asking calls"):
            return "type" if value in ("isinstance", "issubclass") else "contain"
        if kind == WORD and value in words("equality calls"):
            return "eq"
    return ""


def judge_condition(head: Statement, order: int) -> Assertion:
    """What `if got != 3 { t.Errorf(..) }` asks: the opposite of its condition."""
    tokens = [token for token in clean_condition(head.tokens) if token[0] != BLOCK]
    out = judge([(WORD, "assert"), *tokens], order, "python")
    out.key = "if " + out.key
    if head.tokens[0][1] != "unless":
        if out.kind == "cmp":
            out.op = _OPPOSITE.get(out.op, "")
        elif out.kind != "trivial":
            out.negated = not out.negated
        out.ors, out.ands = out.ands, out.ors
        if (WORD, "Diff") in head.tokens and STRING in out.expected:  # `if diff := cmp.Diff(want, got); diff != ""`
            out.literals.remove(STRING)
            out.expected = []
            out.names = [value for kind, value in head.tokens if kind == WORD]
        _set_strength(out)
    out.shape = "|".join((out.kind, str(out.negated), out.op, *(v for k, v in tokens if k == OPERATOR)))
    return out


def clean_condition(tokens: "Tokens") -> "Tokens":
    """The condition of an `if`: without the word, and without what Go sets before it."""
    for i in range(len(tokens) - 1, 0, -1):
        if tokens[i][1] == ";":
            tokens = tokens[i:]
            break
    tokens = clean(tokens[1:])
    if tokens and tokens[-1][1] == ":":
        tokens.pop()
    return tokens


def _set_strength(out: Assertion) -> None:
    if out.kind == "trivial":
        out.strength = 0
    elif out.kind == "eq" and out.negated:
        out.strength = 2
    else:
        out.strength = _STRENGTH.get(out.kind)


def _outermost(tokens: "Tokens", at: int) -> "tuple[list[int], tuple[int, int]]":
    """The words of the outermost level after the assertion word, and its first group in parentheses."""
    level: list[int] = []
    group = (-1, -1)
    i = at + 1
    while i < len(tokens):
        kind, value = tokens[i]
        if kind == OPERATOR and value in ("(", "[", "{"):
            end = close(tokens, i)
            if group[0] < 0 and value == "(":
                group = (i, end)
            i = end
        elif kind == WORD:
            level.append(i)
        i += 1
    return level, group


def _is_bare(tokens: "Tokens", at: int, word: str, language: str) -> bool:
    """`assert x == 3`, `assert!(x == 3)`, `CHECK(x == 3)`: the condition is an expression of the language."""
    if at + 1 < len(tokens) and tokens[at + 1][1] in (".", "::", "->"):
        return False
    before = tokens[at - 1][1] if at else ""
    return (
        word in words("bare")
        or (word == "expect" and before == "#")
        or (language == "shell" and at == 0)
        or (language == "hash" and before == "@")
    )


def _bare_body(tokens: "Tokens", at: int, group: "tuple[int, int]", language: str) -> "tuple[Tokens, tuple[int, int]]":
    """The condition alone, without the message after it."""
    opening = at + 2 if tokens[at + 1 : at + 2] == [(OPERATOR, "!")] and group[0] == at + 2 else at + 1
    body = tokens[group[0] + 1 : group[1]] if group[0] == opening and group[1] >= len(tokens) - 1 else tokens[at + 1 :]
    if language != "shell":
        body = (split(body) or [[]])[0]
    out = [*tokens[: at + 1], *body]
    return out, (at + 1, len(out))


def _matcher(tokens: "Tokens", at: int, level: "list[int]", group: "tuple[int, int]") -> "tuple[str, bool, int]":
    """Kind, negation and place of the matcher: the last one that is known of the chain, else the word
    itself.
    """
    word = tokens[at][1]
    lower = word.lower()
    matcher = at
    kind, negated = ("", False) if lower in words("openers") else kind_of(word)
    for i in level:
        value = tokens[i][1]
        if value in words("negations"):
            negated = not negated
        elif value in words("modifiers"):
            if not kind and value in ("be", "a", "an"):
                kind, matcher = ("eq" if value == "be" else "type"), i
        else:
            found, flips = kind_of(value)
            if found:
                kind, matcher = found, i
                negated = negated != flips
    if kind or group[0] < 0:
        return kind, negated, matcher
    arguments = split(tokens[group[0] + 1 : group[1]])
    pieces: list[str] = []
    if lower.startswith("should") and arguments and arguments[0][0][0] == STRING:  # Cypress: should("have.text", ..)
        pieces = arguments[0][0][1].split(".")
    elif len(arguments) > 1:  # Hamcrest, Dart: assertThat(x, is(3))
        pieces = [value for k, value in arguments[1][:6] if k == WORD]
    for piece in pieces:
        if piece in words("negations"):
            negated = not negated
            continue
        found, flips = kind_of(piece)
        if found:
            kind = found
            negated = negated != flips
    if not kind and lower == "expect" and len(arguments) == 2:
        kind = "eq"
    elif not kind and (lower == "assertthat" or (level[:1] and tokens[level[0]][1] == "That")):
        kind = "true"
    return kind, negated, matcher


def _comparison(tokens: "Tokens", span: "tuple[int, int]", language: str) -> "tuple[int, str]":
    """The outermost comparison in the span: its place and kind, `(-1, "")` where there is none."""
    best, best_depth, best_kind = (
        -1,
        2,
        "",
    )  # a comparison deeper than one bracket is an argument, not the question
    depth = 0
    for i in range(span[0], min(span[1], len(tokens))):
        kind, value = tokens[i]
        found = ""
        if kind == OPERATOR:
            if value in ("(", "[", "{"):
                depth += 1
            elif value in (")", "]", "}"):
                depth -= 1
            elif depth < best_depth:
                found = "eq" if value == "=" and language == "shell" else _COMPARES.get(value, "")
        elif kind == WORD and depth < best_depth:
            before = tokens[i - 1][1] if i > span[0] else ""
            if value == "in" and before and not any(t[1] == "for" for t in tokens[max(span[0], i - 8) : i]):
                found = "not contain" if before == "not" else "contain"
            elif value == "is" and before not in ("", ".", "->"):
                found = "ne" if i + 1 < len(tokens) and tokens[i + 1][1] == "not" else "eq"
            elif language == "shell" and before == "-":
                found = _SHELL_COMPARES.get(value, "")
        if found and depth < best_depth:
            best, best_depth, best_kind = i, depth, found
    if best < 0:
        return -1, ""
    opening = tokens[span[0]]
    if best_depth == 1 and opening[0] == WORD and opening[1] != "not":
        return -1, ""  # `assert all(x == 3 for ..)`: what a call makes of it is not known
    if opening[1] in ("!", "not") and (best_depth == 1 or opening[1] == "not"):
        best_kind = _OPPOSITE.get(best_kind, best_kind)
    return best, best_kind


def _without_messages(
    tokens: "Tokens", at: int, matcher: int, group: "tuple[int, int]", kind: str, inner: "tuple[int, int]"
) -> "tuple[Tokens, tuple[int, int]]":
    """The assertion without the text that is shown when it fails."""
    if group[0] < 0 or group[1] >= len(tokens):
        return tokens, inner
    arguments = split(tokens[group[0] + 1 : group[1]])
    own = matcher == at or matcher < group[0]
    if (tokens[at][1] == "expect" and not own) or kind in ("true", "false", "null", "exists", "empty"):
        arity = 1
    elif own and kind == "approx":
        arity = 3
    elif own and kind in ("eq", "ne", "contain", "not contain", "type", *_ORDERS):
        arity = 2
    else:
        return tokens, inner
    first = arguments[0] if arguments else []
    with_t = first in ([(WORD, "t")], [(WORD, "self")])
    arity += with_t
    kept = arguments
    for i in range(arity, len(arguments)):
        if arguments[i][0][0] == STRING:
            kept = arguments[:i]
            break
    if len(arguments) == len(kept) == arity + 1 and len(first) == 1 and first[0][0] == STRING and not with_t:
        kept = kept[1:]  # JUnit 4 and PHPUnit's elders put it first
    if len(kept) == len(arguments):
        return tokens, inner
    joined: Tokens = []
    for argument in kept:
        if joined:
            joined.append((OPERATOR, ","))
        joined.extend(argument)
    return [*tokens[: group[0] + 1], *joined, *tokens[group[1] :]], (group[0] + 1, group[0] + 1 + len(joined))


def _without_call(
    tokens: "Tokens", group: "tuple[int, int]", inner: "tuple[int, int]"
) -> "tuple[Tokens, tuple[int, int]]":
    """`assertRaises(ValueError, f, "x")` without the call: what is asked is the error."""
    arguments = split(tokens[group[0] + 1 : group[1]])
    first = arguments[0] if arguments else []
    if not first or not first[0][1][:1].isupper() or len(first) > 5:
        return tokens, inner
    texts = 0
    for argument in arguments[1:]:
        if argument[0][0] != STRING and not (len(argument) > 2 and argument[1][1] == "="):
            break
        texts += 1
    kept: Tokens = []
    for argument in arguments[: 1 + texts]:
        kept += [(OPERATOR, ","), *argument] if kept else argument
    out = [*tokens[: group[0] + 1], *kept, *tokens[group[1] :]]
    return out, (group[0] + 1, group[0] + 1 + len(kept))


def _count_words(out: Assertion, tokens: "Tokens", at: int, matcher: int) -> None:
    wildcards = words("wildcards")
    own = {tokens[i][1] for i in (at, matcher) if i < len(tokens)}
    for i in range(len(tokens)):
        kind, value = tokens[i]
        before = tokens[i - 1][1] if i else ""
        if value in ("or", "||") and before != "." and kind != STRING:
            out.ors += 1
        elif value in ("and", "&&") and before != "." and kind != STRING:
            out.ands += 1
        elif kind == WORD and value not in own and value not in _CONSTANTS:
            out.names.append(value)
            if value in wildcards and (before == "." or value not in ("any", "anything", "isA")):
                out.wildcards += 1
            if out.kind == "raises" and i > at and value[:1].isupper():
                out.errors = out.errors | {value}
    out.shape = "|".join(
        (
            out.kind,
            str(out.negated),
            out.op,
            *("" if kind == WORD else value if kind in (OPERATOR, BLOCK) else "#" for kind, value in tokens),
        )
    )


def _always_holds(out: Assertion, bare: bool) -> bool:
    """`assert True`, `expect(true).toBe(true)`, `assertEqual(1, 1)`."""
    if out.negated or out.kind not in ("truth", "eq") or out.errors:
        return False
    if any(name not in words("of no subject") for name in out.names):
        return False
    values = literals_of(out.tokens)
    if not values:
        return False
    if out.kind == "eq":
        return len(values) == 2 and values[0] == values[1]
    return all(value == "true" for value in values) or (bare and values[0] not in ("false", "none"))


# --------------------------------------------------------------------------------------------------
# comparison


def within(part: "Iterable[str]", whole: "Iterable[str]") -> bool:
    """Whether all of `part` is in `whole`, repeats counted."""
    have: dict[str, int] = {}
    for value in whole:
        have[value] = have.get(value, 0) + 1
    for value in part:
        if not have.get(value, 0):
            return False
        have[value] -= 1
    return True


def holds(old: Assertion, new: Assertion) -> bool:
    """Whether `new` asks at least what `old` asked; where that cannot be told, of the two answers the quiet
    one.
    """
    if old.strength == 0:
        return True
    if new.strength == 0 or new.ors > old.ors or new.wildcards > old.wildcards:
        return False
    if old.kind == "eq" and old.expected == ["none"] and not old.negated and new.kind == "contain" and new.negated:
        return all(value[1:] in old.names for value in new.literals)  # `"x" in it` is false: `it.x` is not there
    same = sorted(old.literals) == sorted(new.literals)
    if old.kind == "cmp" == new.kind:
        return _is_bound(old, new, same)
    if old.strength is not None and new.strength is not None:
        if old.kind == "eq" and new.kind == "approx" and not old.negated:
            return _is_close(old, new)
        if new.strength < old.strength and not (same and old.kind == "approx"):
            return False
        if old.kind == new.kind and old.negated != new.negated:  # `is not None`, then `== 5`
            return old.kind == "eq" and old.negated and old.expected == ["none"] and "none" not in new.expected
        if old.kind != new.kind and old.strength == new.strength:
            return False
        if old.kind == "truth" and new.kind == "eq" and not _same_truth(old, new):
            return False
    if old.kind == "raises" and old.errors != new.errors:
        narrower = bool(new.errors) and old.errors <= words("broad errors")
        if not narrower and not old.errors < new.errors:
            return False
    if new.ands < old.ands and not set(old.names) <= set(new.names):
        return False
    if same:
        if old.shape == new.shape:
            return not _is_other_member(old.tokens, new.tokens)
        return (bool(old.literals) and old.literals != ["none"]) or _shares_subject(old, new)
    if within(old.literals, new.literals):
        if old.kind != new.kind:
            return bool(old.literals) or _shares_subject(old, new)
        if sorted(old.expected) == sorted(new.expected):  # an argument more for the call
            return bool(old.expected) or _shares_subject(old, new)
        if old.kind == "raises" or old.wildcards > new.wildcards:
            return True
        if old.kind != "eq":
            return _shares_subject(old, new)
        return old.by_variable or _adds_keys_only(old, new)
    if old.kind == "approx" == new.kind:
        return _is_close(old, new)
    if old.kind == new.kind and old.expected and new.by_name:  # a literal gave way to a named constant
        return any(name.isupper() and len(name) > 1 for name in new.names) and within(new.literals, old.literals)
    return False


def _adds_keys_only(old: Assertion, new: Assertion) -> bool:
    """`{a: 1}` became `{a: 1, b: 2}`: all that was asked still is."""
    if not old.expected or not within((value for _, value in old.tokens), (value for _, value in new.tokens)):
        return False
    have: dict[str, int] = {}
    for literal in old.literals:
        have[literal] = have.get(literal, 0) + 1
    tokens = new.tokens
    for i in range(1, len(tokens) - 1):
        kind, value = tokens[i]
        if kind not in (NUMBER, STRING):
            continue
        literal = kind + value
        if have.get(literal, 0):
            have[literal] -= 1
        elif tokens[i - 1][1] not in (":", "=", "=>") and tokens[i + 1][1] not in (":", "=>"):
            return False
    return True


def _shares_subject(old: Assertion, new: Assertion) -> bool:
    ours, theirs = set(old.names) - words("common words"), set(new.names) - words("common words")
    return not ours or not theirs or bool(ours & theirs)


def _same_truth(old: Assertion, new: Assertion) -> bool:
    """Whether `x == 5`, `x is None` or `x is not None` still means what `x` or `not x` meant."""
    void = new.expected in _VOID
    if new.negated:
        return void and not old.negated
    return void == old.negated


def _numbers(literals: "list[str]") -> "list[float]":
    out = []
    for literal in literals:
        if literal[0] == NUMBER:
            try:
                out.append(float(literal[1:]))
            except ValueError:
                continue
    return out


def _is_bound(old: Assertion, new: Assertion, same: bool) -> bool:
    """Whether an order comparison is the same or a stricter one."""
    if old.op[:1] != new.op[:1]:
        return False
    if same:
        return old.op == new.op or (old.op, new.op) in _STRICTER
    if old.by_name:
        return bool(set(old.names) & set(new.names)) and not new.by_name
    if len(old.expected) != 1 or len(new.expected) != 1 or old.shape != new.shape:
        return False
    before, after = _numbers(old.expected), _numbers(new.expected)
    if len(before) != 1 or len(after) != 1 or _has_minus(old) or _has_minus(new):
        return False
    return after[0] >= before[0] if old.op[:1] == "g" else after[0] <= before[0]


def _has_minus(assertion: Assertion) -> bool:
    """`> length - 200`: a greater number is a lower bound."""
    return (OPERATOR, "-") in assertion.tokens


def _is_close(old: Assertion, new: Assertion) -> bool:
    """Whether an approximation still pins down the value that was asked for."""
    in_digits = any("close" in v.lower() or "almost" in v.lower() or v == "places" for k, v in new.tokens if k == WORD)
    if old.kind == "approx":
        before, after = _numbers(old.literals), _numbers(new.literals)
        changed = [(x, y) for x, y in zip(before, after, strict=False) if x != y]
        if len(before) != len(after) or len(changed) != 1 or len(set(old.literals) - set(new.literals)) > 1:
            return within(old.literals, new.literals)
        x, y = changed[0]
        if in_digits and x == int(x):
            return y > x and within([NUMBER + repr(x)], old.literals[1:])
        return y < x <= 1 and old.expected[:1] == new.expected[:1]
    if not within(old.literals, new.literals):
        return False
    extra = list(new.literals)
    for value in old.literals:
        extra.remove(value)
    size = max((abs(value) for value in _numbers(old.expected)), default=0.0)
    for margin in _numbers(extra):
        if in_digits and margin == int(margin):
            if margin <= 0:
                return False
        elif abs(margin) >= max(_HUGE_TOLERANCE * size, 1e-3):
            return False
    return True


def _is_other_member(before: "Tokens", after: "Tokens") -> bool:
    """`Status.OK` became `Status.ERROR`: the same type, another of its values."""
    for i in range(2, min(len(before), len(after))):
        old, new = before[i], after[i]
        if old != new and i > 3 and before[i - 4] == after[i - 4] == (WORD, "status") and before[i - 1][1] == ".":
            return True  # Spring: `status().isOk()`
        if (
            old != new
            and old[0] == new[0] == WORD
            and before[i - 1][1] in (".", "::")
            and before[i - 2] == after[i - 2]
            and before[i - 2][1][:1].isupper()
            and old[1][:1].isupper()
            and new[1][:1].isupper()
            and (i + 1 >= len(after) or after[i + 1][1] != "(")
        ):
            return True
    return False
