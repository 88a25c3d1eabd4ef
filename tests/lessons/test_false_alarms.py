"""Ordinary work that trips naive detectors: each session here has to stay quiet."""

from __future__ import annotations

import pytest

from driver import Client
from lessons.sessions import (
    USER_SAID,
    cargo_red,
    change,
    go_red,
    jest_red,
    put,
    pytest_green,
    pytest_red,
    quiet,
    replace,
    step,
    traceback,
    unsaid,
    vitest_red,
)

# -- polling -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("sleep 30", ""),
        ("sleep 30 && gh run view 17 --json status", '{"status":"in_progress"}'),
        ("gh run view 17 --json status", '{"status":"in_progress"}'),
        ("gh pr checks 12", "build\tpending\t0\thttps://github.com/x/y/actions/runs/1"),
        ("gh run list --limit 1", "in_progress\t\tfix parser\tCI\tmain\tpush\t171\t2m\t2026"),
        ("kubectl get pods", "NAME     READY   STATUS    RESTARTS   AGE\napi-0    0/1     Pending   0          3m"),
        ("kubectl rollout status deploy/api", "Waiting for deployment to finish: 0 of 1 updated replicas"),
        ("docker ps", "CONTAINER ID   IMAGE     COMMAND   CREATED   STATUS    PORTS     NAMES"),
        ("docker compose ps", "NAME      IMAGE     SERVICE   STATUS\ndb-1      postgres  db        starting"),
        ("sleep 5; curl -s http://localhost:8080/health", '{"status":"starting"}'),
        ("tail -n 5 /tmp/build.log", "[ 40%] Building CXX object"),
        ("squeue --me", "JOBID PARTITION NAME USER ST TIME NODES\n 77 gpu train dev PD 0:00 1"),
        ("systemctl status api", "● api.service - API\n     Active: activating (start)"),
        ("jobs", "[1]+  Running                 npm run build &"),
    ],
)
def test_waiting_for_a_job_with_the_same_command_is_no_repetition(agent: Client, command: str, output: str) -> None:
    agent.prompt("wait until it is done")
    for _ in range(6):
        agent.round(agent.bash(command, output))
    assert quiet(agent)


@pytest.mark.parametrize("tool", ["BashOutput", "TaskOutput"])
def test_asking_a_background_job_for_its_output_is_no_repetition(agent: Client, tool: str) -> None:
    for _ in range(6):
        agent.round(agent.call(tool, "<status>running</status>", task_id="b7", bash_id="b7"))
    assert quiet(agent)


def test_polling_in_turn_with_a_sleep_is_no_cycle(agent: Client) -> None:
    for _ in range(6):
        agent.round(agent.bash("sleep 20"))
        agent.round(agent.bash("gh run view 17", "* main CI · 17\nTriggered via push\n\nJOBS\n* build (ID 4)"))
    assert quiet(agent)


# -- red runs that move ---------------------------------------------------------------------------------------


def test_red_twelve_times_running_is_ordinary_while_the_set_of_failures_shrinks(agent: Client) -> None:
    agent.prompt("port the parser")
    for left in range(12, 0, -1):
        failures = {f"tests/test_parser.py::test_case_{name}": RED_LINE for name in "abcdefghijkl"[:left]}
        assert step(agent, "parser.py", output=pytest_red(failures, passed=12 - left)) == ""
    assert unsaid(agent)


RED_LINE = "AssertionError: assert None == Node()"


def test_failures_that_move_from_test_to_test_are_progress(agent: Client) -> None:
    for name in ("open", "close", "nest", "quote", "escape"):
        output = go_red(f"Test{name.title()}", f"{name}: token missing")
        assert step(agent, "calc.go", command="go test ./...", output=output) == ""
    assert unsaid(agent)


def test_a_typed_refactor_whose_compiler_errors_move_from_file_to_file_is_progress(agent: Client) -> None:
    for name, error in (
        ("cart", "TS2339: Property 'total' does not exist on type 'Cart'."),
        ("order", "TS2345: Argument of type 'string' is not assignable to parameter of type 'Money'."),
        ("user", "TS2741: Property 'id' is missing in type '{}' but required in type 'User'."),
        ("main", "TS2554: Expected 2 arguments, but got 1."),
    ):
        output = f"src/{name}.ts(4,11): error {error}"
        assert step(agent, "src/types.ts", command="npx tsc --noEmit", output=output, status=2) == ""
    assert unsaid(agent)


def test_a_typed_refactor_in_python_moves_too(agent: Client) -> None:
    for name, error in (
        ("cart", 'Argument 1 to "add" has incompatible type "str"; expected "Money"  [arg-type]'),
        ("cart", 'Name "Money" is not defined  [name-defined]'),
        ("order", "Missing return statement  [return]"),
        ("order", '"Order" has no attribute "total"  [attr-defined]'),
    ):
        output = f"app/{name}.py:12: error: {error}\nFound 1 error in 1 file (checked 9 source files)"
        assert step(agent, "app/money.py", command="mypy app", output=output) == ""
    assert unsaid(agent)


def test_compiler_errors_of_rust_and_c_that_change_are_progress(agent: Client) -> None:
    for code, text in (
        ("E0425", "cannot find value `c`"),
        ("E0308", "mismatched types"),
        ("E0382", "use of moved value: `rows`"),
    ):
        output = (
            f"   Compiling app v0.1.0\nerror[{code}]: {text}\n --> src/lib.rs:1:41\n  |\n\n"
            "error: could not compile `app` (lib) due to 1 previous error"
        )
        assert step(agent, "src/lib.rs", command="cargo build", output=output, status=101) == ""
    for name in ("x", "y", "z"):
        output = (
            f"a.c: In function ‘main’:\na.c:1:20: error: ‘{name}’ undeclared (first use in this function)\n"
            "make: *** [Makefile:2: all] Error 1"
        )
        assert step(agent, "a.c", command="make", output=output, status=2) == ""
    assert unsaid(agent)


def test_tests_written_first_fail_while_they_are_written(agent: Client) -> None:
    agent.prompt("write the tests first")
    for name in ("empty", "one", "many", "unicode"):
        failures = {f"tests/test_slug.py::test_{name}": "ImportError: cannot import name 'slug' from 'app'"}
        agent.round(agent.edit("tests/test_slug.py"))
        agent.round(agent.bash("pytest tests/test_slug.py", pytest_red(failures), 1))
        agent.round(agent.edit("app.py"))
        agent.round(agent.bash("pytest tests/test_slug.py", pytest_green()))
    assert unsaid(agent)


def test_a_repro_script_that_is_being_set_up_goes_from_error_to_error(agent: Client) -> None:
    for error in (
        "ModuleNotFoundError: No module named 'sqlalchemy'",
        "TypeError: create_engine() missing 1 required positional argument: 'url'",
        "AttributeError: 'Engine' object has no attribute 'execute'",
        "AttributeError: 'Engine' object has no attribute 'begin_twophase'",
    ):
        agent.round(agent.write("repro.py", f"# {error}"))
        assert agent.round(agent.bash("python repro.py", traceback(error), 1)) == ""
    assert unsaid(agent)


def test_the_same_attribute_error_with_another_name_in_quotes_is_progress(agent: Client) -> None:
    for name in ("srcdir", "events", "outdir", "builder"):
        failures = {"tests/test_app.py::test_build": f"AttributeError: 'App' object has no attribute '{name}'"}
        assert step(agent, "app.py", output=pytest_red(failures)) == ""
    assert unsaid(agent)


def test_a_jest_suite_that_gets_one_test_further_each_time_is_progress(agent: Client) -> None:
    for title, wanted, got in (("adds", 3, -1), ("subtracts", 1, 5), ("multiplies", 6, 2), ("divides", 4, 12)):
        error = "expect(received).toBe(expected) // Object.is equality"
        detail = f"    Expected: {wanted}\n    Received: {got}\n\n"
        output = jest_red("src/calc.test.ts", title, error, detail)
        assert step(agent, "src/calc.ts", command="npx jest", output=output) == ""
    assert unsaid(agent)


def test_assertions_of_other_tests_that_differ_in_their_numbers_are_progress(agent: Client) -> None:
    for name, wanted, got in (("adds", 3, -1), ("subtracts", 1, 5), ("multiplies", 6, 2), ("divides", 4, 12)):
        failures = {f"tests/test_calc.py::test_{name}": f"assert {got} == {wanted}"}
        assert step(agent, "calc.py", output=pytest_red(failures)) == ""
    assert unsaid(agent)


def test_a_go_suite_whose_tests_fail_alike_one_after_the_other_is_progress(agent: Client) -> None:
    for name, wanted, got in (("Adds", 3, -1), ("Subtracts", 1, 5), ("Multiplies", 6, 2), ("Divides", 4, 12)):
        output = go_red(f"Test{name}", f"got {got}, want {wanted}")
        assert step(agent, "calc.go", command="go test ./...", output=output) == ""
    assert unsaid(agent)


# -- red before the first edit --------------------------------------------------------------------------------

OLD = {"tests/test_net.py::test_dns": "ConnectionError: name resolution failed for 'example.com'"}


def test_an_unrelated_test_that_was_red_before_and_stays_red_is_no_loop(agent: Client) -> None:
    agent.prompt("add the three exporters")
    agent.round(agent.bash("pytest", pytest_red(OLD, passed=9), 1))
    for name in ("csv", "json", "xml", "toml"):
        new = {f"tests/test_export.py::test_{name}": f"NotImplementedError: {name}"}
        assert step(agent, "export.py", output=pytest_red({**OLD, **new}, passed=9)) == ""
    assert unsaid(agent)


def test_an_unrelated_red_test_is_no_recurring_error_either(agent: Client) -> None:
    agent.round(agent.bash("pytest", pytest_red(OLD, passed=9), 1))
    for name in ("csv", "json", "xml", "toml"):
        new = {f"tests/test_{name}.py::test_{name}": f"NotImplementedError: {name}"}
        assert step(agent, f"{name}_export.py", output=pytest_red({**new, **OLD}, passed=9)) == ""
    assert unsaid(agent)


def test_a_repro_script_that_is_meant_to_fail_is_no_loop_while_the_tests_pass(agent: Client) -> None:
    agent.prompt("the parser must reject this file")
    for _ in range(4):
        agent.round(agent.edit("parser.py"))
        agent.round(agent.bash("pytest -q", "3 passed in 0.04s"))
        agent.round(agent.bash("python repro.py", traceback("ValueError: unclosed bracket"), 1))
    assert unsaid(agent)


# -- no failing checks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "output", "status"),
    [
        ("grep -rn legacy_total src", "", 1),
        ("grep -q legacy_total src/cart.py", "", 1),
        ("rg legacy_total", "", 1),
        ("git grep legacy_total", "", 1),
        ("diff a.txt b.txt", "1c1\n< a\n---\n> b", 1),
        ("test -f build/out.js", "", 1),
        ("git diff --exit-code", "diff --git a/a.py b/a.py", 1),
        ("which rspec", "", 1),
        ("pytest --help", "usage: pytest [options] [file_or_dir]", 4),
        (
            "pytest --colour=no",
            "ERROR: usage: pytest [options] [file_or_dir]\npytest: error: unrecognized arguments: --colour=no",
            4,
        ),
        ("npx jest --help", "Usage: jest [--config=<pathToConfigFile>] [TestPathPattern]", 1),
        ("python -m app --help", "usage: app [-h] {run,list}", 2),
        ("npm run dev", "  VITE v5.4.0  ready in 312 ms\n\n  ➜  Local:   http://localhost:5173/\n^C", 130),
        ("npm run dev", "> vite\n\n  ➜  Local:   http://localhost:5173/", 143),
        ("timeout 10 npm run dev", "  ➜  Local:   http://localhost:5173/", 124),
        ("python -m flask run", " * Running on http://127.0.0.1:5000\nPress CTRL+C to quit", 130),
        ("pytest tests/test_pty.py", "Command timed out after 2m 0s", 143),
        ("timeout 20 pytest tests/test_pty.py", "collected 3 items\n\ntests/test_pty.py .", 124),
        ("timeout -s KILL 20 node pty.js", "", 137),
        ("set -o pipefail; pytest | head -5", pytest_red(), 141),
    ],
)
def test_what_is_no_failing_check_does_not_make_a_loop(agent: Client, command: str, output: str, status: int) -> None:
    for _ in range(4):
        agent.round(agent.edit("cart.py"))
        assert agent.round(agent.bash(command, output, status)) == ""
    assert unsaid(agent)


def test_a_grep_that_found_nothing_is_a_success_to_the_client_and_no_failure_to_us(agent: Client) -> None:
    for _ in range(5):
        agent.round(agent.edit("cart.py"))
        agent.round(agent.bash("grep -rn 'legacy_total' src", ""))
    assert quiet(agent)


def test_the_word_is_error_in_a_result_is_no_error(agent: Client) -> None:
    for _ in range(4):
        agent.round(agent.edit("client.py"))
        agent.round(agent.bash("python client.py", '{"type": "result", "is_error": false, "errors": [], "failed": 0}'))
    assert quiet(agent)


def test_a_linter_neither_counts_nor_recurs(agent: Client) -> None:
    output = (
        "src/cart.py:3:1: F401 [*] `os` imported but unused\nFound 1 error.\n[*] 1 fixable with the `--fix` option."
    )
    for _ in range(5):
        agent.round(agent.edit("src/cart.py"))
        agent.round(agent.bash("ruff check src", output, 1))
    assert agent.said == []
    assert "failing_edits" not in agent.rules()


def test_the_last_part_of_a_chain_where_it_is_not_known_which_part_failed_does_not_count(agent: Client) -> None:
    output = "src/cart.ts\n  3:7  error  'x' is assigned a value but never used  no-unused-vars\n\n✖ 1 problem (1 error, 0 warnings)"
    for _ in range(4):
        agent.round(agent.edit("src/cart.ts"))
        agent.round(agent.bash("prettier --write src && eslint src && npx jest", output, 1))
    assert agent.said == []


# -- one tool over many files -------------------------------------------------------------------------------------


def test_a_batch_of_edits_over_many_files_is_no_repetition(agent: Client) -> None:
    for number in range(12):
        agent.round(agent.edit(f"src/part{number}.py", "import old", "import new"))
    assert quiet(agent)


def test_moving_a_file_and_fixing_its_imports_one_by_one_is_progress(agent: Client) -> None:
    agent.round(agent.bash("git mv src/util.py src/tools/util.py"))
    for name in ("cart", "order", "user", "main"):
        agent.round(agent.edit(f"src/{name}.py", "from util import", "from tools.util import"))
        output = traceback("ModuleNotFoundError: No module named 'util'", f"src/{name}.py")
        agent.round(agent.bash("grep -rln 'from util' src", f"src/{name}.py"))
        assert output
    agent.round(agent.bash("python -m pytest -q", "12 passed in 0.4s"))
    assert quiet(agent)


def test_paging_through_a_long_file_is_no_repetition(agent: Client) -> None:
    for page in range(8):
        call = agent.read("big.log", f"{page * 200}\tline")
        call["tool_input"].update(offset=page * 200, limit=200)
        agent.round(call)
    for page in range(8):
        agent.round(agent.bash(f"sed -n '{page * 100 + 1},{page * 100 + 100}p' big.log", "the same filler line"))
    assert quiet(agent)


def test_paging_with_a_command_that_has_no_place_in_it_is_told_by_its_results(agent: Client) -> None:
    for page in range(8):
        agent.round(agent.call("mcp__browser__scroll_down", f"rows {page}0 to {page}9 of the table", amount=1))
    assert quiet(agent)


def test_the_same_words_searched_in_many_folders_are_no_repetition(agent: Client) -> None:
    for folder in ("src", "lib", "tests", "docs", "scripts"):
        agent.round(agent.call("Grep", "No matches found", pattern="legacy_total", path=folder))
    assert quiet(agent)


# -- rounds ---------------------------------------------------------------------------------------------------


def test_identical_calls_of_one_round_count_once(agent: Client) -> None:
    agent.round(*[agent.read("a.py") for _ in range(5)])
    agent.round(*[agent.bash("ls", "a.py\nb.py") for _ in range(5)])
    agent.round(*[agent.bash("git status --short", "") for _ in range(4)])
    assert quiet(agent)


def test_a_cold_start_with_parallel_reads_is_no_loop(agent: Client) -> None:
    agent.prompt("look around")
    agent.round(*[agent.read(name) for name in ("a.py", "b.py", "a.py", "b.py", "a.py", "b.py")])
    assert quiet(agent)


def test_reading_the_same_files_again_after_a_compaction_is_no_cycle(agent: Client) -> None:
    for _ in range(4):
        agent.round(agent.read("a.py", "1\tx = 1"))
        agent.round(agent.read("b.py", "1\ty = 1"))
        agent.send("PreCompact", trigger="auto", custom_instructions=None)
        agent.send("SessionStart", source="compact")
        agent.send("PostCompact", trigger="auto", compact_summary="We read two files.")
    assert [each for each in agent.said if "loop" in each] == []
    assert "repeated_action" not in agent.rules()


def test_reading_one_file_again_after_each_compaction_is_no_repetition(agent: Client) -> None:
    for _ in range(4):
        agent.round(agent.read("notes.md", "1\tplan"))
        agent.send("PreCompact", trigger="auto", custom_instructions=None)
        agent.send("SessionStart", source="compact")
    assert "repeated_action" not in agent.rules()


@pytest.mark.parametrize(
    "text",
    [
        "<tool_use_error>String to replace not found in file.\nString: x</tool_use_error>",
        "<tool_use_error>Cancelled: parallel tool call Edit(app.py) errored</tool_use_error>",
        "<tool_use_error>Sibling tool call errored</tool_use_error>",
        "<tool_use_error>File has not been read yet. Read it first before writing to it.</tool_use_error>",
    ],
)
def test_a_batch_of_edits_that_fail_together_is_one_failure(agent: Client, text: str) -> None:
    calls = [
        agent.call("Edit", text, file_path=agent.path("app.py"), old_string=f"x{n}", new_string="y") for n in range(5)
    ]
    assert agent.batch(*calls) == ""
    assert agent.batch(*calls[:3]) == ""
    agent.round(agent.read("app.py"))
    agent.round(agent.edit("app.py"))
    assert quiet(agent)


def test_results_that_say_that_a_sibling_failed_are_no_recurring_error(agent: Client) -> None:
    sibling = "<tool_use_error>Sibling tool call errored</tool_use_error>"
    for number in range(4):
        agent.round(agent.edit(f"m{number}.py"))
        agent.batch(
            agent.bash(f"cat missing{number}.py", f"cat: missing{number}.py: No such file or directory", 1),
            agent.call("Bash", sibling, command="ls"),
            agent.call("Read", sibling, file_path="b.py"),
        )
    assert agent.said == []


def test_a_refusal_of_the_tool_says_the_same_words_for_every_file(agent: Client) -> None:
    for name in ("a.py", "b.py", "c.py", "d.py", "e.py"):
        agent.batch(agent.refused(name, "x"))
        agent.round(agent.read(name))
        agent.round(agent.edit(name))
    assert quiet(agent)


@pytest.mark.parametrize(
    "text",
    [
        "<tool_use_error>File has not been read yet. Read it first before writing to it.</tool_use_error>",
        "<tool_use_error>File has been modified since read, either by the user or by a linter. Read it again "
        "before attempting to write it.</tool_use_error>",
    ],
)
def test_many_files_refused_for_the_same_reason_one_after_the_other_are_no_loop(agent: Client, text: str) -> None:
    for name in ("a.py", "b.py", "c.py", "d.py"):
        agent.batch(agent.call("Edit", text, file_path=agent.path(name), old_string="x", new_string="y"))
    assert quiet(agent)


# -- acknowledgements, steady green ----------------------------------------------------------------------------


@pytest.mark.parametrize("output", ["", "ok", "OK", "done", "Done.", "File updated", "true", "success"])
def test_constant_acknowledgements_are_no_sign_of_stagnation(agent: Client, output: str) -> None:
    for number in range(8):
        agent.round(agent.edit(f"templates/page{number}.html"))
        agent.round(agent.bash("python build.py", output))
    assert quiet(agent)


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("npx eslint src", "✔ No problems found"),
        ("golangci-lint run", "0 issues."),
        ("ruff check .", "All checks passed!"),
        ("mypy src", "Success: no issues found in 12 source files"),
        ("pytest -q", "................ [100%]\n16 passed in 0.61s"),
        ("go test ./...", "ok  \texample.com/app\t0.003s"),
        ("npm test", "> app@1.0.0 test\n> jest\n\nPASS src/a.test.js\nTests: 2 passed, 2 total"),
        ("npm run build", "> app@1.0.0 build\n> tsc -p .\n"),
        ("cargo build", "    Finished `dev` profile [unoptimized + debuginfo] target(s) in 0.35s"),
        ("git status", "On branch main\nnothing to commit, working tree clean"),
        ("git log --oneline -3", "ba5b1aa Facts\n0c3a61e Demo\ne2a25e4 Edits"),
        ("cat package.json", '{"name": "app"}'),
        ("ls -la", "total 8\n-rw-r--r-- 1 dev dev 12 Jan 1 10:00 a.py"),
        ("npm run dev", "  VITE v5.4.0  ready in 312 ms\n\n  ➜  Local:   http://localhost:5173/"),
        ("npm start", "> app@1.0.0 start\n> node server.js\n\nServer listening on port 3000"),
    ],
)
def test_what_passes_the_same_way_many_times_across_edits_is_no_unchanged_result(
    agent: Client, command: str, output: str
) -> None:
    for number in range(7):
        agent.round(agent.edit(f"src/part{number}.ts"))
        agent.round(agent.bash(command, output))
    assert quiet(agent)


# -- the person, and other work --------------------------------------------------------------------------------------


def test_the_persons_refusals_are_no_recurring_error(agent: Client) -> None:
    for number in range(5):
        call = agent.edit(f"src/m{number}.py")
        agent.before(call)
        agent.batch({**call, "tool_response": USER_SAID + "not like this"})
        agent.round(agent.edit(f"src/n{number}.py"))
    assert quiet(agent)


@pytest.mark.parametrize(
    "text",
    [
        "Permission to use Bash with command {} has been denied.",
        "Claude requested permissions to use Bash, but you haven't granted it yet.",
        "This command needs approval. Ask the user.",
    ],
)
def test_calls_that_a_rule_refused_are_no_failing_checks(agent: Client, text: str) -> None:
    for _ in range(4):
        agent.round(agent.edit("cart.py"))
        call = agent.bash("npm test")
        agent.before(call)
        assert agent.batch({**call, "tool_response": text.format("npm test")}) == ""
    assert "failing_edits" not in agent.rules()
    assert "recurring_error" not in agent.rules()


def test_edits_that_the_person_refused_are_not_refused_by_the_edit_tool(agent: Client) -> None:
    for number in range(4):
        call = agent.edit("cart.py")
        agent.before(call)
        agent.batch({**call, "tool_response": USER_SAID + f"smaller, please ({number})"})
    assert quiet(agent)


def test_an_error_whose_only_text_is_the_exit_code_has_no_identity(agent: Client) -> None:
    for number in range(6):
        agent.round(agent.edit(f"src/m{number}.ts"))
        agent.round(agent.bash(f"./scripts/step{number}.sh", "", 1))
        agent.round(agent.bash(f"npm run build:{number}", "", 1))
    assert "recurring_error" not in agent.rules()
    assert agent.said == []


@pytest.mark.parametrize(
    "wrapper",
    [
        "npm error Lifecycle script `build` failed with error:\nnpm error code 1\nnpm error path /home/dev/project",
        "ELIFECYCLE  Command failed with exit code 1.",
        "[lint] ERROR task failed",
        "Exception occurred:",
        "error Command failed with exit code 1.\ninfo Visit https://yarnpkg.com/en/docs/cli/run for documentation.",
        "make: *** [Makefile:2: all] Error 1",
        "(pass) parser > fails clearly [0.12ms]",
    ],
)
def test_wrappers_and_banners_are_no_errors(agent: Client, wrapper: str) -> None:
    for number in range(5):
        agent.round(agent.edit(f"src/m{number}.ts"))
        agent.round(agent.bash(f"npm run step{number}", wrapper, 1))
    assert "recurring_error" not in agent.rules()
    assert agent.said == []


def test_work_without_file_edits_is_no_stall(agent: Client) -> None:
    agent.prompt("review this branch")
    for number in range(25):
        agent.round(agent.read(f"src/m{number}.py", f"1\tx = {number}"))
        agent.round(agent.bash(f"git show HEAD~{number} --stat", f" m{number}.py | 2 +-"))
    for number in range(12):
        agent.round(agent.call("mcp__browser__click", f"clicked; page {number}", selector=f"#row{number}"))
        agent.round(agent.bash(f"ssh web1 'sudo systemctl restart w{number}'", ""))
    assert quiet(agent)


def test_asking_the_person_question_after_question_is_no_loop(agent: Client) -> None:
    for number in range(6):
        text = f'Your questions have been answered: "Q{number}"="yes". You can now continue with these answers in mind.'
        agent.round(agent.call("AskUserQuestion", text, questions=[{"question": f"Q{number}"}]))
    assert quiet(agent)


def test_a_todo_list_kept_up_to_date_is_no_repetition(agent: Client) -> None:
    for _ in range(5):
        agent.round(agent.call("TodoWrite", "Todos have been modified successfully.", todos=[]))
    assert quiet(agent)


def test_a_heredoc_and_a_failing_program_on_one_line_is_no_refused_write(agent: Client) -> None:
    for number, error in enumerate(("KeyError: 'a'", "TypeError: bad operand", "ValueError: too many values")):
        command = f"cat > probe.py <<'EOF'\nprint({number})\nEOF\npython probe.py"
        agent.round(agent.bash(command, traceback(error, "probe.py"), 1))
    assert "rejected_edits" not in agent.rules()
    assert agent.said == []


def test_ids_of_calls_that_repeat_change_nothing(agent: Client) -> None:
    for name in ("srcdir", "events", "config", "outdir"):
        edit = {**agent.edit("app.py"), "tool_use_id": "REDACTED"}
        failures = {"tests/test_app.py::test_a": f"AttributeError: 'App' object has no attribute '{name}'"}
        check = {**agent.bash("pytest", pytest_red(failures), 1), "tool_use_id": "REDACTED"}
        agent.round(edit)
        agent.round(check)
    assert unsaid(agent)


# -- oscillation -----------------------------------------------------------------------------------------------------


def test_a_change_that_is_undone_step_by_step_is_no_oscillation(agent: Client) -> None:
    states = ["a = 1\n", "a = 1\nb = 2\n", "a = 1\nb = 2\nc = 3\n", "a = 1\nb = 2\n", "a = 1\n"]
    put(agent, {"m.py": states[0]})
    for state in states[1:]:
        change(agent, agent.write("m.py", state), {"m.py": state})
        agent.round(agent.bash("pytest -q", "3 passed in 0.02s"))
    assert quiet(agent)


def test_a_change_that_is_split_into_two_commits_is_no_oscillation(agent: Client) -> None:
    put(agent, {"m.py": "a\n"})
    for part in ("b", "c", "d"):
        replace(agent, "m.py", "a\n", f"a\n{part}\n")
        agent.round(agent.bash("git stash push -p", f"Saved working directory and index state WIP on main: {part}"))
        put(agent, {"m.py": "a\n"})
        agent.round(agent.bash(f"git commit -am 'part {part}'", f"[main 1a2b3c4] part {part}"))
    assert "oscillation" not in agent.rules()
    assert agent.said == []


def test_fixtures_that_are_switched_are_no_oscillation(agent: Client) -> None:
    for _ in range(3):
        for name, rows in (("small", "1\n"), ("large", "1\n2\n")):
            change(agent, agent.write("fixtures/current.csv", rows), {"fixtures/current.csv": rows})
            agent.round(agent.bash(f"python bench.py {name}", f"{name}: {len(rows)} rows/s"))
    assert "oscillation" not in agent.rules()


def test_blocks_that_are_moved_within_a_file_are_no_oscillation(agent: Client) -> None:
    put(agent, {"m.py": "one\ntwo\nthree\n"})
    for state in ("two\nthree\n", "two\none\nthree\n", "one\nthree\n", "one\ntwo\nthree\n"):
        change(agent, agent.write("m.py", state), {"m.py": state})
    agent.round(agent.bash("pytest -q", "3 passed in 0.02s"))
    assert quiet(agent)


# -- tampering -------------------------------------------------------------------------------------------------------


def test_removing_the_tests_of_removed_code_is_no_tampering(agent: Client) -> None:
    put(
        agent,
        {
            "cart.py": "def total(): return 1\n\n\ndef legacy(): return 2\n",
            "tests/test_cart.py": "def test_total():\n    assert total() == 1\n\n\ndef test_legacy():\n    assert legacy() == 2\n",
        },
    )
    agent.prompt("legacy() has to go")
    replace(agent, "cart.py", "\n\ndef legacy(): return 2\n", "")
    failures = {"tests/test_cart.py::test_legacy": "NameError: name 'legacy' is not defined"}
    agent.round(agent.bash("pytest", pytest_red(failures, passed=1), 1))
    replace(agent, "tests/test_cart.py", "\n\ndef test_legacy():\n    assert legacy() == 2\n", "")
    assert agent.round(agent.bash("pytest", pytest_green(1))) == ""
    assert quiet(agent)


def test_renaming_a_test_is_no_tampering(agent: Client) -> None:
    put(agent, {"tests/test_cart.py": "def test_a():\n    assert total() == 1\n"})
    agent.round(agent.bash("pytest", pytest_red({"tests/test_cart.py::test_a": "AssertionError: flaky"}), 1))
    replace(agent, "tests/test_cart.py", "def test_a():\n", "def test_total_of_one():\n")
    assert agent.round(agent.bash("pytest", pytest_green(1))) == ""
    assert quiet(agent)


def test_writing_a_test_first_and_mending_it_is_no_tampering(agent: Client) -> None:
    first = "def test_slug():\n    assert slug('A b') == 'a_b'\n"
    change(agent, agent.write("tests/test_slug.py", first), {"tests/test_slug.py": first})
    agent.round(
        agent.bash("pytest", pytest_red({"tests/test_slug.py::test_slug": "AssertionError: assert 'a-b' == 'a_b'"}), 1)
    )
    replace(agent, "tests/test_slug.py", "'a_b'", "'a-b'")
    assert agent.round(agent.bash("pytest", pytest_green(1))) == ""
    assert quiet(agent)


def test_mending_a_test_that_the_session_wrote_through_the_shell_is_no_tampering(agent: Client) -> None:
    text = "test('slug', () => {\n  expect(slug('A b')).toBe('a_b')\n})\n"
    command = f"cat > src/slug.test.js <<'EOF'\n{text}EOF"
    change(agent, agent.bash(command), {"src/slug.test.js": text})
    red = jest_red("src/slug.test.js", "slug", "expect(received).toBe(expected) // Object.is equality")
    agent.round(agent.bash("npx jest", red, 1))
    replace(agent, "src/slug.test.js", "'a_b'", "'a-b'")
    assert agent.round(agent.bash("npx jest", "PASS src/slug.test.js\nTests: 1 passed, 1 total")) == ""
    assert quiet(agent)


# -- other runners that move ------------------------------------------------------------------------------------------


def test_two_tests_that_fail_in_turn_are_no_loop_of_failing_edits(agent: Client) -> None:
    for number in range(4):
        title = "adds" if number % 2 else "parses"
        output = vitest_red("src/a.test.ts", title, f"AssertionError: expected {title} to be done")
        agent.round(agent.edit(f"src/m{number}.ts"))
        agent.round(agent.bash("npx vitest run", output, 1))
    assert "failing_edits" not in agent.rules()


def test_a_rust_test_whose_name_changes_with_each_run_is_progress(agent: Client) -> None:
    for name in ("adds", "subtracts", "scales"):
        assert (
            step(agent, "src/lib.rs", command="cargo test", output=cargo_red(f"tests::{name}", "-1", "3"), status=101)
            == ""
        )
    assert unsaid(agent)


def test_one_red_test_of_many_edited_files_is_two_failures_only(agent: Client) -> None:
    assert step(agent, "a.py", "b.py", "c.py") == ""
    assert step(agent, "a.py", "b.py", "c.py") == ""
    agent.round(agent.edit("a.py"))
    agent.round(agent.bash("pytest", pytest_green()))
    assert quiet(agent)
