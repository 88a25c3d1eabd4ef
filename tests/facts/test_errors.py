"""Which lines are errors, and when two errors or two outputs are the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspin.facts.errors import (
    count_errors,
    environment_error,
    error_lines,
    primary_error,
)
from unspin.facts.normalise import normalise_error, normalise_output, strip_ansi

OUTPUTS = Path(__file__).parent / "outputs"


def sample(name: str) -> str:
    return (OUTPUTS / f"{name}.txt").read_text(encoding="utf-8")


# ----------------------------------------------------------------------------- the identity of an error text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ValueError: bad value -3.5e-10 at row 12", "ValueError: bad value 7 at row 4,096"),
        ("TypeError: <A object at 0x7f00aa11bb22> is frozen", "TypeError: <A object at 0x7f99cc> is frozen"),
        ("timed out after 30.01s", "timed out after 29s"),
        ("timeout of 5000 ms exceeded", "timeout of 2000 ms exceeded"),
        ("[2026-05-06T12:00:00.123Z] Error: boom", "[2026-05-07T09:13:44Z] Error: boom"),
        ("12:34:56 Error: boom", "09:00:01.250 Error: boom"),
        (
            "no row 123e4567-e89b-12d3-a456-426614174000",
            "no row 00000000-aaaa-12d3-a456-426614174000",
        ),
        ("bad object 4c424b1", "bad object 9e1d7f0a22"),
        ("request req_9fK2mP7qT4xZ failed", "request req_1aB8cD3eF5gH failed"),
        ("colour #ff00aa unknown", "colour #00ff7f unknown"),
        ("src/a.ts(12,5): error TS2339: x", "src/a.ts(104,17): error TS2339: x"),
        ("src/a.ts(12,345): error TS2339: x", "src/a.ts(12,34): error TS2339: x"),
        ("/home/a/proj/x.py:12:5: E501 long", "/home/b/proj/x.py:99:1: E501 long"),
        ("/home/a/proj/p/q/x.py:12:5: E501 long", "/srv/b/p/q/x.py:99:1: E501 long"),
        (r"C:\repo\w\x\y.ts:3:4 - error TS1: a", r"D:\other\w\x\y.ts:8:1 - error TS1: a"),
        ("cannot open '/tmp/tmpab12cd34'", "cannot open '/tmp/tmpzz98yy76'"),
        ("cannot open '/tmp/tmpab12cd34.py'", "cannot open '/tmp/tmpzz98yy76.py'"),
        (
            "no file /tmp/pytest-of-dev/pytest-12/test_x0",
            "no file /tmp/pytest-of-dev/pytest-13/test_x0",
        ),
        ("no folder /tmp/build-x7F3a2", "no folder /tmp/build-Qp81Zz"),
        (
            "no file /var/folders/ab/cd123/T/tmp.A1b2C3d4",
            "no file /var/folders/xy/zz999/T/tmp.Z9y8X7w6",
        ),
        ("connect ECONNREFUSED 127.0.0.1:54321", "connect ECONNREFUSED 127.0.0.1:40001"),
        ("pid 4711 died", "pid 12 died"),
        ("thread 'main' (123) panicked at src/x.rs:2:5: a", "thread 'main' (9) panicked at src/x.rs:8:1: a"),
        ("ForkPoolWorker-3: boom", "ForkPoolWorker-11: boom"),
        ("too   many\tspaces", "too many spaces"),
        ("value '12' is wrong", "value '7' is wrong"),
        ("no file '/a/b/c.py'", "no file 'b/c.py'"),
        ("\x1b[31mError: red\x1b[0m", "Error: red"),
    ],
)
def test_volatile_parts_do_not_make_another_error(one: str, other: str) -> None:
    assert normalise_error(one) == normalise_error(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("'Mock' object has no attribute 'srcdir'", "'Mock' object has no attribute 'events'"),
        ("error TS2339: x", "error TS2322: x"),
        ("error[E0308]: x", "error[E0382]: x"),
        ("unknown encoding utf8", "unknown encoding utf16"),
        ("unknown encoding UTF-8", "unknown encoding UTF-16"),
        ("name 'test_2' is not defined", "name 'test_3' is not defined"),
        ("No module named 'base64x'", "No module named 'base32x'"),
        ("HTTP2 is off", "HTTP3 is off"),
        ("Cannot find module './a/one.js'", "Cannot find module './a/two.js'"),
        ("Cannot find package '@scope/one'", "Cannot find package '@scope/two'"),
        (r"Class App\Models\User not found", r"Class App\Http\User not found"),
        ("x: command not found: yq", "x: command not found: jq"),
        ("npm error code E404", "npm error code E401"),
        ("int32ToInt64 failed", "int32ToInt16 failed"),
        ("KeyError: 'sha256sum'", "KeyError: 'sha512sum'"),
        ("error: cannot find symbol: class A", "error: cannot find symbol: class B"),
    ],
)
def test_names_and_codes_are_kept_so_that_progress_shows(one: str, other: str) -> None:
    assert normalise_error(one) != normalise_error(other)


def test_a_folder_goes_and_a_file_name_stays() -> None:
    assert normalise_error("/a/b/c.py") == "c.py"
    assert normalise_error(r"C:\x\y.ts") == "y.ts"
    assert normalise_error("at file:///a/b/c.mjs:3:9") == "at c.mjs:<n>:<n>"


# ---------------------------------------------------------------------------- the identity of a whole output


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2 failed in 0.12s", "2 failed in 13.07s"),
        ("took 35 ms", "took 9 ms"),
        ("✕ adds (1.2s)", "✕ adds (3 ms)"),
        ("2026-05-06 12:00:00,123 start", "2026-05-07 13:01:02,999 start"),
        ("<A at 0x7f00aa11bb22>", "<A at 0x55d0e1f2a3b4>"),
        ("wrote /tmp/tmpab12cd34/a.txt", "wrote /tmp/tmpzz98yy76/a.txt"),
        ("listening on http://localhost:54321/x", "listening on http://localhost:40999/x"),
        ("(node:1234) started", "(node:99) started"),
        ("server[12345]: up", "server[777]: up"),
        ("==4711== Invalid read", "==99== Invalid read"),
        ("x.py:12: in f", "x.py:14: in f"),
        ('  File "x.py", line 12, in f', '  File "x.py", line 14, in f'),
        ("a.ts(3,4): error TS1: x", "a.ts(13,14): error TS1: x"),
        ("> 12 | foo()", "> 14 | foo()"),
        ("10%\r50%\rdone", "3%\rdone"),
        ("█████     50% 3.1MB/s", "██        20% 1.1MB/s"),
        (
            "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
            "commit 4c424b1a6a1c0d2e95dc970b74767f19372d61af",
        ),
        ("a  \n\n\n\nb\n", "a\n\nb"),
        ('{"b": 1, "a": [2]}', '{"a": [2], "b": 1}'),
    ],
)
def test_two_runs_that_differ_in_volatile_parts_only_are_the_same(one: str, other: str) -> None:
    assert normalise_output(one) == normalise_output(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("12 failed", "8 failed"),
        ("score 0.71", "score 0.73"),
        ("coverage 71%", "coverage 73%"),
        ("loss: 1.25e-3", "loss: 1.20e-3"),
        ("Expected: 3", "Expected: 4"),
        ('{"a": 1}', '{"a": 2}'),
        ("size 0x10", "size 0x20"),
        ("missing a.txt", "missing b.txt"),
        ("x" * 3_000 + "1", "x" * 3_000 + "2"),
    ],
)
def test_counts_and_values_are_kept(one: str, other: str) -> None:
    assert normalise_output(one) != normalise_output(other)


# ----------------------------------------------------------------------------------------------- error lines

RECOGNISED = [
    "TypeError: x is not a function",
    "pkg.mod.StrangeException: no",
    "json.decoder.JSONDecodeError: Extra data: line 1 column 2 (char 1)",
    "jwt.exceptions.DecodeError: bad",
    "SyntaxError: invalid syntax",
    "packaging.version.InvalidVersion: Invalid version: 'x'",
    "subprocess.TimeoutExpired: Command 'x' timed out",
    "Error: Cannot find module 'foo'",
    "Uncaught ReferenceError: x is not defined",
    "Uncaught (in promise) TypeError: x",
    "AssertionError [ERR_ASSERTION]: 1 == 2",
    "AssertionError: expected 3 to be 4 // Object.is equality",
    "expect(received).toBe(expected) // Object.is equality",
    'Exception in thread "main" java.lang.NullPointerException: x',
    "java.lang.NullPointerException: x",
    "Caused by: java.io.IOException: gone",
    "org.opentest4j.AssertionFailedError: expected: <3> but was: <2>",
    "A.java:1: error: incompatible types: int cannot be converted to String",
    "[ERROR] /home/dev/src/Foo.java:[12,5] cannot find symbol",
    "[error] /home/dev/src/Foo.scala:12:5: not found: value foo",
    "e: file:///home/dev/x.kt:12:5 Unresolved reference: foo",
    "panic: runtime error: index out of range [3] with length 2",
    "./x.go:12:3: undefined: foo",
    "vet: ./x.go:12:3: undefined: foo",
    "error[E0308]: mismatched types",
    "thread 'main' panicked at 'boom', src/main.rs:2:5",
    "b.c:1:35: error: 'y' undeclared (first use in this function)",
    "a.c:1:10: fatal error: nope.h: No such file or directory",
    "l.c:(.text+0x5): undefined reference to `f'",
    "s: s.c:2: main: Assertion `1==2' failed.",
    "Segmentation fault (core dumped)",
    "Program.cs(12,5): error CS0103: The name 'x' does not exist [/home/dev/a.csproj]",
    "Unhandled exception. System.InvalidOperationException: x",
    "System.NullReferenceException : Object reference not set",
    "MSBUILD : error MSB1009: Project file does not exist.",
    "src/a.ts(12,5): error TS2339: Property 'foo' does not exist",
    "src/a.ts:12:5 - error TS2339: Property 'foo' does not exist",
    "@scope/app build: src/a.ts(12,5): error TS2339: Property 'foo' does not exist",
    "NoMethodError: undefined method `foo' for nil",
    "a.rb:3:in `foo': undefined method `bar' for nil (NoMethodError)",
    "Failure/Error: expect(1).to eq(2)",
    "PHP Fatal error:  Uncaught Error: Call to undefined function foo()",
    "Parse error: syntax error, unexpected '}' in a.php on line 3",
    "Failed asserting that 3 matches expected 4.",
    "** (RuntimeError) boom",
    "/home/dev/x.swift:3:5: error: cannot find 'foo' in scope",
    "bash: line 1: foo: command not found",
    "bash: -c: line 1: syntax error near unexpected token `then'",
    "zsh:1: parse error near `|'",
    "(eval):1: no matches found: *.md",
    "ls: cannot access 'x': No such file or directory",
    "rg: src: No such file or directory (os error 2)",
    "fatal: not a git repository (or any of the parent directories): .git",
    "npm error code E404",
    'npm error Missing script: "nope"',
    "Error response from daemon: no such container: x",
    "curl: (7) Failed to connect to 127.0.0.1 port 1",
    'ERROR:  relation "users" does not exist',
    "ERROR 1064 (42000): You have an error in your SQL syntax",
    "sqlite3.OperationalError: no such table: users",
    "error: unexpected argument '-P' found",
    'error: Script not found "lint"',
    "ERROR: Could not find a version that satisfies the requirement nope",
    "FATAL: database system is shutting down",
    "x.py:3: error: Incompatible types in assignment  [assignment]",
    "CMake Error: The source directory does not exist.",
    'Error from server (NotFound): pods "x" not found',
    "Cannot find module './missing' from 'a.test.js'",
    "│ Error: Reference to undeclared resource",
    "#   Failed test 'adds up'",
    'syntax error at t/c.t line 1, near "= ;"',
    "Can't locate NoSuch/Mod.pm in @INC (@INC contains: /etc/perl) at -e line 1.",
    "Type error: Property 'x' does not exist on type 'Y'.",
    '"x" is not exported by "src/b.js", imported by "src/a.js".',
    "[info] - adds numbers *** FAILED ***",
    "2026-01-02T03:04:05Z ERROR: disk is gone",
    "2026-01-02 03:04:05,123 TypeError: x is not a function",
    "[12:03:04] Error: disk is gone",
    '2026-01-02 03:04:05 UTC ERROR:  relation "x" does not exist',
    "ld: symbol(s) not found for architecture arm64",
    "Undefined symbols for architecture arm64:",
    "/usr/bin/ld: cannot find -lfoo",
    "E: Unable to locate package nope",
    "E: Package 'nope' has no installation candidate",
    'error Command "nope" not found.',
    "Sorry: IndentationError: expected an indented block (b.py, line 2)",
    "##[error]src/a.ts(2,3): error TS2307: No 'x'",
]


@pytest.mark.parametrize("line", RECOGNISED)
def test_an_error_is_recognised(line: str) -> None:
    assert len(error_lines(f"hello\n{line}\nbye")) == 1
    assert primary_error(line) is not None


NOT_ERRORS = [
    "[lint] ERROR task failed",
    " ELIFECYCLE  Command failed with exit code 1.",
    "npm ERR! code ELIFECYCLE",
    "npm error errno 1",
    "error Command failed with exit code 1.",
    "@scope/app test: Exited with code 1",
    "Exit code 1",
    "Exception occurred:",
    "Error: Process completed with exit code 1",
    "##[error]Process completed with exit code 1.",
    'error: script "test" exited with code 1',
    "error: Recipe `x` failed on line 3 with exit code 1",
    "make: *** [Makefile:3: x] Error 1",
    "make[1]: *** [x] Error 2",
    "BUILD FAILED",
    "FAILURE: Build failed with an exception.",
    "error: could not compile `demo` (lib) due to 3 previous errors",
    "error: aborting due to 2 previous errors",
    "error: 2 targets failed:",
    "Found 12 errors in 3 files",
    "Tests failed",
    "(pass) suite > fails clearly",
    "✓ throws an error when x",
    "✔ TypeError: is shown",
    "PASS src/error.test.ts",
    "ok 3 - handles error",
    "test x::error_case ... ok",
    "tests/test_a.py::test_error PASSED",
    "2026-05-06 12:00:00 INFO worker: error: retried",
    "[WARN] Error: slow",
    "DEBUG: TypeError: x",
    "warning: unused variable: `error`",
    "a.c:3:5: warning: error is unused",
    "(node:12) DeprecationWarning: Error: old",
    "0 errors",
    '"is_error": false',
    '{"error": null, "is_error": false}',
    "Traceback (most recent call last):",
    '    raise ValueError("x")',
    "    throw new TypeError('x');",
    "> 12 | throw new Error('x')",
    "+    raise TypeError('x')",
    "-Error: old text",
    "src/a.py:12:    raise TypeError('x')",
    'error: "invalid_target",',
    "error: string | null;",
    "failOnError: suite.failOnError,",
    "executionError: { message: 'x' },",
    "https://example.com/error: x",
    "see the error handling chapter",
    "KeyboardInterrupt",
    "  expect(result.errors).toEqual([]);",
    "budgetExceeded: true",
    "Expected: Mod(i, 2)",
    "expected: Item['args'],\nactual: string,",
    "npm warn deprecated inflight@1.0.6: TypeError: x",
    "No tests found, exiting with code 0",
    "2026-01-02T03:04:05Z INFO: Error: retried",
    "[12:03:04] WARN: Error: slow",
    "[12:03:04] error handling is on",
    "Error: Process completed with exit code 1.",
    "##[error]Error: Process completed with exit code 1.",
    "build\tRun npm test\t2026-02-17T01:16:48.9421833Z ##[error]Process completed with exit code 1.",
    "build / unit (18, x)\tRun npm test\t2026-02-17T01:16:48.9421833Z Error: Process completed with exit code 1.",
    "2026-02-17T01:16:48.9421833Z ##[error]Process completed with exit code 1.",
]


@pytest.mark.parametrize("line", NOT_ERRORS)
def test_a_wrapper_a_banner_or_a_mention_is_no_error(line: str) -> None:
    assert error_lines(f"{line}\n") == []
    assert primary_error(line) is None
    assert count_errors(line) == 0


def test_without_a_recognised_line_there_is_no_identity() -> None:
    assert primary_error("Exit code 1\nsomething\nhappened") is None


def test_the_exception_of_a_traceback_stands_for_it_whatever_its_name() -> None:
    text = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    f()\nmod.Odd: no luck\n'
    assert error_lines(text) == ["mod.Odd: no luck"]


def test_a_chain_of_exceptions_is_one_error_and_the_last_one_stands_for_it() -> None:
    text = (
        'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    d["k"]\nKeyError: \'k\'\n\n'
        "During handling of the above exception, another exception occurred:\n\n"
        'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\nRuntimeError: outer\n'
    )
    assert primary_error(text) == "RuntimeError: outer"
    assert count_errors(text) == 1


def test_one_line_more_in_the_import_chain_is_the_same_failure() -> None:
    head = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    import b\n'
    more = '  File "b.py", line 9, in <module>\n    import c\n'
    tail = "ModuleNotFoundError: No module named 'nope'\n"
    assert primary_error(head + tail) == primary_error(head + more + tail)


def test_a_program_stopped_by_the_person_has_no_error() -> None:
    text = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nKeyboardInterrupt\n'
    assert error_lines(text) == []


def test_the_symbol_that_javac_misses_is_part_of_the_error() -> None:
    lines = error_lines(sample("javac"))
    assert lines[1:] == [
        "A.java:1: error: cannot find symbol: method foo()",
        "A.java:1: error: cannot find symbol: class Missing",
    ]


def test_the_message_of_a_rust_panic_is_read_from_the_next_line() -> None:
    first = primary_error(sample("cargo_run"))
    assert first is not None
    assert first.endswith("index out of bounds: the len is 0 but the index is 3")


def test_what_was_expected_and_received_belongs_to_a_failed_expect() -> None:
    first = primary_error(sample("jest"))
    assert first == "expect(received).toBe(expected) // Object.is equality | Expected: 3 | Received: 2"
    assert count_errors(sample("jest")) == 7


def test_a_diff_belongs_to_a_failed_comparison() -> None:
    text = (
        "    expect(received).toEqual(expected) // deep equality\n\n"
        '    - Expected  - 1\n    + Received  + 1\n\n      Object {\n    -   "b": "y",\n    +   "b": "x",\n'
    )
    assert primary_error(text) == 'expect(received).toEqual(expected) // deep equality | -   "b": "y", | +   "b": "x",'


def test_what_a_passing_test_printed_is_no_error() -> None:
    assert error_lines(sample("jest_ok")) == []


PY_SYNTAX = "SyntaxError: '(' was never closed --> /home/dev/demosyn.py: x = ("
CARGO_BUILD = "error[E0308]: mismatched types --> src/lib.rs: expected `i32`, found `&str`"


@pytest.mark.parametrize(
    ("name", "first", "count"),
    [
        ("pytest_a", "OSError: gone", 7),
        ("pytest_v_color", "AssertionError: 1 != 2", 1),
        ("pytest_q_tbno", "AssertionError: 1 != 2", 6),
        ("pytest_default", "ModuleNotFoundError: No module named 'nonexistent_thing'", 1),
        ("unittest", "ValueError: bad 'x' at 12", 2),
        ("py_syntax", PY_SYNTAX, 1),
        ("py_group", "ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)", 3),
        ("cargo_build", CARGO_BUILD, 3),
        ("java_run", 'Exception in thread "main" java.lang.IllegalStateException: bad state', 2),
        ("gcc_link", "l.c:(.text+0x5): undefined reference to `f'", 1),
        ("mocha", "RangeError: out of range", 3),
        ("node_require", "Error: Cannot find module 'nope'", 1),
        ("npm_missing", 'npm error Missing script: "nope"', 1),
        ("node_tap", "Expected values to be strictly equal: 1 !== 2", 3),
        ("tsc", "ts/a.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.", 2),
        ("tsc_pretty", "ts/a.ts:1:7 - error TS2322: Type 'string' is not assignable to type 'number'.", 2),
        ("c_assert", "s: s.c:2: main: Assertion `1==2' failed.", 2),
    ],
)
def test_the_first_error_of_a_real_run(name: str, first: str, count: int) -> None:
    assert primary_error(sample(name)) == first
    assert count_errors(sample(name)) == count


def test_the_message_is_preferred_to_the_name_of_a_failed_go_test() -> None:
    text = "--- FAIL: TestX (0.00s)\n    x_test.go:12: got 3, want 4\nFAIL\nFAIL\texample.com/x\t0.01s\n"
    assert primary_error(text) == "x_test.go:12: got 3, want 4"
    assert primary_error("--- FAIL: TestX (0.00s)\nFAIL\n") == "--- FAIL: TestX (0.00s)"


def test_an_error_is_found_behind_the_prefix_of_a_ci_log() -> None:
    text = "Typecheck\tRun tsc\t2026-02-17T01:16:48.9421833Z ##[error]src/a.ts(2,3): error TS2307: No 'x'\n"
    assert error_lines(text) == ["src/a.ts(2,3): error TS2307: No 'x'"]


def test_a_shrinking_set_of_errors_can_be_counted() -> None:
    diagnostic = "src/a.ts({0},5): error TS2339: Property 'p{0}' does not exist\n"
    assert [count_errors("".join(diagnostic.format(i) for i in range(n))) for n in (12, 5, 1)] == [12, 5, 1]


def test_the_limit_is_kept() -> None:
    text = "Error: a\nError: b\nError: c\n"
    assert error_lines(text, limit=2) == ["Error: a", "Error: b"]
    assert error_lines(text, limit=0) == []


# ------------------------------------------------------------------------------- what tells two errors apart


def identities(text: str) -> list[str]:
    return [normalise_error(line) for line in error_lines(text)]


def test_errors_of_one_kind_differ_by_place_and_types() -> None:
    mismatches = [each for each in identities(sample("rustc")) if each.startswith("error[E0308]")]
    assert mismatches == [
        "error[E0308]: mismatched types --> src/b.rs: expected `bool`, found `u32`",
        "error[E0308]: mismatched types --> src/lib.rs: expected `u64`, found `u32`",
        "error[E0308]: mismatched types --> src/lib.rs: expected `String`, found `&str`",
        "error[E0308]: mismatched types --> src/lib.rs: expected `u32`, found `&str`",
    ]
    assert count_errors(sample("rustc")) == 7  # the warning is none


def test_types_that_stand_in_a_note_are_taken_where_the_label_has_none() -> None:
    text = (
        "error[E0308]: mismatched types\n  --> src/a.rs:3:4\n   |\n3  |     f(g)\n"
        "   |       ^ expected fn pointer, found fn item\n   |\n"
        "   = note: expected fn pointer `fn(u8)`\n                 found fn item `fn(u16) {g}`\n"
    )
    assert primary_error(text) == (
        "error[E0308]: mismatched types --> src/a.rs: expected fn pointer, found fn item; "
        "expected fn pointer `fn(u8)`, found fn item `fn(u16) {g}`"
    )


def test_the_same_rust_error_some_lines_further_down_is_the_same() -> None:
    moved = sample("rustc").replace("src/lib.rs:3:43", "src/lib.rs:17:9").replace("\n3 |", "\n17 |")
    assert identities(moved) == identities(sample("rustc"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("error: expected one of `;`, found `x`\n --> src/a.rs:3:4\n", "--> src/a.rs"),
        ("error[E0282]: type annotations needed\n --> a.rs:3:4\n  |\n3 | let v = x();\n  |     ^\n", "let v = x();"),
        ("error[E0308]: mismatched types\n --> src/a.rs:3:4\n  |\n3 | f(\n  | ^\n  | |\n  | odd one\n", "odd one"),
    ],
)
def test_a_rust_error_has_its_file_and_what_is_said_about_the_code(text: str, expected: str) -> None:
    assert expected in (primary_error(text) or "")


def test_an_error_of_syntax_has_its_file_and_its_line_of_code() -> None:
    assert identities(sample("py_syntax_many")) == [
        "SyntaxError: invalid syntax --> demo/a.py: def f(",
        "IndentationError: expected an indented block after function definition on line <n> --> demo/b.py: return <n>",
        "SyntaxError: invalid syntax --> demo/c.py: x = foo bar",
        "IndentationError: unindent does not match any outer indentation level --> demo/d.py: y = <n>",
        "SyntaxError: Missing parentheses in call to 'print'. Did you mean print(...)? --> demo/e2.py: print \"x\"",
        "TabError: inconsistent use of tabs and spaces in indentation --> demo/g.py: y=<n>",
    ]
    assert identities(sample("pytest_syntax")) == ["SyntaxError: invalid syntax --> demo/test_q.py: x = = <n>"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "src/a.js:1\nconst x = ;\n          ^\n\nSyntaxError: Unexpected token ';'\n    at wrapSafe (x:1:2)\n",
            "SyntaxError: Unexpected token ';' --> src/a.js: const x =",
        ),
        (
            "src/b.js:2\n\n\n\nSyntaxError: Unexpected end of input\n",
            "SyntaxError: Unexpected end of input --> src/b.js",
        ),
        (
            "SyntaxError: /p/c.js: Unexpected token (2:6)\n\n  1 | const a = 1;\n> 2 | const = ;\n    |       ^\n",
            "SyntaxError: /p/c.js: Unexpected token (2:6): const = ;",
        ),
        ("A.java:2: error: ';' expected\n int f() { return 1 }\n                   ^\n", "int f() { return 1 }"),
        (
            "a.c:1:19: error: expected ‘;’ before ‘}’ token\n    1 | int f() { return 1 }\n      |      ^~\n",
            "token: int f() { return 1 }",
        ),
        (
            'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    assert f(1) == 2\n'
            "           ^^^^^^^^^\nAssertionError\n",
            "AssertionError --> a.py: assert f(1) == 2",
        ),
        (
            'thread \'main\' panicked at src/a.rs:3:4:\nassertion `left == right` failed\n  left: "a"\n right: "b"\n',
            'failed: left: "a" right: "b"',
        ),
    ],
)
def test_the_code_or_the_values_are_part_of_a_headline_that_has_neither(text: str, expected: str) -> None:
    assert (primary_error(text) or "").rstrip(" ;").endswith(expected.rstrip(" ;"))
    assert count_errors(text) == 1


def test_a_headline_of_terraform_has_its_place_and_its_message() -> None:
    assert identities(sample("terraform")) == [
        'Error: Unsupported argument --> main.tf: in resource "terraform_data" "y": '
        'An argument named "foo" is not expected here.',
        'Error: Reference to undeclared input variable --> main.tf: in output "z": An input variable with the name '
        '"nope" has not been declared. This variable can be declared with a variable "nope" {} block.',
        'Error: Reference to undeclared resource --> main.tf: in output "w": A managed resource "terraform_data" "q" '
        "has not been declared in the root module.",
    ]


def test_a_code_alone_is_followed_by_its_message() -> None:
    text = "Error: P3006\n\nMigration `{}` failed to apply cleanly to the shadow database.\n"
    assert primary_error(text.format("a")) == (
        "Error: P3006: Migration `a` failed to apply cleanly to the shadow database."
    )
    assert primary_error(text.format("a")) != primary_error(text.format("b"))


def test_a_conflict_of_npm_names_its_packages() -> None:
    assert primary_error(sample("npm_eresolve")) == (
        "npm error code ERESOLVE | npm error While resolving: x@1.0.0 | npm error Found: p2@undefined | "
        'npm error peer p2@"^2.0.0" from p1@1.0.0'
    )
    assert count_errors(sample("npm_eresolve")) == 1


def test_two_failed_assertions_of_node_differ_by_their_values() -> None:
    found = identities(sample("node_assert"))
    assert len(set(found)) == len(found) == 8
    assert found[1].endswith("strictly deep-equal: + b: 'x' - b: 'y'")
    assert found[2].endswith("strictly equal: <n> !== <n>")


def test_a_type_error_of_a_page_has_its_place() -> None:
    text = "Failed to compile.\n\n./src/app/{}/page.tsx:12:5\nType error: Property 'x' does not exist.\n"
    one, other = identities(text.format("a")), identities(text.format("b"))
    assert one == ["Type error: Property 'x' does not exist. --> src/app/a/page.tsx"]
    assert one != other


def test_a_failed_bundle_names_the_missing_export() -> None:
    assert identities(sample("vite_build")) == [
        'error during build: src/a.js (<n>:<n>): "x" is not exported by "b.js", imported by "a.js".'
    ]


def test_failed_tests_of_perl_are_errors_with_place_and_values() -> None:
    for name in ("prove", "prove_verbose"):
        assert identities(sample(name)) == [
            "Failed test 'adds up' --> t/a.t: got: '<n>' expected: '<n>'",
            "Failed test 'deep' --> t/a.t: Structures begin differing at: $got->[<n>] = '<n>' $expected->[<n>] = '<n>'",
            "Failed test at t/b.t line <n>.",
            "Failed test 'names' --> t/b.t: got: 'a' expected: 'b'",
            "Failed test 'inner' --> t/b.t",
            'syntax error at t/c.t line <n>, near "= ;"',
        ]


def test_symbols_that_the_linker_misses_stand_for_its_failure() -> None:
    text = (
        'Undefined symbols for architecture arm64:\n  "_foo", referenced from:\n      _main in a.o\n'
        "ld: symbol(s) not found for architecture arm64\n"
    )
    assert primary_error(text) == 'Undefined symbols for architecture arm64: "_foo", referenced from'
    assert count_errors(text) == 1


@pytest.mark.parametrize(
    "place",
    [
        "src/{}/index.ts:3:4 - error TS1: x",
        "src/{}/index.ts(3,4): error TS1: x",
        "ERROR in ./src/{}/index.ts:3:4",
        "ERROR in ./src/{}/index.ts 3:4-10",
        "/home/dev/app/src/{}/index.ts:3:4 - error TS1: x",
        "/tmp/tmpab12cd34/{}/__init__.py:3: error: x",
        "C:\\app\\src\\{}\\index.ts:3:4 - error TS1: x",
        "[ERROR] /home/dev/src/{}/Handler.java:[12,5] cannot find symbol",
        "e: file:///home/dev/{}/x.kt:12:5 Unresolved reference: foo",
        "vet: ./{}/x.go:12:3: undefined: foo",
        "thread 'main' panicked at src/{}/mod.rs:3:4: boom",
        "error[E0308]: mismatched types --> src/{}/mod.rs: x",
        "Failed test at t/{}/x.t line 3.",
    ],
)
def test_the_folders_of_a_place_tell_files_of_one_name_apart(place: str) -> None:
    one, other = normalise_error(place.format("a")), normalise_error(place.format("b"))
    assert one != other
    assert normalise_error(one) == one
    assert "home" not in one
    assert "tmp" not in one


def test_only_the_last_folders_of_an_absolute_place_are_kept() -> None:
    assert normalise_error("/srv/a/b/c/d/e.py:1: error: x") == "c/d/e.py:<n>: error: x"
    assert normalise_error("a/b/c/d/e.py:1: error: x") == "a/b/c/d/e.py:<n>: error: x"


# ---------------------------------------------------------------------------------------- environment errors


@pytest.mark.parametrize(
    "line",
    [
        "bash: foo: command not found",
        "bash: line 1: foo: command not found",
        "(eval):1: command not found: foo",
        "zsh: command not found: foo",
        "zsh:1: command not found: foo",
        "sh: 1: foo: not found",
        "/bin/sh: 1: foo: not found",
        "env: 'foo': No such file or directory",
        "/usr/bin/env: ‘foo’: No such file or directory",
        "bash: line 1: cd: /foo: No such file or directory",
        "cd: /foo: No such file or directory",
        "(eval):cd:1: no such file or directory: foo",
        "ENOENT: no such file or directory, posix_spawn '/bin/foo'",
        "Error: spawn foo ENOENT",
        "/usr/bin/python3: No module named foo",
        "'foo' is not recognized as an internal or external command,",
        "bash: line 1: /opt/foo: Permission denied",
        'MCP server "foo" is not connected',
    ],
)
def test_a_program_that_could_not_be_started_is_an_environment_error_by_name(line: str) -> None:
    one = environment_error(f"starting\n{line}\n")
    other = environment_error(line.replace("foo", "bar"))
    assert one is not None
    assert other is not None
    assert one != other


@pytest.mark.parametrize(
    "line",
    [
        "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
        "MCP error -32000: Connection closed",
    ],
)
def test_a_dead_daemon_is_an_environment_error(line: str) -> None:
    assert environment_error(line) is not None


@pytest.mark.parametrize(
    "text",
    [
        "TypeError: x is not a function",
        "a.c:1:10: fatal error: nope.h: No such file or directory",
        "ModuleNotFoundError: No module named 'foo'",
        "npm error code E404",
        "- the agent may fail with `spawn copilot ENOENT` on some systems",
        "404 page not found",
    ],
)
def test_an_error_of_the_program_itself_is_no_environment_error(text: str) -> None:
    assert environment_error(text) is None


# ------------------------------------------------------------------------------------------------ properties

PIECES = st.sampled_from(
    r"""Error: |E   |12|-5|1,234|1.5e-10|0x7f3a2b|/a/b.py|/tmp/tmpab12cd34|:|_|-|<n>|<|>|'|"|\
C:\x\y.ts|a1b2c3d4e5|#ff00aa|12:34:56|2026-05-06T12:00:00Z|35 ms|pid 1234|localhost:8080
==12345== |{|}|[50%]|█|--- FAIL: T
src/a/x.ts|:12:5:|(3,4): |--> | panicked at | at | line 3.|error in |file://|SyntaxError: |  File "a.py", line 1
error[E1]: x\n --> |line 12|FAILED x.py::t - y|UTF-8|worker-3|é| |.|/|@|tmp|ms""".replace("\n", "|").split("|")
)
MARKS = st.sampled_from(["\n", "\r", "\t", "\x1b", "\x1b[31m", "\ud800", "\0", "|"])
TEXTS = st.one_of(st.text(), st.text(st.characters()), st.lists(PIECES | MARKS, max_size=20).map("".join))


@given(TEXTS)
def test_no_text_makes_it_raise(text: str) -> None:
    for function in (strip_ansi, normalise_error, normalise_output, primary_error, environment_error):
        function(text)
    assert count_errors(text) >= 0
    assert all(line.strip() for line in error_lines(text))


@given(TEXTS)
def test_what_was_normalised_once_stays_as_it_is(text: str) -> None:
    assert normalise_error(normalise_error(text)) == normalise_error(text)
    assert normalise_output(normalise_output(text)) == normalise_output(text)


@given(st.text(st.characters(exclude_characters="\x1b\x9b")), st.integers(0, 30))
def test_colours_change_nothing(text: str, at: int) -> None:
    coloured = "\x1b[1;31m" + text[:at] + "\x1b[0m" + text[at:] + "\x1b[0m"
    assert strip_ansi(coloured) == text
    assert normalise_error(coloured) == normalise_error(text)
    assert normalise_output(coloured) == normalise_output(text)
    assert error_lines(coloured) == error_lines(text)


@pytest.mark.parametrize("name", sorted(path.stem for path in OUTPUTS.glob("*.txt")))
def test_a_real_output_has_a_stable_identity(name: str) -> None:
    once = normalise_output(sample(name))
    assert normalise_output(once) == once
    for line in error_lines(sample(name)):
        assert normalise_error(normalise_error(line)) == normalise_error(line)


ADVERSARIAL = [
    "1" * 1_000_000,
    "'\"" * 300_000,
    "/" * 500_000,
    " " * 1_000_000,
    "Error:" * 100_000,
    "Error: x\n" * 20_000,
    "a/" * 300_000,
    "a." * 300_000,
    "1:" * 300_000,
    "1," * 300_000,
    "<n>" * 100_000,
    "\x1b[" * 200_000,
    "\x1b]" * 200_000,
    "a1" * 300_000,
    "E   x\n" * 30_000,
    "Traceback (most recent call last):\n" * 10_000,
    "a\tb\tZ \n" * 20_000,
    ("a." * 990 + "!\n") * 100,
    ("a:1:in " * 280 + ")\n") * 100,
    "[" * 19_000 + "]" * 100,
    '{"a":' * 3_000 + "1" + "}" * 3_000,
    "\r" * 500_000,
    "error[E1]: x\n --> a.rs:1:1\n  |\n1 | x\n" * 20_000,
    "error[E1]: x\n --> a.rs:1:1\n" + "  |\n" * 60_000,
    "SyntaxError: x\n" * 40_000,
    "AssertionError: Expected values to be strictly equal:\n" * 10_000,
    "#   Failed test 'x'\n" * 20_000,
    "Error: x\non a line 1:\n" * 20_000,
    ("a/" * 950 + "x.py:1: error: x\n") * 100,
    ("12:03:04 " + "A." * 900 + "Error\n") * 100,
    ("syntax error " + "at a " * 380 + "\n") * 100,
]


@pytest.mark.parametrize("text", ADVERSARIAL, ids=range(len(ADVERSARIAL)))
def test_long_and_hostile_input_comes_to_an_end(text: str) -> None:
    for function in (
        strip_ansi,
        normalise_error,
        normalise_output,
        primary_error,
        environment_error,
        error_lines,
    ):
        function(text)


# ----------------------------------------------------------------- what a shell misses beside what a program says


@pytest.mark.parametrize(
    "missed",
    ["bash: line 1: NOTE:: command not found", "zsh:1: command not found: dump_state", "sh: 1: foo: not found"],
)
def test_what_a_shell_did_not_find_is_the_error_only_where_nothing_else_is(missed: str) -> None:
    """A line goes on behind a missing command, and a client's shell may miss a command of its own each time."""
    trace = "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\nKeyError: 'price'"
    for output in (f"{missed}\n{trace}\n", f"{trace}\n{missed}\n"):
        assert primary_error(output) == "KeyError: 'price'"
        assert error_lines(output) == ["KeyError: 'price'"]
        assert count_errors(output) == 1
    assert primary_error(f"{missed}\n") == missed
    assert error_lines(f"{missed}\nmake: *** [all] Error 127\n") == [missed]
