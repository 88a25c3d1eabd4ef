"""What the record says of an agent's claims: sessions driven through the hook, then texts checked against them."""

from __future__ import annotations

from typing import Any

import pytest

from driver import Client
from unspin.handoff.check import annotate, check, is_partial
from unspin.handoff.ledger import Ledger, git_words

PASSED = "===== 12 passed in 0.31s ====="
FAILED = "FAILED tests/test_cart.py::test_total - assert 1 == 2\n===== 1 failed, 11 passed in 0.31s ====="


def _ledger(agent: Client) -> Ledger:
    return Ledger.from_records(agent.store.records(agent.session))


def _tags(agent: Client, text: str) -> list[str]:
    return [tag.text for tag in check(text, _ledger(agent))]


def _passing(agent: Client, command: str = "pytest -q", output: str = PASSED) -> dict[str, Any]:
    return agent.bash(command, output)


def _failing(agent: Client, command: str = "pytest -q") -> dict[str, Any]:
    return agent.bash(command, FAILED, 1)


# -- tests -----------------------------------------------------------------------------


def test_a_pass_with_nothing_edited_since_is_verified(agent: Client) -> None:
    agent.round(agent.edit("src/a.py"))
    agent.round(_passing(agent))
    assert _tags(agent, "All tests pass.") == ["[verified]"]
    assert _tags(agent, "Tests pass.") == ["[verified]"]


@pytest.mark.parametrize("command", ["pytest -q | tail -3", "pytest 2>&1 | tee log", "pytest | grep passed"])
def test_a_piped_run_verifies_nothing(agent: Client, command: str) -> None:
    agent.round(agent.edit("src/a.py"))
    agent.round(_passing(agent, command))
    assert _tags(agent, "All tests pass.") == ["[unverified: piped]"]
    assert _tags(agent, "12 tests pass.") == ["[unverified: piped]"]


@pytest.mark.parametrize("command", ["pytest || true", "pytest; echo done"])
def test_a_run_whose_status_is_hidden_verifies_nothing(agent: Client, command: str) -> None:
    agent.round(_passing(agent, command))
    assert _tags(agent, "All tests pass.") == ["[unverified: exit status hidden]"]


def test_a_run_in_the_background_verifies_nothing(agent: Client) -> None:
    agent.round(agent.bash("pytest", "Command running in background with ID: b1"))
    assert _tags(agent, "All tests pass.") == ["[unverified: background]"]


def test_a_pass_and_then_an_edit_is_stale(agent: Client) -> None:
    agent.round(_passing(agent))
    agent.round(agent.edit("src/a.py"))
    assert _tags(agent, "All tests pass.") == ["[stale: edited since]"]


def test_an_edit_through_the_shell_makes_it_stale_too(agent: Client) -> None:
    agent.round(_passing(agent))
    agent.round(agent.bash("sed -i 's/a/b/' src/a.py"))
    assert _tags(agent, "All tests pass.") == ["[stale: edited since]"]


def test_an_edit_of_a_subagent_makes_it_stale_too(agent: Client) -> None:
    agent.round(_passing(agent))
    agent.batch(agent.edit("src/a.py"), agent_id="a1", agent_type="general-purpose")
    assert _tags(agent, "All tests pass.") == ["[stale: edited since]"]


def test_a_refused_edit_does_not_make_it_stale(agent: Client) -> None:
    agent.round(_passing(agent))
    agent.round(agent.refused("src/a.py"))
    assert _tags(agent, "All tests pass.") == ["[verified]"]


@pytest.mark.parametrize("command", ["git status", "git add -A", "git commit -m done", "ls src", "git diff | head"])
def test_what_changes_no_file_leaves_it_verified(agent: Client, command: str) -> None:
    agent.round(agent.edit("src/a.py"))
    agent.round(_passing(agent))
    agent.round(agent.bash(command, "ok"))
    assert _tags(agent, "All tests pass.") == ["[verified]"]


def test_a_file_outside_of_the_project_leaves_it_verified(agent: Client) -> None:
    agent.round(_passing(agent))
    agent.round(agent.write("/tmp/note.md", "x"))
    assert _tags(agent, "All tests pass.") == ["[verified]"]


@pytest.mark.parametrize(
    "command", ["git pull", "python gen.py", "git stash pop", "ruff format .", "npx eslint --fix ."]
)
def test_after_a_command_that_may_have_changed_files_nothing_is_said(agent: Client, command: str) -> None:
    agent.round(_passing(agent))
    agent.round(agent.bash(command, "ok"))
    assert _tags(agent, "All tests pass.") in ([], ["[stale: edited since]"])
    assert "[verified]" not in _tags(agent, "All tests pass.")


def test_a_failed_last_run_contradicts(agent: Client) -> None:
    agent.round(_passing(agent))
    agent.round(agent.edit("src/a.py"))
    agent.round(_failing(agent))
    assert _tags(agent, "All tests pass.") == ["[contradicted: last test run failed]"]
    agent.round(agent.edit("src/a.py"))
    assert _tags(agent, "Fixed it; all tests pass.") == ["[contradicted: last test run failed]"]
    agent.round(_passing(agent))
    assert _tags(agent, "All tests pass.") == ["[verified]"]


def test_a_piped_run_after_a_failed_one_hides_how_it_stands(agent: Client) -> None:
    agent.round(_failing(agent))
    agent.round(agent.edit("src/a.py"))
    agent.round(_passing(agent, "pytest -q | tail -1"))
    assert _tags(agent, "All tests pass.") == ["[unverified: piped]"]


def test_a_piped_run_after_an_edit_is_told_rather_than_the_pass_before_it(agent: Client) -> None:
    agent.round(_passing(agent))
    agent.round(agent.edit("src/a.py"))
    agent.round(_passing(agent, "pytest -q | tail -1"))
    assert _tags(agent, "All tests pass.") == ["[unverified: piped]"]


def test_a_piped_run_after_a_formatter_is_told_as_well(agent: Client) -> None:
    agent.round(_passing(agent))
    agent.round(agent.bash("ruff format .", "1 file reformatted"))
    agent.round(_passing(agent, "pytest -q | tail -1"))
    assert _tags(agent, "All tests pass.") == ["[unverified: piped]"]


def test_a_piped_run_on_the_same_files_takes_nothing_from_the_pass_before_it(agent: Client) -> None:
    agent.round(_passing(agent))
    agent.round(_passing(agent, "pytest -q | tail -1"))
    assert _tags(agent, "All tests pass.") == ["[verified]"]


def test_where_no_test_ran_it_is_told(agent: Client) -> None:
    agent.round(agent.edit("src/a.py"))
    agent.round(agent.bash("ls"))
    assert _tags(agent, "I fixed `src/a.py`. All tests pass.") == ["[verified]", "[unverified: not run]"]


@pytest.mark.parametrize("command", ["./ci.sh", "git commit -m x", "python verify.py", "git push"])
def test_where_tests_may_have_run_inside_of_something_nothing_is_said(agent: Client, command: str) -> None:
    agent.round(agent.edit("src/a.py"))
    agent.round(agent.bash(command, "ok"))
    assert _tags(agent, "All tests pass.") == []


def test_another_tool_may_have_run_tests_as_well(agent: Client) -> None:
    agent.round(agent.edit("src/a.py"))
    agent.round(agent.call("mcp__runner__execute", "done", target="all"))
    assert _tags(agent, "All tests pass.") == []


def test_a_subagent_that_was_not_seen_at_work_may_have_run_tests(agent: Client) -> None:
    agent.round(agent.call("Task", "All done, 12 tests pass.", prompt="test it", subagent_type="tester"))
    assert _tags(agent, "All tests pass.") == []


def test_a_subagents_own_run_counts(agent: Client) -> None:
    agent.batch(_passing(agent), agent_id="a1", agent_type="tester")
    agent.round(agent.call("Task", "All done.", prompt="test it", subagent_type="tester"))
    assert _tags(agent, "All tests pass.") == ["[verified]"]
    agent.batch(agent.edit("src/a.py"), agent_id="a2", agent_type="coder")
    agent.round(agent.call("Task", "All done.", prompt="mend it", subagent_type="coder"))
    assert _tags(agent, "All tests pass.") == ["[stale: edited since]"]


def test_a_commit_whose_hooks_may_have_run_tests_takes_the_contradiction_back(agent: Client) -> None:
    agent.round(_failing(agent))
    agent.round(agent.edit("src/a.py"))
    agent.round(agent.bash("git commit -am fixed", "ok"))
    assert _tags(agent, "All tests pass.") == []


def test_a_refused_run_is_no_run(agent: Client) -> None:
    agent.batch(agent.call("Bash", "The user doesn't want to proceed with this tool use.", command="pytest"))
    assert _tags(agent, "All tests pass.") == ["[unverified: not run]"]


def test_tests_of_hooks_and_of_ci_are_not_judged(agent: Client) -> None:
    agent.round(_failing(agent))
    assert _tags(agent, "The pre-commit hook ran, and all tests pass.") == []
    assert _tags(agent, "On CI all tests pass.") == []


def test_what_is_no_claim_gets_no_tag(agent: Client) -> None:
    agent.round(_failing(agent))
    text = "If the tests pass I will push. Do they? The tests should pass.\n\n> All tests pass.\n\n- [ ] tests pass\n"
    assert _tags(agent, text) == []
    assert annotate(text, check(text, _ledger(agent))) == text


def test_that_tests_fail_is_verified_by_a_failed_run(agent: Client) -> None:
    agent.round(_failing(agent))
    assert _tags(agent, "The tests fail.") == ["[verified]"]
    agent.round(agent.edit("src/a.py"))
    assert _tags(agent, "The tests fail.") == []


# -- counts, parts, several commands ---------------------------------------------------


def test_a_count_is_compared_with_what_the_run_told(agent: Client) -> None:
    agent.round(_passing(agent))
    assert _tags(agent, "All 12 tests pass.") == ["[verified]"]
    assert _tags(agent, "12/12 tests pass.") == ["[verified]"]
    assert _tags(agent, "All 48 tests pass.") == ["[contradicted: 12 tests passed]"]
    assert _tags(agent, "The 3 tests pass.") == []


def test_a_run_of_a_part_does_not_verify_all(agent: Client) -> None:
    agent.round(_passing(agent, "pytest tests/test_cart.py"))
    assert _tags(agent, "All tests pass.") == ["[unverified: only a part was run]"]
    assert _tags(agent, "Tests in `tests/test_cart.py` pass.") == ["[verified]"]
    assert _tags(agent, "The cart tests pass.") == ["[verified]"]
    assert _tags(agent, "All 12 tests pass.") == ["[verified]"]
    assert _tags(agent, "The price tests pass.") == []
    assert _tags(agent, "The new tests pass.") == []
    assert _tags(agent, "Those tests pass.") == []


def test_a_claim_of_a_command_is_judged_by_its_own_runs(agent: Client) -> None:
    agent.round(_passing(agent, "npm test", "ok"))
    agent.round(_passing(agent, "cargo test | tail -1"))
    assert _tags(agent, "`npm test` passes.") == ["[verified]"]
    assert _tags(agent, "`cargo test` passes.") == ["[unverified: piped]"]
    assert _tags(agent, "`go test ./...` passes.") == []


def test_a_run_of_all_stands_beside_a_later_run_of_a_part(agent: Client) -> None:
    agent.round(_passing(agent))
    agent.round(_passing(agent, "pytest tests/test_cart.py"))
    assert _tags(agent, "All tests pass.") == ["[verified]"]


def test_a_failure_of_another_command_on_the_same_files_leaves_it_open(agent: Client) -> None:
    agent.round(_failing(agent, "pytest tests/test_cart.py"))
    agent.round(_passing(agent, "npm test", "ok"))
    assert _tags(agent, "All tests pass.") == []


@pytest.mark.parametrize(
    ("command", "part"),
    [
        ("pytest", False),
        ("pytest -q tests", False),
        ("python -m pytest", False),
        ("npm test", False),
        ("cargo test", False),
        ("go test ./...", False),
        ("ruff check src tests", False),
        ("mypy src", False),
        ("make -k test", False),
        ("mypy --strict src/shop", False),
        ("mypy src/shop/cart.py", True),
        ("dotnet test App.sln", False),
        ("python manage.py test", False),
        ("phpunit --configuration phpunit.xml", False),
        ("node --test", False),
        ("npx vitest --run", False),
        ("cargo test --workspace", False),
        ("tsc --project tsconfig.json", False),
        ("npx jest -w 2", False),
        ("npm test -w packages/core", True),
        ("cargo test --lib", True),
        ("./gradlew test --tests CartTest", True),
        ("npx playwright test -g cart", True),
        ("pytest tests/test_a.py", True),
        ("pytest -k cart", True),
        ("pytest -m slow", True),
        ("pytest tests/test_a.py::test_x", True),
        ("cargo test -p core", True),
        ("npx vitest run src/a.test.ts", True),
        ("npx jest -t adds", True),
        ("go test ./pkg/cart", True),
        ("go test -run TestCart ./...", True),
        ("pnpm --filter api test", True),
    ],
)
def test_of_a_command_whether_it_picks_a_part(command: str, part: bool) -> None:
    assert is_partial(command) is part


# -- other checks ----------------------------------------------------------------------


def test_each_kind_of_check_is_judged_for_itself(agent: Client) -> None:
    agent.round(agent.edit("src/a.py"))
    agent.round(_passing(agent))
    agent.round(agent.bash("ruff check .", "Found 2 errors.", 1))
    agent.round(agent.bash("mypy src | tail -1", "Success"))
    text = "Tests pass, lint is clean, types are clean."
    ledger = _ledger(agent)
    assert [tag.text for tag in check(text, ledger)] == [
        "[verified]",
        "[contradicted: last lint run failed]",
        "[unverified: piped]",
    ]
    assert annotate(text, check(text, ledger)) == (
        f"{text} [verified] (tests), [contradicted: last lint run failed] (lint), [unverified: piped] (types)"
    )


def test_a_build_that_ran_is_judged(agent: Client) -> None:
    agent.round(agent.bash("npm run build", "ok"))
    assert _tags(agent, "The build passes.") == ["[verified]"]
    agent.round(agent.bash("npm run build", "error TS2304: Cannot find name 'x'.", 1))
    assert _tags(agent, "The build passes.") == ["[contradicted: last build failed]"]


def test_beside_a_build_types_are_not_said_to_be_unread(agent: Client) -> None:
    agent.round(agent.bash("npm run build", "ok"))
    assert _tags(agent, "TypeScript compiles.") == []
    assert _tags(agent, "Typecheck passes.") == []


# -- commands --------------------------------------------------------------------------


def test_a_command_that_ran_is_verified(agent: Client) -> None:
    agent.round(agent.bash("cd api && npm run build 2>&1 | tail -3", "ok"))
    assert _tags(agent, "I ran `npm run build`.") == ["[verified]"]
    assert _tags(agent, "I ran the build.") == ["[verified]"]


def test_of_a_run_and_its_outcome_the_outcome_is_judged(agent: Client) -> None:
    agent.round(_passing(agent, "pytest -q | tail -1"))
    assert _tags(agent, "I ran the tests and they pass.") == ["[unverified: piped]"]
    assert _tags(agent, "Ran `pytest -q`: all green.") == ["[unverified: piped]"]


def test_a_check_that_did_not_run_is_told(agent: Client) -> None:
    agent.round(agent.edit("src/a.py"))
    assert _tags(agent, "I ran `pytest -q`.") == ["[unverified: not run]"]
    assert _tags(agent, "I ran the tests.") == ["[unverified: not run]"]
    assert _tags(agent, "I ran `frobnicate --all`.") == []


def test_a_check_that_ran_by_another_name_is_not_said_to_be_missing(agent: Client) -> None:
    agent.round(_passing(agent, "python -m pytest"))
    assert _tags(agent, "I ran `pytest`.") in ([], ["[verified]"])


# -- files and deeds -------------------------------------------------------------------


def test_a_file_that_was_changed_is_verified(agent: Client) -> None:
    agent.round(agent.edit("src/a.py"), agent.write("docs/new.md", "x"))
    agent.round(agent.bash("rm old.py"))
    text = "- Updated `src/a.py`\n- Created `docs/new.md`\n- Fixed the total in `a.py:12`\n- Deleted `old.py`\n"
    assert _tags(agent, text) == ["[verified]"] * 4


def test_a_file_that_is_not_in_the_record_is_not_judged(agent: Client) -> None:
    agent.round(agent.edit("src/a.py"))
    assert _tags(agent, "Updated `src/b.py`.") == []


def test_an_edit_that_was_refused_contradicts(agent: Client) -> None:
    agent.round(agent.refused("src/a.py"))
    assert _tags(agent, "Updated `src/a.py`.") == ["[contradicted: the edit was refused]"]
    agent.round(agent.bash("python gen.py", "ok"))  # that may have done it
    assert _tags(agent, "Updated `src/a.py`.") == []


def test_a_refused_edit_that_was_made_again_is_verified(agent: Client) -> None:
    agent.round(agent.refused("src/a.py"))
    agent.round(agent.edit("src/a.py"))
    assert _tags(agent, "Updated `src/a.py`.") == ["[verified]"]


def test_a_file_that_was_only_written_is_not_said_to_be_deleted(agent: Client) -> None:
    agent.round(agent.edit("src/a.py"))
    assert _tags(agent, "Deleted `src/a.py`.") == []


def test_a_commit_is_verified_where_its_status_told(agent: Client) -> None:
    agent.round(agent.bash("git add -A && git commit -m 'Fix | it'", "ok"))
    assert _tags(agent, "Committed as `1a2b3c4`.") == ["[verified]"]


def test_a_commit_that_failed_contradicts(agent: Client) -> None:
    agent.round(agent.bash("git commit -m x", "hook failed", 1))
    assert _tags(agent, "Committed.") == ["[contradicted: last commit failed]"]
    agent.round(agent.bash("git commit -m x", "ok"))
    assert _tags(agent, "Committed.") == ["[verified]"]


def test_a_piped_push_is_not_judged(agent: Client) -> None:
    agent.round(agent.bash("git push | tail -1", "ok"))
    assert _tags(agent, "Pushed to `main`.") == []


# -- the text --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("All tests pass.", "All tests pass. [verified]"),
        ("All tests pass.\n", "All tests pass. [verified]\n"),
        ("All tests pass. I am done.\n", "All tests pass. [verified] I am done.\n"),
        ("- **All tests pass**\n- more\n", "- **All tests pass** [verified]\n- more\n"),
        ("- [x] tests pass  \r\n", "- [x] tests pass [verified]  \r\n"),
        ("✅ All 12 tests pass!\n\nBye", "✅ All 12 tests pass! [verified]\n\nBye"),
        ("Tests: 12 passed, 0 failed", "Tests: 12 passed, 0 failed [verified]"),
        ("## All tests pass\n", "## All tests pass [verified]\n"),
        ("Nothing to say.\n", "Nothing to say.\n"),
        ("", ""),
    ],
)
def test_a_tag_stands_after_the_sentence_and_all_else_stays(agent: Client, text: str, expected: str) -> None:
    agent.round(_passing(agent))
    assert annotate(text, check(text, _ledger(agent))) == expected


def test_without_its_tags_an_annotated_text_is_the_text(agent: Client) -> None:
    agent.round(_passing(agent))
    text = "# Done\r\n\r\nAll tests pass.  \n\n```\nAll tests pass.\n```\n\t- tests pass\n\n\nAll tests pass"
    annotated = annotate(text, check(text, _ledger(agent)))
    assert annotated.replace(" [verified]", "") == text
    assert annotated.count("[verified]") == 3


# -- the ledger ------------------------------------------------------------------------


def test_the_ledger_counts_failing_attempts_by_file(agent: Client) -> None:
    for _ in range(2):
        agent.round(agent.edit("src/a.py"))
        agent.round(_failing(agent))
    file = _ledger(agent).files["src/a.py"]
    assert (file.changes, file.failing, file.failed, file.by) == (2, 2, 2, {"agent"})
    agent.round(agent.edit("src/b.py"))
    agent.round(_passing(agent))
    ledger = _ledger(agent)
    assert (ledger.files["src/a.py"].failing, ledger.files["src/a.py"].failed) == (0, 2)
    assert ledger.files["src/b.py"].failed == 0


def test_the_ledger_keeps_errors_open_until_their_check_passes(agent: Client) -> None:
    agent.round(_failing(agent))
    agent.round(agent.edit("src/a.py"))
    agent.round(_failing(agent))
    (error,) = _ledger(agent).open_errors()
    assert (error.kind, error.count) == ("test", 2)
    agent.round(_passing(agent))
    assert _ledger(agent).open_errors() == []


def test_the_ledger_knows_the_last_run_of_each_kind(agent: Client) -> None:
    agent.prompt("Mend it.")
    agent.round(_passing(agent))
    agent.round(_failing(agent, "ruff check ."))
    agent.round(_passing(agent, "pytest | tail -1"))
    ledger = _ledger(agent)
    assert ledger.kinds() == ["test", "lint"]
    last, passed = ledger.last_run("test"), ledger.last_pass("test")
    assert last is not None and last.hidden == "piped" and last.counts == [12, 0, 0]
    assert passed is not None and passed.command == "pytest -q"
    assert [each.text for each in ledger.messages] == ["Mend it."]


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("git add -A && git commit -m 'git pull'", {"add", "commit"}),
        ("cd x && git -C y push", {"push"}),
        ("git commit -m \"$(cat <<'EOF'\ngit merge\nEOF\n)\"", {"commit"}),
        ("ls", set()),
    ],
)
def test_what_a_line_asks_of_git(label: str, words: set[str]) -> None:
    assert git_words(label) == words
