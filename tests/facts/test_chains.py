"""A chain of commands that failed: what its output shows of which part it was."""

from __future__ import annotations

import pytest

from unspin import events as ev
from unspin.facts.commands import outcome
from unspin.facts.diagnostics import build_stopped, compiler_error
from unspin.facts.failures import failing_tests
from unspin.facts.shell import read_line

GCC = "a.c: In function 'main':\na.c:3:5: error: 'x' undeclared (first use in this function)\n"
LINKER = "/usr/bin/ld: /tmp/x.o: in function `main':\na.c:(.text+0x5): undefined reference to `f'\ncollect2: error: ld returned 1 exit status\n"
JAVAC = "A.java:3: error: cannot find symbol\n    foo();\n    ^\n1 error\n"
JAVA = 'Exception in thread "main" java.lang.IllegalStateException: no\n\tat A.main(A.java:3)\n'
TSC = "src/a.ts(3,4): error TS2322: Type 'string' is not assignable to type 'number'.\n"
RUST = 'error[E0308]: mismatched types\n --> src/main.rs:3:5\nerror: could not compile `x` (bin "x") due to 1 previous error\n'
PYTEST = "FAILED tests/test_a.py::test_b - AssertionError: no\n=== 1 failed, 2 passed in 0.1s ===\n"
MYPY = 'a.py:3: error: Incompatible return value type (got "str", expected "int")  [return-value]\n'
NODE = "/p/dist/x.js:3\n    throw new Error('no')\n    ^\n\nError: no\n    at Object.<anonymous> (/p/dist/x.js:3:9)\n"
GO = "# example.com/x\n./a.go:3:5: undefined: foo\n"
VALUE = 'Traceback (most recent call last):\n  File "y.py", line 1, in <module>\nValueError: no\n'

CASES = [
    ("gcc -o a a.c && ./a", GCC, ["failed", "unknown"]),
    ("gcc -o a a.c && ./a", LINKER, ["failed", "unknown"]),
    ("gcc -o a a.c && ./a", "a: error: cannot open the file\nError: no\n", ["unknown", "failed"]),
    ("gcc -o a a.c && ./a", "42\n", ["unknown", "unknown"]),
    ("gcc -o a b.c && ./a", "gcc: error: b.c: No such file or directory\n", ["unknown", "unknown"]),
    ("javac A.java && java A", JAVAC, ["failed", "unknown"]),
    ("javac A.java && java A", JAVA, ["unknown", "failed"]),
    ("npm run build && npm test", TSC, ["failed", "unknown"]),
    ("npm run build && npm test", "nothing known\n", ["unknown", "unknown"]),
    ("npm run build && pytest", PYTEST, ["unknown", "failed"]),
    ("make clean && make", GCC, ["failed"]),
    ("make clean && make", "whatever\n", ["failed"]),
    ("cargo clean && cargo build", RUST, ["failed"]),
    ("cmake .. && make", GCC, ["failed", "unknown"]),
    ("cmake .. && make", "whatever\n", ["failed", "unknown"]),
    ("cargo build && cargo test", RUST, ["failed", "unknown"]),
    ("go build ./... && go test ./...", GO, ["failed", "unknown"]),
    ("tsc && node dist/x.js", TSC, ["failed", "unknown"]),
    ("tsc && node dist/x.js", NODE, ["unknown", "failed"]),
    ("npm run build && node dist/x.js", NODE, ["unknown", "unknown"]),
    ("npm install && npm run build", TSC, ["failed"]),
    ("npm install && npm run build", "npm error code ERESOLVE\n", ["unknown"]),
    ("npm install && npm test", "npm error code ERESOLVE\n", ["unknown"]),
    ("python x.py && python y.py", VALUE, ["failed", "unknown"]),
    ("eslint . && tsc --noEmit", TSC, ["unknown", "failed"]),
    ("golangci-lint run && go build", GO, ["unknown", "unknown"]),
    ("ruff format --check . && ruff check . && pytest", "whatever\n", ["unknown", "unknown", "unknown"]),
    ("npm run fmt && npm run lint && npm test", "error: something\n", ["unknown", "unknown"]),
    ("mypy . && pytest", MYPY, ["failed", "unknown"]),
    ("npm test && npm run build", TSC, ["unknown", "unknown"]),
    (
        "make && ./a",
        "Traceback (most recent call last):\nValueError: no\nmake: *** [gen] Error 1\n",
        ["unknown", "unknown"],
    ),
    ("python repro.py && python main.py", VALUE, ["failed", "unknown"]),
    ("python main.py && python repro.py", VALUE, ["unknown", "failed"]),
    ("make && git commit -m x", "nothing to commit\n", ["unknown"]),
    ("make; ./a", GCC, ["unknown", "failed"]),
]


def outcomes(command: str, output: str, status: int = 1) -> list[str]:
    event = ev.shell(command, output, status)
    failing = failing_tests(output)
    return [outcome(check, event, failing) for check in read_line(command).checks]


@pytest.mark.parametrize(("command", "output", "expected"), CASES)
def test_of_a_chain_that_part_failed_which_the_output_shows(command, output, expected):
    assert outcomes(command, output) == expected


@pytest.mark.parametrize("command", ["gcc -o a a.c && ./a", "pytest && python -m unittest"])
def test_signals_and_usage_errors_stay_no_verdict_in_a_chain(command):
    assert set(outcomes(command, "", 139)) == {"unknown"}
    assert set(outcomes("jest && pytest", "", 5)) == {"unknown"}


def test_only_a_compilers_place_is_a_compilers_error():
    for output in (GCC, LINKER, JAVAC, TSC, RUST, MYPY, GO):
        assert compiler_error(output), output
        assert build_stopped(output)
    for output in (JAVA, NODE, PYTEST, VALUE, "error: no\n", "script.lox:3:4: error: no\n", ""):
        assert not compiler_error(output), output
    assert not build_stopped(JAVA)
    assert not compiler_error("a.c:3:5: warning: unused variable\n")
    assert compiler_error(TSC, typescript_only=True)
    assert not compiler_error(GCC, typescript_only=True)


def test_a_very_long_line_takes_no_time():
    assert not compiler_error("a." * 500_000 + ":1:" * 100_000)
