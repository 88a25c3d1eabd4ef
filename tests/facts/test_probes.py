"""Which edits are no attempts: those that undo the last one, and those that only show something."""

from __future__ import annotations

import pytest

from unspin.facts.probes import shows_only, shows_only_by_sed, swap, swap_by_sed


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("total = a + b", "total = a + b\nprint(total)"),
        ("total = a + b\nprint(total)\n", "total = a + b\n"),
        ("return x", "if x is None:\n    print('none')\nreturn x"),
        ("return x", "import sys\nprint(x, file=sys.stderr)\nreturn x"),
        ("return x", "rest = x.rest()\nprint(f'{rest=}')\nreturn x"),
        ("return x", "for each in x: print(each)\nreturn x"),
        ("return x;", "console.log(x);\nreturn x;"),
        ("return x", 'fmt.Println("x", x)\nreturn x'),
        ("return x;", 'System.out.println("x " + x);\nreturn x;'),
    ],
)
def test_an_edit_that_only_puts_output_in_or_out_shows_only(old: str, new: str) -> None:
    assert shows_only(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return x", "return x + 1"),
        ("return x", "print(x)\nreturn x + 1"),
        ("print(x)", "print(x, end='')"),  # what the program prints is what it is for
        ("return x", "if x is None:\n    return 0\nreturn x"),
        ("return x", "x = x or 0\nreturn x"),
        ("return x", "self.x = x\nprint(x)\nreturn x"),
        ("return x", "  return x"),
        ("return x", "return x"),
        ("", "# nothing but a comment"),
        (None, "print(1)"),
    ],
)
def test_an_edit_that_does_more_is_an_attempt(old: str | None, new: str) -> None:
    assert not shows_only(old, new)


@pytest.mark.parametrize(
    "script",
    [
        r'264a\        print(f"x={x}")',
        r"/def total/a \    if x:\n        print(x)",
        r"41i print(x)",
        "/DEBUG: x/d",
        r"/print(x)/d",
        r"s/    total = add(a)/    total = add(a)\n    print(total)/",
        r"s/    total = add(a)\n    print(total)/    total = add(a)/",
    ],
)
def test_the_same_of_a_script_of_sed(script: str) -> None:
    assert shows_only_by_sed(script)


@pytest.mark.parametrize(
    "script",
    [r"264a\    return None", "12d", "/return x/d", "s/a/b/", "s/a/print(a)/", "", "1,3p", "s/a", "s/print(x)/x/"],
)
def test_other_scripts_are_attempts(script: str) -> None:
    assert not shows_only_by_sed(script)


def test_an_edit_and_the_one_that_undoes_it_are_each_others_swap() -> None:
    there, back = swap("a = 1", "a = 2"), swap("a = 2", "a = 1")
    assert there == back[::-1] and there[0] != there[1]
    assert swap("x", "y", before="1", after="2") == swap(None, "z", before="2", after="1")[::-1]
    assert swap(None, "a") == swap("a", "a") == []


@pytest.mark.parametrize(
    ("there", "back"),
    [
        ("s/total(a)/total(b)/", "s/total(b)/total(a)/"),
        ("516s/^  hit/    hit/", "516s/^    hit/  hit/"),
        (r"s/a\.b/c/g", r"s/c/a\.b/g"),
        ("s#/a/b#/c#", "s#/c#/a/b#"),
        (r"s/if not self\.all:/if self.all is None:/", r"s/if self\.all is None:/if not self.all:/"),
    ],
)
def test_two_substitutions_undo_each_other(there: str, back: str) -> None:
    assert swap_by_sed(there) == swap_by_sed(back)[::-1] != []


def test_what_is_no_single_substitution_has_no_swap() -> None:
    for script in ("s/a/a/", "s/a/b/; s/c/d/", "3d", "s/a/b", "", "12a\\ x", "s/a/b/w out"):
        assert swap_by_sed(script) == [], script
    assert swap_by_sed("3s/a/b/")[0] != swap_by_sed("4s/b/a/")[1]
