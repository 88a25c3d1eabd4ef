"""What a shell line is and does: the cases stand in shell_vectors.json, one a line."""

from __future__ import annotations

import json
import string
import subprocess
import sys
from pathlib import Path

import pytest
import tree_sitter
from hypothesis import given, settings
from hypothesis import strategies as st

from unspin.facts import shell, shell_tree
from unspin.facts.shell import Line, read_line, worth_parsing

VECTORS = json.loads((Path(__file__).parent / "shell_vectors.json").read_text(encoding="utf-8"))


def cases(name: str) -> list:
    return VECTORS[name]


@pytest.mark.parametrize(("command", "expected"), cases("outcomes"))
def test_the_status_of_a_line_says_of_a_check_what_the_shell_lets_through(command, expected):
    line = read_line(command)
    assert [[check.kind, check.on_zero, check.on_nonzero] for check in line.checks] == expected


@pytest.mark.parametrize(
    "command",
    [
        "set -o pipefail && pytest {} | tail -3",
        "pytest && npm run build {} | tail -3",
        "pytest || make {} | tail",
        "make {} | tail && pytest {} | tail",
        "cd sub && make && pytest {} | tail || echo no {} | cat",
        "make | cat && pytest {} | tail | wc",
        "cd sub && make {} | tail; pytest",
        "set -o pipefail; cd sub && pytest -q {} | tee log.txt",
    ],
)
def test_a_pipe_binds_tighter_than_and_with_a_redirect_before_it_too(command):
    plain, redirected = read_line(command.format(*[""] * 2)), read_line(command.format(*["2>&1"] * 2))
    assert redirected.checks == plain.checks
    assert redirected.writes == plain.writes
    assert redirected.cwd == plain.cwd


@pytest.mark.parametrize(("command", "kind"), cases("kinds"))
def test_a_runner_is_known_as_the_kind_of_check_it_is(command, kind):
    line = read_line(command)
    assert [check.kind for check in line.checks] == [kind]
    assert line.role == "check"


@pytest.mark.parametrize(("command", "role"), cases("roles"))
def test_a_line_that_is_no_check_has_the_role_of_its_most_telling_command(command, role):
    line = read_line(command)
    assert (line.role, line.checks) == (role, ())


@pytest.mark.parametrize(("command", "inner"), cases("wrappers"))
def test_wrappers_are_seen_through_and_left_out_of_the_command(command, inner):
    line = read_line(command)
    assert [(check.kind, check.command) for check in line.checks] == [
        ("test" if "biome" not in inner else "lint", inner)
    ]
    assert (line.checks[0].on_zero, line.checks[0].on_nonzero) == ("passed", "failed")


@pytest.mark.parametrize(("command", "expected"), cases("writes"))
def test_a_write_names_its_file_seen_from_where_the_line_starts(command, expected):
    assert [[write.path, write.change, write.how] for write in read_line(command).writes] == expected


@pytest.mark.parametrize("command", cases("harmless"))
def test_a_line_of_readers_and_checks_is_harmless(command):
    assert read_line(command).harmless


@pytest.mark.parametrize("command", cases("not_harmless"))
def test_a_line_that_may_change_the_work_tree_is_not_harmless(command):
    assert not read_line(command).harmless


@pytest.mark.parametrize("command", cases("polls"))
def test_a_line_that_waits_for_something_polls(command):
    assert read_line(command).polls


@pytest.mark.parametrize("command", cases("not_polls"))
def test_a_line_that_waits_for_nothing_does_not_poll(command):
    assert not read_line(command).polls


def test_only_a_mere_spacer_is_only_sleeps():
    for command in cases("only_sleeps"):
        assert read_line(command).only_sleeps, command
    for command in cases("not_only_sleeps"):
        assert not read_line(command).only_sleeps, command


@pytest.mark.parametrize(("command", "cwd"), cases("cwd"))
def test_the_folder_after_a_line_is_followed_through_cd(command, cwd):
    assert read_line(command).cwd == cwd


def test_a_check_that_feeds_a_pipe_says_so_and_under_pipefail_too():
    assert read_line("pytest | tail").checks[0].piped
    assert not read_line("pytest | tail").checks[0].pipefail
    check = read_line("set -o pipefail; pytest | head").checks[0]
    assert (check.piped, check.pipefail) == (True, True)
    assert not read_line("yes | npm test").checks[0].piped
    assert not read_line("pytest && git log | head").checks[0].piped
    assert read_line("{ cd a; pytest; } | tail").checks[0].piped
    assert not read_line("set -o pipefail; bash -c 'pytest | tail'").checks[0].pipefail


def test_output_that_goes_to_a_file_is_not_ours_to_read():
    for command in (
        "pytest > log",
        "pytest > log 2>&1",
        "pytest &> log",
        "pytest >> log",
        "(pytest) > log",
        "exec > log; pytest",
    ):
        assert read_line(command).checks[0].output_redirected, command
    for command in (
        "pytest",
        "pytest 2>&1",
        "pytest 2> err",
        "pytest | tee log",
        "pytest < in",
        "pytest > /dev/stderr",
    ):
        assert not read_line(command).checks[0].output_redirected, command


def test_the_content_of_a_write_is_kept_where_it_stands_in_the_line():
    assert read_line("cat > f <<'EOF'\na $x\nb\nEOF").writes[0].text == "a $x\nb\n"
    assert read_line("echo 'a b' c > f").writes[0].text == "a b c"
    assert read_line("tee f <<'EOF'\nx\nEOF").writes[0].text == "x\n"
    assert read_line("sed -i -e s/a/b/ -e s/c/d/ f").writes[0].script == "s/a/b/\ns/c/d/"
    assert read_line("perl -pi -e 's/a/b/' f").writes[0].script == "s/a/b/"
    long = read_line("cat > f <<'EOF'\n" + "x" * 50_000 + "\nEOF").writes[0].text
    assert len(long) == 20_000


def test_targets_and_scripts_are_given_as_written():
    assert read_line("pytest tests/test_a.py::test_b -k 'x' -q").checks[0].targets == ("tests/test_a.py",)
    assert read_line("npx jest src/a.test.ts --ci").checks[0].targets == ("src/a.test.ts",)
    assert read_line("go test ./pkg/...").checks[0].targets == ("./pkg/...",)
    assert read_line("cd s && python -u repro.py --x 1").checks[0].script == "repro.py"
    assert read_line("cd s && python repro.py").checks[0].folder == "s"
    assert read_line("pnpm --filter @a/b test").checks[0].targets == ()


def test_usage_errors_of_a_runner_are_known():
    assert set(read_line("pytest").checks[0].usage_exits) == {4, 5}
    assert read_line("python -m pytest").checks[0].usage_exits == read_line("pytest").checks[0].usage_exits
    assert read_line("npm test").checks[0].usage_exits == ()


def test_a_command_is_cut_and_its_white_space_collapsed():
    assert read_line("pytest \\\n   -q    a.py").checks[0].command == "pytest -q a.py"
    assert len(read_line("pytest " + "a.py " * 500).checks[0].command) <= 200


def test_the_persons_own_commands_win_over_the_lists():
    named = {"test": ["./ci.sh", "npm run foo"], "lint": ["pytest --lint"], "run": ["make demo"]}
    assert read_line("./ci.sh --fast", named).checks[0].kind == "test"
    assert read_line("timeout 5 ./ci.sh", named).checks[0].kind == "test"
    assert read_line("npm run foo", named).checks[0].kind == "test"
    assert read_line("npm run foobar", named).checks == ()
    assert read_line("pytest --lint x", named).checks[0].kind == "lint"
    assert read_line("pytest x", named).checks[0].kind == "test"
    assert read_line("ls", {"test": ["ls"]}).checks[0].kind == "test"
    assert not read_line("make demo", named).harmless
    assert read_line("docker compose exec web ./ci.sh | tail", named).checks[0].on_zero == "unknown"


def test_a_check_wrapped_by_unspin_is_reported_with_the_kind_of_what_it_wraps():
    line = read_line("unspin check -- ./whatever.sh a")
    assert line.shell_checks_wrapped
    assert [(check.kind, check.runner, check.command) for check in line.checks] == [
        ("run", "unspin check", "./whatever.sh a")
    ]
    assert read_line("unspin check -- frobnicate").checks[0].kind == "test"
    assert read_line("unspin check --kind build -- frobnicate").checks[0].kind == "build"
    assert read_line("unspin check -- tsc --noEmit").checks[0].kind == "type"
    assert read_line("unspin check -- ./w.sh", {"lint": ["./w.sh"]}).checks[0].kind == "lint"
    assert not read_line("unspin status").shell_checks_wrapped


def test_the_whole_line_in_the_background_is_background():
    assert read_line("npm run dev &").background
    assert read_line("nohup python x.py > log 2>&1 &").background
    assert read_line("cd a && npm start &").background
    assert not read_line("npm start & sleep 2").background
    assert not read_line("pytest").background


HOSTILE = [
    "a&&" * 20_000,
    "pytest && " * 6_000,
    "pytest; " * 7_000,
    "a | " * 15_000,
    "$[" * 30_000,
    ">" * 60_000,
    "(" * 5_000 + "a" + ")" * 5_000,
    "(" * 350 + "pytest" + ")" * 350,
    "$(" * 5_000,
    "`" * 9_001,
    "'" * 9_001,
    '"' * 9_001,
    "{ " * 5_000,
    "if a; then " * 3_000,
    "env " * 10_000 + "pytest",
    "npx " * 9_000 + "jest",
    "yarn " * 9_000,
    "bash -c '" * 2_000,
    "eval " * 9_000 + "pytest",
    "find . -exec " * 4_000,
    "cat <<a\n" * 5_000,
    "cd a && " * 7_000 + "pytest",
    "pushd a;" * 7_000,
    "time | " * 8_000,
    "x" * 70_000,
    "pytest " + "a.py " * 12_000,
    "echo {\U000a0f30",
    "x{\U0010cea0 {\U000ef8e2",
    "ls \0 pytest",
    "\udc80\ud800 pytest",
    "pytest \udcff",
    "cat <<",
    "<<EOF",
    "&& ||",
    "bash -c",
    "timeout",
    "sed -i",
    "cp",
    "git checkout --",
    "python -m",
    "\n\n\n",
    "#",
    "cat <<'EOF'",
    "case",
]  # fmt: skip


@pytest.mark.parametrize("command", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_lines_never_raise(command):
    # each ends in well under a second; a line that took longer would show here
    shell._read(command, {})
    assert isinstance(read_line(command, {"test": ["pytest"]}), Line)


def test_a_line_over_the_cap_is_unknown():
    line = read_line("pytest " + "a" * 70_000)
    assert (line.checks, line.harmless, line.cwd) == ((), False, None)


def test_what_the_parser_cannot_read_proves_nothing():
    line = read_line("pytest && (")
    assert not line.harmless
    assert all(check.on_zero == check.on_nonzero == "unknown" for check in line.checks)


def test_a_long_file_full_of_punctuation_written_by_heredoc_is_still_a_write():
    body = "| a | b | (c) [d] <e>\n" * 1_000
    line = read_line("cd a && cat > x.md <<'EOF' && npm test\n" + body + "EOF\n")
    assert [write.path for write in line.writes] == ["a/x.md"]
    assert line.writes[0].text == body[:20_000]
    assert [check.on_nonzero for check in line.checks] == ["failed"]


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=300))
def test_no_text_makes_it_raise(text):
    shell._read(text, {})


@pytest.mark.parametrize("character", ["\u00e9", "\u4e2d", "\U0001f600", "\U000f0000", "\U0010ffff"])
def test_characters_beyond_ascii_reach_the_words_but_not_the_scanner(character):
    # in-process the scanner crashed on `{` before such a character, not each time
    assert read_line("pytest {" + character).checks[0].command == "pytest {" + character
    assert read_line("echo x > a" + character).writes[0].path == "a" + character
    line = read_line(f"cat > f <<'{character}'\n{character} x\n{character}\npytest")
    assert line.writes[0].text == character + " x\n"
    assert line.checks[0].on_zero == "passed"


PIECES = VECTORS["pieces"]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25))
def test_no_mix_of_shell_words_makes_it_raise(pieces):
    line = shell._read(" ".join(pieces), {})
    for check in line.checks:
        assert check.kind in ("test", "build", "lint", "type", "run")
        assert check.on_zero in ("passed", "unknown")
        assert check.on_nonzero in ("failed", "perhaps", "unknown")


WORDS = st.sampled_from(VECTORS["words"])


@settings(max_examples=1000, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=7), st.sampled_from([" ", "  "]))
def test_the_fast_path_answers_as_the_parser_does(words, gap):
    command = gap.join(words)
    fast = read_line(command)
    plain = shell_tree.plain_words
    shell_tree.plain_words = lambda command: None
    try:
        assert shell._read(command, {}) == fast
    finally:
        shell_tree.plain_words = plain


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(VECTORS["readers"]), max_size=8))
def test_a_line_not_worth_parsing_reads_as_the_empty_line(words):
    command = " ".join(words)
    if worth_parsing(command):
        return
    test = shell.worth_parsing
    shell.worth_parsing = lambda command: True
    try:
        assert shell._read(command, {}) == Line()
    finally:
        shell.worth_parsing = test


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=string.ascii_letters + " |\"'.-/", max_size=60))
def test_any_line_not_worth_parsing_reads_as_the_empty_line(text):
    if worth_parsing("ls " + text):
        return
    test = shell.worth_parsing
    shell.worth_parsing = lambda command: True
    try:
        assert shell._read("ls " + text, {}) == Line()
    finally:
        shell.worth_parsing = test


def test_importing_the_room_loads_neither_the_parser_nor_slow_modules():
    # json (and what it needs) is loaded for the lists; whoever reads a payload has it already
    packages = str(Path(tree_sitter.__file__).parents[1])
    code = f"""
import json, sys
sys.path[:0] = [{str(Path(shell.__file__).parents[2])!r}, {packages!r}]
before = set(sys.modules)
from unspin.facts import shell
shell.read_line("pytest -q a.py")
assert not any(name.startswith("tree_sitter") for name in sys.modules)
assert shell.read_line("cd a && pytest | tail").checks
new = set(sys.modules) - before
print(sorted(new & {{"typing", "dataclasses", "enum", "pathlib", "re"}}))
"""
    run = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_checks_and_lines_compare_by_what_they_hold():
    assert read_line("pytest") == read_line("pytest")
    assert read_line("pytest") != read_line("pytest -q")
    assert "pytest" in repr(read_line("pytest"))
    assert len({read_line("rm a"), read_line("rm a")}) == 1
