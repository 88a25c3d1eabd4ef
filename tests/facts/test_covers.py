"""Which files a pattern or a folder stands for."""

from __future__ import annotations

import time

import pytest

from unspin.facts.files import Folder, Pattern, covers


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("/p/*.py", "/p/a.py", True),
        ("/p/*.py", "/p/src/a.py", False),
        ("/p/*.py", "/p/.a.py", False),
        ("/p/.*", "/p/.a", True),
        ("/p/**/*.py", "/p/a.py", True),
        ("/p/**/*.py", "/p/x/y/a.py", True),
        ("/p/**/*.py", "/q/a.py", False),
        ("/p/a?.py", "/p/ab.py", True),
        ("/p/a?.py", "/p/a.py", False),
        ("/p/[a-c].py", "/p/b.py", True),
        ("/p/[!a-c].py", "/p/b.py", False),
        ("/p/[!a-c].py", "/p/x.py", True),
        ("/p/[id].tsx", "/p/[id].tsx", True),
        ("/p/[", "/p/[", True),
        ("/p/*a*b*.py", "/p/xaybz.py", True),
        ("/p/*a*b*.py", "/p/xbya.py", False),
    ],
)
def test_a_pattern_matches_as_a_shell_does(pattern: str, path: str, expected: bool) -> None:
    assert covers(Pattern(pattern), path) is expected


def test_a_folder_stands_for_what_is_below_it_and_a_path_for_itself() -> None:
    assert covers(Folder("/p/src"), "/p/src/a.py")
    assert covers(Folder("/"), "/p/src/a.py")
    assert not covers(Folder("/p/src"), "/p/src2/a.py")
    assert covers("/p/a.py", "/p/a.py")
    assert not covers("/p/*.py", "/p/a.py")


def test_no_pattern_takes_long() -> None:
    begun = time.perf_counter()
    assert not covers(Pattern("/" + "*a" * 20_000), "/" + "a" * 4000 + "b")
    assert not covers(Pattern("/" + "**/a/" * 5000 + "x"), "/" + "a/" * 2000 + "b")
    assert time.perf_counter() - begun < 2
