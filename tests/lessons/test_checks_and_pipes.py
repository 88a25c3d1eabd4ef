"""Which command is a check, of which kind, and whether its exit status tells its outcome: through the hook."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from driver import Client
from lessons.sessions import loop, maven_red, pytest_green, pytest_red, step, unsaid
from unspin.cli.app import app
from unspin.paths import state_folder
from unspin.store import Store

RED = pytest_red()
GREEN = pytest_green()
TSC = "src/a.ts(4,11): error TS2339: Property 'total' does not exist on type 'Cart'."


def role(agent: Client, command: str, output: str, status: int) -> str:
    """What ``command`` is after two failing edits and a third edit: ``counts``, ``resets`` or ``neither``."""
    step(agent)
    step(agent)
    agent.round(agent.edit("format.py"))
    if "failing edits" in agent.round(agent.bash(command, output, status)):
        return "counts"
    return "neither" if "failing edits" in step(agent) else "resets"


# -- whose status is known ---------------------------------------------------------------------------------------

PLAIN = [
    "pytest",
    "pytest tests/test_format.py::test_x -x",
    "python -m pytest -q",
    "python3.11 -m pytest",
    "cd sub && pytest",
    "cd /tmp; pytest",
    "git log --oneline | head -3 && pytest",
    "echo start | tee log; pytest",
    "uv run pytest",
    "uv run --with x pytest -q",
    "uv run python -m pytest",
    "poetry run pytest",
    "pipenv run pytest",
    "hatch run pytest",
    "pdm run pytest",
    "env PYTHONPATH=. pytest",
    "PYTHONPATH=src DEBUG=1 pytest",
    "timeout 60 pytest",
    "nice -n 5 pytest",
    "time pytest",
    "bash -c 'pytest'",
    'bash -lc "cd sub && pytest -q"',
    "sh -c 'pytest tests'",
    "docker compose exec api pytest",
    "docker compose exec -T api python -m pytest",
    "docker exec -it api pytest",
    "docker compose run --rm api pytest",
    ".venv/bin/pytest",
    "./venv/bin/python -m pytest",
    "/usr/bin/env pytest",
    "sudo -u dev pytest",
    "xvfb-run pytest",
    "source .venv/bin/activate && pytest",
    "mise run test -- tests/test_format.py",
    "mise exec -- pytest",
    "fnm exec -- pnpm test",
    "npm test",
    "npm run test:unit",
    "pnpm test",
    "yarn test",
    "bun test",
    "make test",
    "make check",
    "just test",
    "tox -e py311",
    "nox -s tests",
    "pytest 2>&1",
    "pytest > log.txt 2>&1",
    "(cd sub && pytest)",
    "{ pytest; }",
    "set -o pipefail; pytest | tail -5",
    "set -euo pipefail\npytest 2>&1 | tee log.txt",
    "bash -o pipefail -c 'pytest | tail -5'",
    "export A=1 && pytest",
    "pytest # all of them",
    "pytest \\\n  -q \\\n  tests",
    "exec pytest",
    "command pytest",
    "pytest < /dev/null",
    "pytest -k 'a or b'",
]


@pytest.mark.parametrize("command", PLAIN)
def test_a_failing_check_counts(agent: Client, command: str) -> None:
    assert role(agent, command, RED, 1) == "counts"


@pytest.mark.parametrize("command", PLAIN)
def test_a_passing_check_resets(agent: Client, command: str) -> None:
    assert role(agent, command, GREEN, 0) == "resets"


@pytest.mark.parametrize("command", ["pytest && git log | head", "pytest && echo done", "pytest && git commit -am x"])
def test_a_check_that_had_to_pass_for_the_rest_to_run_passed(agent: Client, command: str) -> None:
    assert role(agent, command, GREEN + "\n1a2b3c4 one commit", 0) == "resets"


# -- blind -------------------------------------------------------------------------------------------------------

BLIND = [
    "pytest | tail -5",
    "pytest 2>&1 | tail -20",
    "pytest 2>&1 | tee log.txt",
    "pytest |& tail",
    "pytest | grep -E 'passed|failed'",
    "pytest | tail; echo $?",
    "pytest | tail; echo ${PIPESTATUS[0]}",
    "pytest || true",
    "pytest || :",
    "pytest; echo done",
    'pytest; echo "exit: $?"',
    "pytest\necho done",
    "pytest &",
    "pytest & wait",
    "! pytest",
    "pytest > log.txt 2>&1; tail -5 log.txt",
    "if pytest; then echo yes; else echo no; fi",
    "while ! pytest; do sleep 1; done",
    "bash -c 'pytest | tail'",
    'bash -c "pytest; true"',
    "uv run pytest | tail -3",
    "cd sub && pytest | head",
    "docker compose exec api pytest | tail",
    'out=$(pytest); echo "$out"',
    "echo $(pytest)",
    "cat <(pytest)",
    "(pytest) | cat",
    "{ pytest; echo x; }",
    "set +o pipefail; pytest | tail",
    "set -o pipefail; set +o pipefail; pytest | tail",
    "pytest || git status",
    "for t in a b; do pytest $t; done | tail",
    "npm test 2>&1 | tail -30",
    "make test | tail",
    "yes | pytest | cat",
]


@pytest.mark.parametrize("command", BLIND)
def test_a_check_whose_status_is_swallowed_does_not_count(agent: Client, command: str) -> None:
    assert role(agent, command, RED, 0) == "neither"


@pytest.mark.parametrize("command", BLIND)
def test_a_check_whose_status_is_swallowed_does_not_reset(agent: Client, command: str) -> None:
    assert role(agent, command, GREEN, 0) == "neither"


@pytest.mark.parametrize("command", BLIND)
def test_a_check_whose_status_is_swallowed_lifts_no_block(agent: Client, command: str) -> None:
    loop(agent)
    agent.round(agent.bash(command, GREEN))
    assert agent.before(agent.edit("format.py")).status == 2


def test_a_head_that_closes_the_pipe_of_a_check_is_unknown_even_with_pipefail(agent: Client) -> None:
    assert role(agent, "set -o pipefail; pytest | head -5", RED, 141) == "neither"


def test_a_check_in_the_background_is_unknown(agent: Client) -> None:
    step(agent)
    step(agent)
    agent.round(agent.edit("format.py"))
    call = agent.bash(
        "pytest", "Command running in background with ID: b7. Output is being written to: /tmp/b7.output."
    )
    call["tool_input"]["run_in_background"] = True
    assert agent.round(call) == ""
    assert "failing edits" in step(agent)


def test_a_check_that_the_client_moved_to_the_background_is_unknown(agent: Client) -> None:
    text = (
        "collected 3 items\nCommand did not complete within its 120s timeout and was moved to the background (ID: b7)."
    )
    assert role(agent, "pytest", text, 0) == "neither"


@pytest.mark.parametrize(
    "command",
    [
        "echo pytest",
        "grep -rn pytest .",
        "pip install pytest",
        "which pytest",
        "cat pytest.ini",
        "git commit -m 'run pytest'",
        "pytest --version",
        "pytest --collect-only -q",
        "vim -c ':!pytest'",
    ],
)
@pytest.mark.parametrize("status", [0, 1])
def test_a_command_that_only_names_a_runner_is_no_check_of_it(agent: Client, command: str, status: int) -> None:
    assert role(agent, command, "pytest", status) == "neither"


def test_a_heredoc_that_holds_a_runners_name_is_no_check(agent: Client) -> None:
    command = "cat > notes.md <<'EOF'\npytest\nnpm test\nEOF"
    assert role(agent, command, "", 0) == "neither"


# -- kinds -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("npm run build", "> tsc -p .\n"),
        ("npx tsc --noEmit", ""),
        ("python app.py", "served"),
        ("ruff check .", "All checks passed!"),
        ("npx eslint .", ""),
        ("mypy src", "Success: no issues found in 12 source files"),
        ("cargo build", "    Finished `dev` profile"),
        ("make", "cc -o a a.c"),
    ],
)
def test_a_green_check_of_another_kind_says_nothing_about_red_tests(agent: Client, command: str, output: str) -> None:
    assert role(agent, command, output, 0) == "neither"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("ruff check .", "src/a.py:3:1: F401 [*] `os` imported but unused\nFound 1 error."),
        (
            "npx eslint src",
            "src/a.ts\n  3:7  error  'x' is never used  no-unused-vars\n\n✖ 1 problem (1 error, 0 warnings)",
        ),
        ("golangci-lint run", "main.go:3:2: unused import (unused)"),
        ("cargo clippy -- -D warnings", "error: unused variable: `x`"),
        ("npm run lint", "✖ 1 problem"),
        ("prettier --check src", "[warn] src/a.ts"),
        ("ruff format --check", "Would reformat: src/a.py"),
        ("pylint src", "src/a.py:1:0: C0114: Missing module docstring"),
        ("shellcheck a.sh", "In a.sh line 2: SC2086"),
    ],
)
def test_a_linter_that_fails_neither_counts_nor_resets(agent: Client, command: str, output: str) -> None:
    assert role(agent, command, output, 1) == "neither"


def test_a_passed_test_resets_the_streaks_of_all_kinds(agent: Client) -> None:
    for _ in range(2):
        step(agent, command="npx tsc --noEmit", output=TSC, status=2)
    agent.round(agent.bash("npm test", "Tests: 2 passed, 2 total"))
    for _ in range(2):
        assert step(agent, command="npx tsc --noEmit", output=TSC, status=2) == ""
    assert unsaid(agent)


def test_a_pass_of_a_type_check_resets_the_streak_of_type_checks(agent: Client) -> None:
    for _ in range(2):
        step(agent, command="npx tsc --noEmit", output=TSC, status=2)
    agent.round(agent.bash("npx tsc --noEmit", ""))
    for _ in range(2):
        assert step(agent, command="npx tsc --noEmit", output=TSC, status=2) == ""
    assert "failing edits" in step(agent, command="npx tsc --noEmit", output=TSC, status=2)


KINDS = [
    ("go test ./...", "--- FAIL: TestSum (0.00s)\n    sum_test.go:9: got 1, want 2\nFAIL\nFAIL\texample.com/app\t0.003s\nFAIL"),
    ("cargo test", "test tests::adds ... FAILED\n\nfailures:\n    tests::adds\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored"),
    ("cargo nextest run", "        FAIL [   0.005s] app tests::adds\nerror: test run failed"),
    ("mvn test", maven_red("CartTest.sum", "expected: <2> but was: <1>")),
    ("./gradlew test", "CartTest > sum() FAILED\n    org.opentest4j.AssertionFailedError at CartTest.java:9\n\nBUILD FAILED in 3s"),
    ("dotnet test", "  Failed App.Tests.CartTests.Sum [12 ms]\n  Error Message:\n   Assert.Equal() Failure\nFailed!  - Failed: 1, Passed: 0"),
    ("bundle exec rspec", "Failures:\n\n  1) Cart sums\n     Failure/Error: expect(total).to eq(2)\n\n1 example, 1 failure\n\nrspec ./spec/cart_spec.rb:5 # Cart sums"),
    ("vendor/bin/phpunit", "There was 1 failure:\n\n1) CartTest::testSum\nFailed asserting that 1 matches expected 2.\n\nFAILURES!\nTests: 1, Assertions: 1, Failures: 1."),
    ("mix test", "  1) test sums (CartTest)\n     test/cart_test.exs:5\n     Assertion with == failed\n\n1 test, 1 failure"),
    ("swift test", "CartTests.swift:9: error: -[AppTests.CartTests testSum] : XCTAssertEqual failed: (\"1\") is not equal to (\"2\")"),
    ("ctest --output-on-failure", "The following tests FAILED:\n\t  1 - sum (Failed)\nErrors while running CTest"),
    ("npx jest", "FAIL src/a.test.ts\n  ● adds\n\n    TypeError: x is not a function\n\nTests: 1 failed, 1 total"),
    ("npx mocha", "  0 passing (4ms)\n  1 failing\n\n  1) adds:\n     AssertionError: expected 1 to equal 2"),
    ("node --test", "not ok 1 - adds\n  ---\n  error: |-\n    Expected values to be strictly equal:\n    2 !== 3\n  ...\n# fail 1"),
    ("npx playwright test", "  1) [chromium] › a.spec.ts:3:1 › adds\n\n    Error: expect(received).toBe(expected)\n\n  1 failed"),
    ("deno test", "adds ... FAILED (3ms)\nerror: AssertionError: Values are not equal.\nFAILED | 0 passed | 1 failed (9ms)"),
    ("python -m unittest", "FAIL: test_a (test_cart.T.test_a)\nAssertionError: 1 != 2\n\nRan 1 test in 0.000s\n\nFAILED (failures=1)"),
    ("python manage.py test", "FAIL: test_a (shop.tests.T.test_a)\nAssertionError: 1 != 2\n\nFAILED (failures=1)"),
    ("go vet ./...", "./main.go:5:2: undefined: foo"),
    ("gcc a.c -o a", "a.c:1:20: error: ‘x’ undeclared (first use in this function)"),
    ("cmake --build build", "a.cpp:1:20: error: ‘x’ was not declared in this scope\nmake: *** [all] Error 2"),
    ("dotnet build", "Cart.cs(3,5): error CS0103: The name 'x' does not exist in the current context\nBuild FAILED."),
    ("./gradlew build", "e: file:///home/dev/app/Cart.kt:3:5 Unresolved reference: x\n\nBUILD FAILED in 3s"),
    ("swift build", "Cart.swift:3:5: error: cannot find 'x' in scope"),
    ("npx pyright", "/home/dev/project/a.py:3:5 - error: \"x\" is not defined (reportUndefinedVariable)\n1 error, 0 warnings"),
    ("npx vue-tsc --noEmit", "src/a.vue(4,11): error TS2339: Property 'total' does not exist on type 'Cart'."),
    ("python app.py", "Traceback (most recent call last):\n  File \"app.py\", line 3, in <module>\nNameError: name 'x' is not defined"),
    ("node app.js", "TypeError: x is not a function\n    at Object.<anonymous> (/home/dev/project/app.js:3:3)"),
    ("ruby app.rb", "app.rb:3:in `<main>': undefined local variable or method `x' for main:Object (NameError)"),
    ("go run .", "./main.go:5:2: undefined: foo"),
    ("cargo run", "error[E0425]: cannot find value `c` in this scope\n --> src/lib.rs:1:41"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "output"), KINDS, ids=[command for command, _ in KINDS])
def test_three_edits_with_the_same_failure_of_any_ecosystems_runner_are_a_loop(
    agent: Client, command: str, output: str
) -> None:
    lines = [step(agent, "src/cart.x", command=command, output=output) for _ in range(3)]
    assert [bool(line) for line in lines] == [False, False, True]
    assert "failing edits" in lines[2]


# -- named by the person -----------------------------------------------------------------------------------------


def test_the_person_can_name_their_own_check(tmp_path: Path) -> None:
    agent = Client(tmp_path, settings='[checks.commands]\ntest = ["./ci.sh"]\n')
    lines = [step(agent, command="./ci.sh", output="E   TypeError: x is not a function") for _ in range(3)]
    assert "failing edits" in lines[2]


def test_an_own_check_of_kind_lint_does_not_count(tmp_path: Path) -> None:
    agent = Client(tmp_path, settings='[checks.commands]\nlint = ["./style.sh"]\n')
    for number in range(3):
        agent.round(agent.edit("format.py"))
        assert agent.round(agent.bash("./style.sh", f"E: line too long: {number}", 1)) == ""
    assert "failing_edits" not in agent.rules()


def test_an_own_check_that_is_piped_is_unknown(tmp_path: Path) -> None:
    agent = Client(tmp_path, settings='[checks.commands]\ntest = ["./ci.sh"]\n')
    assert role(agent, "./ci.sh | tail", RED, 0) == "neither"


def recorded(agent: Client, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    """Run ``unspin check -- COMMAND`` in the project, as the agent's shell would."""
    agent.store = Store(state_folder())
    monkeypatch.chdir(agent.project)
    CliRunner().invoke(app, ["check", "--", command])


@pytest.mark.parametrize("tail", ["", " | tail -3", "; echo done"])
def test_a_check_that_is_wrapped_has_its_real_outcome(
    agent: Client, monkeypatch: pytest.MonkeyPatch, tail: str
) -> None:
    agent.store = Store(state_folder())
    for number in range(3):
        agent.round(agent.edit("format.py"))
        call = agent.bash(f"unspin check -- ./ci.sh{tail}", RED, 0 if tail else 1)
        assert agent.before(call).status == 0
        (agent.project / "ci.sh").write_text("#!/bin/sh\nexit 1\n")
        (agent.project / "ci.sh").chmod(0o755)
        recorded(agent, monkeypatch, "./ci.sh")
        line = agent.batch(call)
        assert ("failing edits" in line) == (number == 2)


def test_a_wrapped_check_that_passed_resets_though_it_is_piped(agent: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    agent.store = Store(state_folder())
    step(agent)
    step(agent)
    agent.round(agent.edit("format.py"))
    call = agent.bash("unspin check -- ./ci.sh | tail -3", GREEN)
    agent.before(call)
    (agent.project / "ci.sh").write_text("#!/bin/sh\nexit 0\n")
    (agent.project / "ci.sh").chmod(0o755)
    recorded(agent, monkeypatch, "./ci.sh")
    agent.batch(call)
    assert step(agent) == ""


# -- summaries of piped runs --------------------------------------------------------------------------------------


def test_summaries_of_piped_runs_are_not_read_by_default(agent: Client) -> None:
    for _ in range(4):
        assert step(agent, command="pytest | tail -20", output=RED, status=0) == ""
    assert "failing_edits" not in agent.rules()


def test_summaries_of_piped_runs_count_where_the_person_asks_for_it(tmp_path: Path) -> None:
    agent = Client(tmp_path, settings="[checks]\nread_summaries = true\n")
    lines = [step(agent, command="pytest | tail -20", output=RED, status=0) for _ in range(3)]
    assert "failing edits" in lines[2]


def test_a_green_summary_resets_where_the_person_asks_for_it(tmp_path: Path) -> None:
    agent = Client(tmp_path, settings="[checks]\nread_summaries = true\n")
    assert role(agent, "pytest | tail -2", "=== 3 passed in 0.05s ===", 0) == "resets"


@pytest.mark.parametrize("output", ["", "collected 3 items", "some text that says passed and failed"])
def test_an_output_without_a_runners_summary_stays_unknown(tmp_path: Path, output: str) -> None:
    agent = Client(tmp_path, settings="[checks]\nread_summaries = true\n")
    assert role(agent, "pytest | tail -2", output, 0) == "neither"


# -- texts of the client ---------------------------------------------------------------------------------------------


def test_a_successful_command_that_prints_exit_code_first_is_told_apart_by_the_failure_hook(agent: Client) -> None:
    for _ in range(2):
        step(agent)
    agent.round(agent.edit("format.py"))
    call = agent.bash("pytest", "Exit code 1\n" + GREEN)
    agent.before(call)
    agent.batch(call)  # no PostToolUseFailure came: the contract does not say which is believed
    assert len(agent.said) <= 1


def test_a_failing_check_told_by_the_failure_hook_and_by_the_batch_counts_once(agent: Client) -> None:
    lines = []
    for _ in range(3):
        agent.round(agent.edit("format.py"))
        call = agent.bash("pytest", RED, 1)
        agent.before(call)
        given = {key: call[key] for key in ("tool_name", "tool_input", "tool_use_id")}
        told = agent.send("PostToolUseFailure", **given, error=call["tool_response"], is_interrupt=False, duration_ms=9)
        lines.append(told.line + agent.batch(call))
    assert [bool(line) for line in lines] == [False, False, True]
    assert "3 failing edits" in lines[2]


def test_a_result_in_content_blocks_is_read_like_text(agent: Client) -> None:
    for number in range(3):
        agent.round(agent.edit("format.py"))
        call = agent.bash("pytest", RED, 1)
        call["tool_response"] = [{"type": "text", "text": call["tool_response"]}]
        line = agent.round(call)
        assert ("failing edits" in line) == (number == 2)
