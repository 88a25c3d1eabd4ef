"""What the tests of this folder share: outputs as real runners print them, and steps of a session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from driver import Client

RED = {"tests/test_format.py::test_x": "TypeError: format() missing 1 required positional argument: 'x'"}
NOT_FOUND = "String to replace not found in file."
USER_SAID = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, "
    "the new_string was NOT written to the file). To tell you how to proceed, the user said:\n"
)


def pytest_red(failures: Mapping[str, str] = RED, passed: int = 0, seconds: str = "0.12") -> str:
    """What pytest prints for these failing tests: node id to error line."""
    tests = sorted({each.split("::")[0] for each in failures})
    lines = [
        "============================= test session starts ==============================",
        "platform linux -- Python 3.11.7, pytest-9.2.0, pluggy-1.7.0",
        "rootdir: /home/dev/project",
        f"collected {len(failures) + passed} items",
        "",
        *(f"{each} {'.' * passed}{'F' * sum(1 for one in failures if one.startswith(each))}  [100%]" for each in tests),
        "",
        "=================================== FAILURES ===================================",
    ]
    for number, (test, error) in enumerate(failures.items()):
        kind = error.split(":")[0] if "Error" in error.split(":")[0] else "AssertionError"
        lines += [
            f"______________________________ {test.split('::')[-1]} ______________________________",
            "",
            f"    def {test.split('::')[-1]}():",
            ">       check()",
            f"E       {error}",
            "",
            f"{test.split('::')[0]}:{number + 4}: {kind}",
        ]
    lines.append("=========================== short test summary info ============================")
    lines += [f"FAILED {test} - {error}" for test, error in failures.items()]
    tail = f"{len(failures)} failed, {passed} passed" if passed else f"{len(failures)} failed"
    lines.append(f"========================= {tail} in {seconds}s ==========================")
    return "\n".join(lines)


def pytest_green(passed: int = 3, seconds: str = "0.05") -> str:
    return (
        "============================= test session starts ==============================\n"
        "platform linux -- Python 3.11.7, pytest-9.2.0, pluggy-1.7.0\n"
        f"rootdir: /home/dev/project\ncollected {passed} items\n\n"
        f"tests/test_format.py {'.' * passed}  [100%]\n\n"
        f"============================== {passed} passed in {seconds}s ==============================="
    )


def jest_red(file: str, title: str, error: str, detail: str = "") -> str:
    return (
        f"FAIL {file}\n  ✓ keeps the rest (2 ms)\n  ✕ {title} (4 ms)\n\n  ● {title}\n\n    {error}\n\n{detail}"
        "      5 | test('it', () => {\n    > 6 |   expect(run()).toBe(3);\n        |                 ^\n\n"
        f"      at Object.<anonymous> ({file}:6:17)\n\n"
        "Test Suites: 1 failed, 1 total\nTests:       1 failed, 1 passed, 2 total\n"
        "Snapshots:   0 total\nTime:        0.512 s\nRan all test suites."
    )


def jest_green(file: str) -> str:
    return (
        f"PASS {file}\n  ✓ keeps the rest (2 ms)\n  ✓ adds (1 ms)\n\nTest Suites: 1 passed, 1 total\n"
        "Tests:       2 passed, 2 total\nSnapshots:   0 total\nTime:        0.498 s\nRan all test suites."
    )


def vitest_red(file: str, title: str, error: str) -> str:
    return (
        f" RUN  v3.2.4 /home/dev/project\n\n ❯ {file} (2 tests | 1 failed) 6ms\n   × {title} 4ms\n     → {error}\n\n"
        f"⎯⎯⎯⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯⎯⎯⎯\n\n FAIL  {file} > {title}\n{error}\n ❯ {file}:6:17\n\n"
        "⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯[1/1]⎯\n\n Test Files  1 failed (1)\n      Tests  1 failed | 1 passed (2)\n"
        "   Start at  10:31:02\n   Duration  312ms (transform 21ms, setup 0ms, collect 18ms, tests 6ms)"
    )


def go_red(test: str, message: str, package: str = "example.com/app/calc") -> str:
    return f"--- FAIL: {test} (0.00s)\n    calc_test.go:9: {message}\nFAIL\nFAIL\t{package}\t0.003s\nFAIL"


def go_green(package: str = "example.com/app/calc") -> str:
    return f"ok  \t{package}\t0.003s"


def cargo_red(test: str, left: str, right: str) -> str:
    return (
        "   Compiling app v0.1.0 (/home/dev/project)\n"
        "    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.35s\n"
        "     Running unittests src/lib.rs (target/debug/deps/app-c4c22c6d67a6f8ac)\n\n"
        f"running 1 test\ntest {test} ... FAILED\n\nfailures:\n\n---- {test} stdout ----\n\n"
        f"thread '{test}' (22770) panicked at src/lib.rs:2:60:\nassertion `left == right` failed\n"
        f"  left: {left}\n right: {right}\n"
        "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\n\n"
        f"failures:\n    {test}\n\n"
        "test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.06s\n\n"
        "error: test failed, to rerun pass `--lib`"
    )


def cargo_green() -> str:
    return (
        "    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.35s\n"
        "     Running unittests src/lib.rs (target/debug/deps/app-c4c22c6d67a6f8ac)\n\n"
        "running 1 test\ntest tests::adds ... ok\n\n"
        "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s"
    )


def rspec_red(title: str, expected: str, got: str) -> str:
    return (
        f"F\n\nFailures:\n\n  1) {title}\n     Failure/Error: expect(total).to eq({expected})\n\n"
        f"       expected: {expected}\n            got: {got}\n\n       (compared using ==)\n"
        "     # ./spec/cart_spec.rb:6:in `block (2 levels) in <top (required)>'\n\n"
        "Finished in 0.01 seconds (files took 0.08 seconds to load)\n1 example, 1 failure\n\nFailed examples:\n\n"
        f"rspec ./spec/cart_spec.rb:5 # {title}"
    )


def maven_red(test: str, message: str) -> str:
    return (
        f"[INFO] Running com.example.{test.split('.')[0]}\n"
        f"[ERROR] Tests run: 1, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.05 s <<< FAILURE!\n"
        f"[ERROR] com.example.{test} -- Time elapsed: 0.01 s <<< FAILURE!\n"
        f"org.opentest4j.AssertionFailedError: {message}\n"
        f"\tat com.example.{test.split('.')[0]}.sum(CartTest.java:9)\n\n[INFO] Results:\n[INFO]\n[ERROR] Failures:\n"
        f"[ERROR]   {test}:9 {message}\n[INFO]\n[ERROR] Tests run: 1, Failures: 1, Errors: 0, Skipped: 0\n[INFO]\n"
        "[INFO] BUILD FAILURE"
    )


def maven_green() -> str:
    return (
        "[INFO] Running com.example.CartTest\n"
        "[INFO] Tests run: 1, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.04 s\n[INFO]\n"
        "[INFO] Tests run: 1, Failures: 0, Errors: 0, Skipped: 0\n[INFO]\n[INFO] BUILD SUCCESS"
    )


def traceback(error: str, *frames: str) -> str:
    """A Python traceback as a program prints it; each frame is a file."""
    lines = ["Traceback (most recent call last):"]
    for number, frame in enumerate(frames or ("repro.py",)):
        lines += [f'  File "/home/dev/project/{frame}", line {number + 3}, in <module>', "    main()"]
    return "\n".join([*lines, error])


# -- steps ---------------------------------------------------------------------------------------------------


def step(agent: Client, *files: str, command: str = "pytest", output: str | None = None, status: int = 1) -> str:
    """A round of edits of each file, then a round with the check; returns the line given after the check."""
    lines = [agent.round(agent.edit(name)) for name in files or ("format.py",)]
    said = agent.round(agent.bash(command, pytest_red() if output is None else output, status))
    return "".join(lines) + said


def loop(agent: Client, name: str = "format.py") -> str:
    """Three failing edits of one file: the nudge stands after it."""
    lines = [step(agent, name) for _ in range(3)]
    assert lines[:2] == ["", ""]
    assert lines[2].startswith(f'Unspin: loop (3 failing edits on "{name}"'), lines[2]
    return lines[2]


def change(agent: Client, call: dict[str, Any], files: Mapping[str, str | None]) -> str:
    """A round of one call that really changes these files of the project (``None``: deletes)."""
    answered = agent.before(call)
    assert answered.status == 0, answered.reason
    put(agent, files)
    return agent.batch(call)


def put(agent: Client, files: Mapping[str, str | None]) -> None:
    """Make the project's files so."""
    for name, content in files.items():
        path = agent.project / name
        if content is None:
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)


def replace(agent: Client, name: str, old: str, new: str) -> str:
    """A round with an Edit of a file that stands on disk."""
    content = (agent.project / name).read_text()
    assert content.count(old) == 1, (name, old)
    return change(agent, agent.edit(name, old, new), {name: content.replace(old, new)})


def quiet(agent: Client) -> bool:
    """Nothing was said and nothing was noticed but what is only logged; shows what was, if not."""
    noticed = [(each["rule"], each["identity"]) for each in agent.log()]
    assert agent.said == [], agent.said
    assert noticed == [], noticed
    return True


def unsaid(agent: Client) -> bool:
    """Nothing was said or refused; what was noticed was only logged."""
    assert agent.said == [], agent.said
    spoken = [each for each in agent.log() if each["response"] != "none"]
    assert spoken == [], spoken
    return True
