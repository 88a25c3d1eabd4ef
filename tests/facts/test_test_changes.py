"""What an edit did to a test."""

import gzip
import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspin.facts.roles import file_role, is_test_like
from unspin.facts.test_changes import TestChange, changes_by_sed, compare, defined_names, removed_names, still_lost

VECTORS = Path(__file__).with_name("test_change_vectors.txt")


def vectors() -> list[tuple[str, str, str, str, str]]:
    out = []
    for block in VECTORS.read_text(encoding="utf-8").split("\n## ")[1:]:
        head, _, body = block.partition("\n")
        verdict, path, what = (part.strip() for part in head.split("|", 2))
        before, _, after = body.partition("=====\n")
        out.append((verdict, path, what, before, after.rstrip("\n") + "\n"))
    return out


PIECES = (
    *("assert", "expect(", "(", ")", "[", "]", "{", "}", '"', "'", "`", "${", "\\", "== ", "3", "x", ".", ",", "toBe("),
    *("#", "//", "/*", "*/", '"""', "try:", "except:", "pass", "it('a', () => {", "def test_a():", ";", "if ", "/"),
    *(
        "t.Errorf(",
        "@",
        "skip",
        "not ",
        "or ",
        "want: ",
        "parametrize(",
        "|",
        "<",
        "é",
        "\n",
        " ",
        "    ",
        "\r",
        "\x00",
    ),
)
pieces = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)

ALL = vectors()
SIDES = [(path, text) for _, path, _, before, after in ALL for text in (before, after)]


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [pytest.param(p, b, a, id=f"{p}: {w}") for v, p, w, b, a in ALL if v == "quiet"],
)
def test_an_edit_that_asks_the_same_is_quiet(path: str, before: str, after: str) -> None:
    assert not compare(before, after, path).weakens(), compare(before, after, path)


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [pytest.param(p, b, a, id=f"{p}: {w}") for v, p, w, b, a in ALL if v == "fires"],
)
def test_an_edit_that_asks_less_or_otherwise_fires(path: str, before: str, after: str) -> None:
    assert compare(before, after, path).weakens()


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [pytest.param(p, b, a, id=f"{p}: {w}") for v, p, w, b, a in ALL if v == "quiet"],
)
def test_without_a_file_name_the_quiet_ones_stay_quiet(path: str, before: str, after: str) -> None:
    assert path
    assert not compare(before, after).weakens() or path.endswith((".snap", ".feature", ".exs", ".rb"))


def test_each_kind_of_change_is_counted_apart() -> None:
    before = "def test_a():\n    x = f()\n    assert x == 3\n    assert x > 1\n\n\n"
    before += "def test_b():\n    assert g() == 4\n"
    removed = compare(before, before.replace("    assert x > 1\n", ""), "test_a.py")
    assert (removed.removed_assertions, removed.altered_assertions) == (1, 0)
    altered = compare(before, before.replace("x == 3", "x == 5"), "test_a.py")
    assert (altered.removed_assertions, altered.altered_assertions) == (0, 1)
    skipped = compare(before, before.replace("def test_b", "@pytest.mark.skip\ndef test_b"), "test_a.py")
    assert (skipped.added_skips, skipped.removed_assertions, skipped.deleted_tests) == (1, 0, 0)
    deleted = compare(before, before.partition("\n\n\ndef test_b")[0] + "\n", "test_a.py")
    assert (deleted.deleted_tests, deleted.removed_assertions) == (1, 1)
    added = compare(before, before + "    assert g() != 9\n", "test_a.py")
    assert added == TestChange(added_assertions=1)


def test_a_test_in_a_comment_is_a_skip_and_not_a_deletion() -> None:
    change = compare(
        "def test_a():\n    run()\n\n\ndef test_b():\n    go()\n",
        "def test_a():\n    run()\n\n\n# def test_b():\n#     go()\n",
        "test_a.py",
    )
    assert (change.added_skips, change.deleted_tests) == (1, 0)


@pytest.mark.parametrize("body", ["pass", "...", "return", "assert True", "assert 1 == 1", "pass  # later"])
@pytest.mark.parametrize("more", ["", "\n\ndef test_b():\n    assert g() == 4\n"])
def test_an_assertion_whose_test_still_stands_is_removed_and_not_its_test(body: str, more: str) -> None:
    before = "def test_a():\n    assert f() == 3\n" + more
    change = compare(before, before.replace("assert f() == 3", body), "test_a.py")
    assert (change.removed_assertions, change.altered_assertions, change.deleted_tests) == (1, 0, 0)


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.test.ts", "it('a', () => {\n  expect(f()).toBe(1);\n});\n", "it('a', () => {\n});\n"),
        ("a.test.ts", "it('a', () => {\n  expect(f()).toBe(1);\n});\n", "it('a', () => {});\n"),
        ("tests/a.rs", "#[test]\nfn a() {\n    assert_eq!(f(), 3);\n}\n", "#[test]\nfn a() {}\n"),
        ("test_a.py", "def test_a():\n    run()\n", "def test_a():\n    pass\n"),
    ],
)
def test_an_emptied_test_asks_one_thing_less(path: str, before: str, after: str) -> None:
    change = compare(before, after, path)
    assert (change.removed_assertions, change.deleted_tests) == (1, 0)


def lost(path: str, *texts: str) -> list[int]:
    """What is still lost after all the edits that lead from the first text to the last one."""
    changes = [compare(a, b, path) for a, b in itertools.pairwise(texts)]
    return still_lost([(change.lost, change.came) for change in changes])


ONE = "def test_a():\n    assert f(1) == 10\n    assert g() > 3\n\n\ndef test_b():\n    assert h() == 'x'\n"


@pytest.mark.parametrize(
    ("old", "new", "counts"),
    [
        ("    assert f(1) == 10\n", "", [1, 0, 0, 0]),
        ("f(1) == 10", "f(1) == 11", [0, 1, 0, 0]),
        ("assert h() == 'x'", "pass", [1, 0, 0, 0]),
        ("def test_b", "@pytest.mark.skip\ndef test_b", [0, 0, 1, 0]),
        ("def test_b():\n    assert", "# def test_b():\n#   assert", [1, 0, 1, 0]),
        ("\n\n\ndef test_b():\n    assert h() == 'x'", "", [1, 0, 0, 1]),
    ],
)
def test_what_a_later_edit_brings_back_is_not_lost(old: str, new: str, counts: list[int]) -> None:
    weaker = ONE.replace(old, new)
    assert lost("test_a.py", ONE, weaker) == counts
    assert lost("test_a.py", ONE, weaker, ONE) == [0, 0, 0, 0]
    assert lost("test_a.py", ONE, weaker, ONE, weaker) == counts
    stricter = ONE.replace("g() > 3", "g() > 4")
    assert lost("test_a.py", ONE, weaker, stricter) == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.test.ts", "const want = 3;\n", "const want = 4;\n"),
        ("test_a.py", "    ('Mary', 1),\n", "    ('Mary', 0),\n"),
        ("a.snap", "exports[`a 1`] = `3`;\n", "exports[`a 1`] = `4`;\n"),
        ("a.snap", "exports[`a 1`] = `3`;\n", ""),
        ("a.feature", "Scenario: a\n Then it is 3\nScenario: b\n Then it is 4\n", "Scenario: a\n Then it is 3\n"),
        ("a.feature", "Scenario: a\n Then it is 3\n", "@skip\nScenario: a\n Then it is 3\n"),
        (
            "test_a.py",
            "try:\n    assert f() == 3\nfinally:\n    end()\n",
            "try:\n    assert f() == 3\nexcept AssertionError:\n    pass\n",
        ),
    ],
)
def test_each_kind_of_loss_can_be_brought_back(path: str, before: str, after: str) -> None:
    change = compare(before, after, path)
    assert sum(lost(path, before, after)) == len(change.lost) > 0
    assert lost(path, before, after, before) == [0, 0, 0, 0]


HEARD_AND_SWALLOWED = [
    pytest.param(
        "a.test.ts",
        "it('a', () => {\n  expect(f()).toBe(3);\n});\n",
        "try {\n  expect(f()).toBe(3);\n} catch (e) {}\n",
        id="catch",
    ),
    pytest.param(
        "test_a.py",
        "def test_a():\n    assert f() == 3\n",
        "try:\n    assert f() == 3\nexcept AssertionError:\n    pass\n",
        id="except",
    ),
]


@pytest.mark.parametrize(("path", "heard", "swallowed"), HEARD_AND_SWALLOWED)
def test_a_swallowed_copy_beside_an_assertion_that_stays_weakens_nothing(path: str, heard: str, swallowed: str) -> None:
    for after in (heard + swallowed, swallowed + heard):
        assert compare(heard, after, path) == TestChange()
        assert not compare(after, heard, path).weakens()


@pytest.mark.parametrize(("path", "heard", "swallowed"), HEARD_AND_SWALLOWED)
def test_an_assertion_that_is_swallowed_is_altered_also_beside_a_copy(path: str, heard: str, swallowed: str) -> None:
    altered = TestChange(altered_assertions=1)
    other = heard.replace("'a'", "'b'").replace("test_a", "test_b")
    assert compare(heard + other, heard + swallowed, path).altered_assertions == 1
    assert compare(other + swallowed, swallowed + swallowed, path).altered_assertions == 1
    assert compare(heard.splitlines()[1].strip(), swallowed, path) == altered


@pytest.mark.parametrize(("path", "heard", "swallowed"), HEARD_AND_SWALLOWED)
def test_an_assertion_whose_swallowed_copy_stays_is_lost_however_many_edits_it_takes(
    path: str, heard: str, swallowed: str
) -> None:
    assert sum(lost(path, heard, heard + swallowed)) == 0
    assert lost(path, heard, heard + swallowed, swallowed)[:2] in ([1, 0], [0, 1])
    assert lost(path, heard, swallowed + heard, heard, swallowed)[:2] == [0, 1]
    assert lost(path, heard, swallowed, "", heard) == [0, 0, 0, 0]


def test_an_assertion_that_moves_in_two_edits_is_not_lost() -> None:
    both = ONE.replace("    assert h()", "    assert f(1) == 10\n    assert h()")
    assert lost("test_a.py", ONE, both, both.replace("    assert f(1) == 10\n", "", 1)) == [0, 0, 0, 0]


def test_what_was_lost_is_kept_short_and_a_long_text_that_is_put_back_is_whole() -> None:
    text = "".join(f"def test_{i}():\n    assert f({i}) == {i}\n\n" for i in range(300))
    change = compare(text, "", "test_a.py")
    assert len(change.lost) == 48
    back = compare("", text, "test_a.py")
    assert len(back.came) <= 8 * 48
    assert still_lost([(change.lost, change.came), (back.lost, back.came)]) == [0, 0, 0, 0]


@pytest.mark.parametrize("path", ["test_a.py", "a.test.ts", "a.snap", "a.feature", "a_spec.rb"])
@given(before=pieces, after=pieces)
def test_counts_and_what_is_lost_agree_and_cancel(path: str, before: str, after: str) -> None:
    change, back = compare(before, after, path), compare(after, before, path)
    counts = [change.removed_assertions, change.altered_assertions, change.added_skips, change.deleted_tests]
    assert len(change.lost) == min(sum(counts), 48)
    marks = {mark[1:] for mark in change.lost}
    assert marks <= set(back.came)


def test_the_names_in_what_is_lost_are_told() -> None:
    change = compare("assert old_total(cart) == 3\nassert x == 1\n", "assert x == 1\n", "test_a.py")
    assert {"old_total", "cart"} <= set(change.names)
    assert "x" not in change.names


def test_a_long_list_of_names_is_cut() -> None:
    before = "".join(f"assert name_{i} == {i}\n" for i in range(200))
    assert len(compare(before, "", "test_a.py").names) == 40


def test_whole_files_are_compared_as_edits_are() -> None:
    head = "import pytest\n\n\ndef helper():\n    return 1\n\n\n"
    rest = "".join(f"def test_{i}():\n    assert f({i}) == {i * i}\n\n\n" for i in range(50))
    assert compare(head + rest, head + rest.replace("== 49\n", "== 50\n"), "test_a.py").altered_assertions == 1
    assert not compare(head + rest, rest + head, "test_a.py").weakens()


@pytest.mark.parametrize("path", ["test_a.py", "a.test.ts", "a_test.go", "tests/a.rs", "ATest.java", "a.bats", ""])
@given(before=st.text(), after=st.text())
def test_any_two_texts_can_be_compared(path: str, before: str, after: str) -> None:
    compare(before, after, path)


@pytest.mark.parametrize(
    "path", ["test_a.py", "a.test.ts", "a_test.go", "a_spec.rb", "a.bats", "a.snap", "a.feature", ""]
)
@given(before=pieces, after=pieces)
def test_any_two_snippets_can_be_compared(path: str, before: str, after: str) -> None:
    compare(before, after, path)


@given(text=pieces, path=st.sampled_from(["test_a.py", "a.test.ts", "a_test.go", ""]))
def test_nothing_has_changed_in_what_is_the_same(text: str, path: str) -> None:
    assert compare(text, text, path) == TestChange()
    # the same again past the short cut: a blank line more changes nothing
    assert not compare(text + "\n", text + "\n\n", path).weakens()


@given(
    side=st.sampled_from(SIDES),
    indent=st.sampled_from(["", "  ", "\t"]),
    end=st.sampled_from(["\n", "\r\n", "\n\n", "  \n"]),
)
def test_white_space_weakens_nothing(side: tuple[str, str], indent: str, end: str) -> None:
    path, text = side
    if "`" in text or '"""' in text or "'''" in text:
        return  # white space in strings is text
    other = end.join(indent + line if line else line for line in text.split("\n"))
    assert not compare(text, other, path).weakens()


@given(side=st.sampled_from(SIDES), more=st.sampled_from(SIDES), first=st.booleans())
def test_what_is_only_added_to_weakens_nothing(side: tuple[str, str], more: tuple[str, str], first: bool) -> None:
    path, text = side
    if more[0].rpartition(".")[2] != path.rpartition(".")[2] or path.endswith((".py", ".snap")):
        return
    if any(
        word in more[1] for word in ("skip", "only", "xit", "xdescribe", "Skip", "Disabled", "ignore", "todo", "/*")
    ):
        return
    change = compare(text, more[1] + "\n" + text if first else text + "\n" + more[1], path)
    assert not change.removed_assertions
    assert not change.altered_assertions
    assert not change.deleted_tests


def test_a_new_test_behind_the_others_weakens_nothing() -> None:
    before = "def test_a():\n    assert f() == 1\n"
    after = (
        before
        + "\n\n@pytest.mark.parametrize('n', [1, 2])\n"
        + "def test_b(n):\n    expected = n\n    assert g(n) == expected\n"
    )
    assert compare(before, after, "test_a.py") == TestChange(added_assertions=1)


@pytest.mark.parametrize(
    "piece",
    [
        "(",
        "{",
        "}",
        '"',
        "'",
        '\\"',
        "`${",
        '"""',
        "(/",
        "a\n\n\n.b",
        " ",
        "assert ",
        "@a\n",
        "try:\n",
        "it.each([",
        "or ",
    ],
)
@pytest.mark.parametrize("path", ["test_a.py", "a.test.ts", "a_test.go", ""])
def test_long_and_odd_texts_are_read_once(piece: str, path: str) -> None:
    text = piece * 3_000
    compare(text, text + "assert x == 3", path)
    compare(text, "", path)
    changes_by_sed("s/" + text + "/x/", path)
    defined_names(text)


def test_many_changed_assertions_are_compared_with_their_neighbours_only() -> None:
    before = "".join(f"assert f({i}) == {i}\n" for i in range(3_000))
    after = "".join(f"assert f({i}) == {i + 1}\n" for i in range(3_000))
    assert compare(before, after, "test_a.py").altered_assertions >= 2_000


@pytest.mark.parametrize(
    "script",
    [
        "s/toBe(3)/toBe(4)/",
        "s/== 3/== 4/",
        "s/it(/it.skip(/",
        r"s/it(\(.*\)/it.skip(\1/",
        "/assert/d",
        "/expect(/d",
        "s|expected: 3|expected: 4|",
        "s/assert x == 3/pass/",
        "-e s/a/b/ -e s/toBe(3)/toBe(4)/g",
        "s/assertEqual/assertTrue/",
        "/def test_a/,/^$/d",
        "'s/toEqual/toBeTruthy/'",
        "s/.toBe(true)/.toBe(false)/",
        "s/assert /# assert /",
        r"s/\(expect(.*)\).toBe(1)/\1.toBe(2)/",
        "s{toBe(1)}{toBe(2)}",
        r"s/^\( *\)def test_a/\1@pytest.mark.skip\n\1def test_a/",
        "s/describe(/describe.skip(/; s/x/y/",
        "/assert x/s/3/4/",
        "s/assert.*$//",
        "s/want: 3/want: 4/",
    ],
)
def test_a_substitution_that_weakens_an_assertion_fires(script: str) -> None:
    assert changes_by_sed(script).weakens()


@pytest.mark.parametrize(
    "script",
    [
        "",
        "s/a/",
        "s/foo/bar/g",
        "s/3/4/",
        "5d",
        "1,20d",
        "y/abc/def/",
        "/import/d",
        "s/from a import b/from c import b/",
        "s/old_name(/new_name(/g",
        "s/expect(foo/expect(bar/",
        "s/assertEquals/assertEqual/",
        "s/timeout: 500/timeout: 900/",
        "s/getByTestId('a')/getByTestId('b')/",
        "s/toBe(/toEqual(/",
    ],
)
def test_a_substitution_that_shows_no_assertion_is_quiet(script: str) -> None:
    assert not changes_by_sed(script).weakens()


@given(st.text(), st.sampled_from(["", "test_a.py", "a.test.ts"]))
def test_any_script_can_be_read(script: str, path: str) -> None:
    changes_by_sed(script, path)
    changes_by_sed("s/" + script, path)
    changes_by_sed("/" + script, path)


@pytest.mark.corpora
def test_the_edits_of_honest_sessions_are_seldom_taken_for_weaker_tests(shared: Path) -> None:
    """Of all edits of test files in recorded sessions; many of those that fire follow a change of the source."""
    fired = total = 0
    for path in sorted((shared / "corpora" / "claude_code").glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if '"old_string"' not in line:
                    continue
                message = json.loads(line).get("message")
                content = message.get("content") if isinstance(message, dict) else None
                for block in content if isinstance(content, list) else ():
                    given = block.get("input") if isinstance(block, dict) else None
                    if not isinstance(given, dict) or "old_string" not in given:
                        continue
                    name = str(given.get("file_path", ""))
                    if is_test_like(file_role(name)):
                        total += 1
                        fired += compare(str(given["old_string"]), str(given.get("new_string", "")), name).weakens()
    assert total > 100
    assert fired < total / 4


NAMES = [
    (
        "def total(a):\n    pass\n\nclass Cart:\n    def add(self):\n        self.items = []\n\nLIMIT = 3\n",
        "total Cart add items LIMIT",
    ),
    (
        "export const sum = (a) => a;\nexport function load() {}\nclass A {}\nexport { one, two };",
        "sum load A one two",
    ),
    ("module.exports.go = () => 1;\nexports.stop = 2;\n  async fetchAll(id) {\n", "go stop fetchAll"),
    (
        "func (s *Server) Start(p int) error {\nfunc Add(a int) int {\ntype Server struct {\nvar count = 3",
        "Start Add Server count",
    ),
    (
        "pub fn add(a: i32) -> i32 {\nstruct Item {\nenum Kind {\ntrait Run {\nconst MAX: u8 = 3;",
        "add Item Kind Run MAX",
    ),
    ("public class Cart {\n    private int total(List<Item> items) {\n", "Cart total"),
    ("public async Task<int> LoadAsync(string id)  {\n", "LoadAsync"),
    ("def paid?\nend\nmodule Shop\n  def self.find(id)", "paid? Shop find"),
    ("function add(int $a): int {\n", "add"),
    ("static int add(int a, int b) {\n", "add"),
    ("defmodule Shop.Cart do\n  def total(c) do\n  defp sum(x), do: x", "Shop total sum"),
]


@pytest.mark.parametrize(("text", "names"), NAMES)
def test_the_names_that_source_defines_are_found(text: str, names: str) -> None:
    assert set(names.split()) <= defined_names(text)


def test_words_of_the_language_are_no_names() -> None:
    assert not defined_names("if (x) {\n} else if (y) {\nreturn foo(x) {\nfor (;;) {\n") & {
        "if",
        "for",
        "return",
        "else",
    }


def test_removed_names_are_those_that_are_defined_no_more() -> None:
    assert removed_names("def a(): ...\ndef b(): ...\n", "def b(): ...\n") == {"a"}


@given(st.text())
def test_any_text_defines_some_set_of_names(text: str) -> None:
    assert not removed_names(text, text)
