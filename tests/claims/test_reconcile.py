"""Claims of a final text against what the tools did: the three ways, other tools, and work that nobody can see."""

from __future__ import annotations

from typing import Any

import pytest

from unspin import events as ev
from unspin.claims import DONE, FAILED, POSSIBLE, UNBACKED, Activity, Call, reconcile

READ = {"tool": "read_file", "read": ["src/cart.py"]}


def bash(command: str, **more: Any) -> dict[str, Any]:
    return {"tool": "bash", "command": command, **more}


def verdicts(text: str, *calls: Any, **more: Any) -> list[str]:
    return [each.verdict for each in reconcile(text, calls, **more).findings]


# -- the three ways ------------------------------------------------------------------------

CLAIMS = [
    ("I've updated `src/cart.py`.", {"tool": "edit_file", "wrote": ["/shop/src/cart.py"]}),
    ("Created `docs/cart.md`.", bash("cat > docs/cart.md <<'E'\nhello\nE")),
    ("Deleted `old.py`.", bash("rm old.py")),
    ("I have written `notes/plan.md`.", {"tool": "write", "wrote": ["notes/plan.md"]}),
    ("All 12 tests pass.", bash("pytest -q")),
    ("The build is green.", bash("cargo build")),
    ("I ran `npm run lint`.", bash("npm run lint")),
    ("I have now deployed the changes.", bash("make deploy")),
    ("Committed as `1a2b3c4`.", bash("git commit -am 'group the thousands'")),
    ("Pushed to `main`.", bash("git push origin main")),
    ("I've implemented the retry.", {"tool": "apply_patch", "wrote": ["src/retry.py"]}),
    ("I dispatched three sub-agents.", {"tool": "task", "action": ev.AGENT}),
    ("I searched the codebase for it.", bash("rg total src")),
    ("I've set up the pipeline.", bash("./setup.sh")),
    ("I have configured nginx.", {"tool": "edit_file", "wrote": ["nginx.conf"]}),
    ("I tested it and it works.", bash("curl localhost")),
    ("I've reverted the commit.", bash("git revert HEAD")),
    ("I've completed the refactoring.", {"tool": "edit_file", "wrote": ["src/cart.py"]}),
    ("The changes have been deployed.", bash("make deploy")),
    ("All the requested fixes have now been applied.", {"tool": "edit_file", "wrote": ["src/cart.py"]}),
    ("I've sent the report to the channel.", {"tool": "mcp__chat__send_message"}),
    ("I opened a pull request. Created a pull request for it.", bash("gh pr create --fill")),
    ("Installed `left-pad`.", bash("npm install left-pad")),
    ("I'm running the tests now.", bash("npm test")),
    ("Dispatching the sub-agents now.", {"tool": "task", "action": ev.AGENT}),
]


@pytest.mark.parametrize(("text", "call"), CLAIMS)
def test_a_claim_with_a_matching_call_passes(text: str, call: dict[str, Any]) -> None:
    verdict = reconcile(text, [call])
    assert verdict.findings
    assert not verdict.reprompt
    assert {each.verdict for each in verdict.findings} <= {DONE, POSSIBLE}


@pytest.mark.parametrize(("text", "call"), CLAIMS)
def test_a_claim_whose_call_failed_passes_too_and_is_noted(text: str, call: dict[str, Any]) -> None:
    verdict = reconcile(text, [{**call, "failed": True}])
    assert not verdict.reprompt
    assert {each.verdict for each in verdict.findings} <= {FAILED, POSSIBLE}
    assert not verdict.notice


def test_a_failed_call_is_noted() -> None:
    verdict = reconcile("I've updated `src/cart.py`.", [{"tool": "edit", "wrote": ["src/cart.py"], "failed": True}])
    assert verdict.notes == ['file "src/cart.py": its calls failed; narrating that is honest']


@pytest.mark.parametrize(("text", "call"), CLAIMS)
def test_a_claim_with_no_matching_call_is_unbacked_in_a_turn_that_only_read_a_file(text: str, call: Any) -> None:
    calls = [READ] if "searched" not in text else []
    verdict = reconcile(text, calls)
    assert verdict.reprompt
    assert {each.verdict for each in verdict.findings} == {UNBACKED}


# -- turns that used other tools -----------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("I've updated `src/price.py`.", 'changed "src/price.py"'),
        ("`src/price.py` — added a guard for empty carts.", 'changed "src/price.py"'),
        ("The linter is clean.", "ran a linter"),
        ("I have now deployed the changes.", "deployed anything"),
        ("Committed and pushed.", "pushed anything"),
        ("I've dispatched two sub-agents for the rest.", "started a subagent"),
    ],
)
def test_past_claims_are_caught_beside_other_work(text: str, missing: str) -> None:
    calls = [
        READ,
        {"tool": "edit", "wrote": ["src/cart.py"]},
        bash("pytest -q", output="12 passed in 0.4s"),
        bash("git status --short", output=" M src/cart.py"),
        bash("sed -n 1,80p src/price.py"),
    ]
    verdict = reconcile(text, calls)
    assert missing in [each.missing for each in verdict.unbacked]


def test_what_was_done_in_an_earlier_turn_counts_for_the_past_and_not_for_what_is_announced() -> None:
    earlier = [{"tool": "edit", "wrote": ["src/cart.py"]}, bash("pytest")]
    assert verdicts("I've updated `src/cart.py`. All tests pass.", earlier=earlier) == [DONE, DONE]
    assert verdicts("Running the tests now.", earlier=earlier) == [UNBACKED]


def test_an_announcement_is_caught_beside_work_of_another_kind() -> None:
    assert verdicts("Let me create the rules file and wire it in.", READ) == [UNBACKED]
    assert verdicts("Let me create the rules file and wire it in.", READ, {"tool": "e", "wrote": ["a.py"]}) == [DONE]


def test_a_session_with_a_beginning_that_is_not_known_is_not_judged_for_its_past() -> None:
    activity = Activity(complete=False)
    assert not reconcile("I've updated `src/cart.py`. All tests pass.", activity).findings
    assert reconcile("Running the tests now.", activity).reprompt


# -- what nobody can see -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("I've updated `src/cart.py`.", {"tool": "mcp__editor__apply"}),
        ("I've updated `src/cart.py`.", {"tool": "serena.replace_symbol"}),
        ("I've updated `src/cart.py`.", bash("./scripts/rewrite.sh")),
        ("I've updated `src/cart.py`.", bash("python fix_all.py")),
        ("I've updated `src/cart.py`.", bash('python -c \'import glob; [open(f, "w") for f in glob.glob("*")]\'')),
        ("I've updated `src/cart.py`.", bash("npx some-codemod src")),
        ("I've updated `src/cart.py`.", bash("ssh shop 'vi src/cart.py'")),
        ("I've updated `src/cart.py`.", bash("git merge feature")),
        ("I've updated `src/cart.py`.", {"tool": "task", "action": ev.AGENT}),
        ("Fixed the formatting in `src/cart.py`.", bash("ruff format .")),
        ("Updated `package-lock.json`.", bash("npm install")),
        ("Generated `dist/app.js`.", bash("npm run build")),
        ("All tests pass.", bash("./ci.sh")),
        ("All tests pass.", bash("make everything")),
        ("All tests pass.", bash("cat build.log", output="12 passed")),
        ("All tests pass.", {"tool": "task", "action": ev.AGENT}),
        ("All tests pass.", {"tool": "mcp__runner__execute"}),
        ("All tests pass.", bash("git commit -m x", output="husky > vitest run: 12 passed")),
        ("I have now deployed the changes.", bash("./release.sh")),
        ("I have now deployed the changes.", {"tool": "mcp__cloud__rollout"}),
        ("I have now deployed the changes.", bash("ssh shop systemctl reload app")),
        ("Committed as `1a2b3c4`.", bash("./finish.sh", output="")),
        ("Committed as `1a2b3c4`.", bash("cat > a.md <<'E'\nhello\nE\n./finish.sh")),
        ("Pushed to `main`.", {"tool": "agent", "action": ev.AGENT}),
        ("I've run the whole migration.", bash("docker compose exec app true")),
    ],
)
def test_what_could_have_been_done_unseen_is_not_flagged(text: str, call: dict[str, Any]) -> None:
    assert not reconcile(text, [READ, call]).reprompt


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("I've updated `src/cart.py`.", bash("cat src/cart.py")),
        ("I've updated `src/cart.py`.", bash("npm test")),
        ("I've updated `src/cart.py`.", bash("git status && git log --oneline -5")),
        ("I've updated `src/cart.py`.", bash("python -c 'print(1)'")),
        ("I've updated `src/cart.py`.", {"tool": "mcp__tracker__get_issue"}),
        ("I've updated `src/cart.py`.", {"tool": "webFetch"}),
        ("All tests pass.", bash("git diff --stat", output=" tests/test_cart.py | 2 +-")),
        ("All tests pass.", bash("./seed.sh", output="seeded 4 tables")),
        ("I have now deployed the changes.", bash("terraform --help")),
        ("I have now deployed the changes.", bash("cat deploy.md && rg deploy src")),
        ("I have now deployed the changes.", bash("pytest && git add -A")),
        ("I've pushed the branch.", bash("gh pr view 12")),
    ],
)
def test_a_call_that_cannot_have_done_it_is_no_match(text: str, call: dict[str, Any]) -> None:
    assert reconcile(text, [call]).reprompt


def test_a_turn_that_only_looked_at_what_others_did_may_report_it() -> None:
    look = bash("git log -p -3", output="commit 1a2b3c4")
    assert not reconcile("- Added a retry to the client\n- Updated `src/cart.py`", [look]).reprompt
    assert reconcile("I've updated `src/cart.py`.", [look]).reprompt


@pytest.mark.parametrize(
    "calls",
    [[], [{"tool": "read_file", "read": ["CHANGELOG.md"]}], [{"tool": "web_fetch", "about": "https://a.test/3.10"}]],
)
def test_a_list_of_what_changed_somewhere_is_no_claim_of_ones_own(calls: list[Any]) -> None:
    text = "In 3.10:\n\n- Added structural pattern matching\n- Removed the old parser\n- Fixed many bugs"
    assert not reconcile(text, calls).reprompt
    assert reconcile(f"I've implemented the matching.\n\n{text}", calls).reprompt
    assert reconcile("Implemented the retry.", [READ]).reprompt


def test_work_that_still_runs_excuses_an_announcement() -> None:
    assert not reconcile("I'll review the plans next.", [], earlier=[bash("./plan.sh &", background=True)]).reprompt


def test_ci_and_hooks_are_not_judged() -> None:
    assert not reconcile("CI is green: all checks pass on GitHub.", []).findings


# -- what people give ----------------------------------------------------------------------


def test_calls_are_made_of_events_mappings_and_by_hand() -> None:
    given = [
        ev.edit("/shop/src/cart.py", "a", "b"),
        ev.shell("pytest", "1 failed", exit_code=1),
        {"tool": "bash", "command": "ruff check", "exit_code": 0},
        Call("task", action=ev.AGENT),
        ev.ToolResult(ev.ToolCall("edit", edits=[ev.Edit("/shop/a.py")], action=ev.EDIT), refused=ev.BY_PERSON),
    ]
    calls = Activity(given).calls
    assert [each["action"] for each in calls] == ["edit", "shell", "shell", "agent", "edit"]
    assert [each["failed"] for each in calls] == [False, True, False, False, True]
    assert [each["checks"] for each in calls] == [[], ["test"], ["lint"], [], []]


def test_a_check_of_your_own_is_named() -> None:
    activity = Activity([bash("./ci.sh --all")], checks={"test": ["./ci.sh"]})
    assert [each.verdict for each in reconcile("All tests pass.", activity).findings] == [DONE]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"command": "ls"}, ValueError),
        ({"tool": "x", "arguments": "ls"}, ValueError),
        ({"tool": "x", "action": "dance"}, ValueError),
        ({"tool": "x", "wrote": "a.py"}, TypeError),
        ({"tool": 3}, TypeError),
        ("ls", TypeError),
    ],
)
def test_what_is_no_call_says_what_is_expected(given: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"expected|is a|is text"):
        Call.of(given)


def test_a_text_that_is_none_and_an_unknown_language_are_refused() -> None:
    with pytest.raises(TypeError, match="final_text is text"):
        reconcile(None, [])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected one of en"):
        reconcile("Done.", [], language="tlh")


# -- the line, and the judge ---------------------------------------------------------------


def test_the_line_is_one_line_with_the_claim_what_is_missing_and_honest_ways_out() -> None:
    (line,) = reconcile("I've updated `src/cart.py`.", [READ]).message.splitlines()
    assert line == (
        'Unspin: you wrote "I\'ve updated `src/cart.py`.", and no tool call of this session changed "src/cart.py". '
        "Do it now, or correct the statement: say plainly what was not done, or who did it and how you know."
    )
    (line,) = reconcile("Running the tests now.", []).message.splitlines()
    assert line == (
        'Unspin: you wrote "Running the tests now.", and the turn ended with no tool call that runs it. '
        "Do it now, or say plainly that it has not been done."
    )


def test_what_is_quoted_is_data() -> None:
    text = 'I have now deployed the "changes"\u202e\x1b[31m. I have pushed it.'
    line = reconcile(text, []).message
    assert "\x1b" not in line and "\u202e" not in line
    assert len(reconcile("I have now deployed the " + "very " * 120 + "big change.", []).message) < 500


def test_several_unbacked_claims_are_one_line() -> None:
    verdict = reconcile("I've updated `a.py`. All tests pass. Committed and pushed.", [])
    assert len(verdict.unbacked) >= 3
    assert "more like it" in verdict.message


def test_a_judge_may_only_veto() -> None:
    seen = []
    verdict = reconcile("I've updated `a.py`.", [], judge=lambda found: bool(seen.append(found.quote)))
    assert (seen, verdict.reprompt) == (["I've updated `a.py`."], False)
    assert [each.verdict for each in verdict.findings] == ["vetoed"]
    for answer in (True, None, "no"):
        assert reconcile("I've updated `a.py`.", [], judge=lambda found, answer=answer: answer).reprompt
    assert not reconcile("I have not changed it.", [], judge=lambda found: True).reprompt  # it cannot add one
    assert not reconcile("I've updated `a.py`.", [{"tool": "e", "wrote": ["a.py"]}], judge=lambda _: True).reprompt


def test_a_judge_that_breaks_lets_it_through_and_is_noted() -> None:
    def judge(found: object) -> bool:
        raise RuntimeError("no model")

    verdict = reconcile("I've updated `a.py`.", [], judge=judge)
    assert not verdict.reprompt
    assert verdict.notes == ['the judge failed (RuntimeError): "I\'ve updated `a.py`." is let through']


# -- bounds --------------------------------------------------------------------------------


def test_a_ledger_is_plain_data_bounded_and_without_outputs_and_secrets() -> None:
    import json

    activity = Activity()
    activity.add(bash("curl -H 'Authorization: Bearer sk-abcdefghijklmnopqrstuv' https://a.test", output="secret" * 99))
    assert "abcdefghijklmnop" not in json.dumps(activity.state)
    assert "secret" not in json.dumps(activity.state)
    for _ in range(4_100):
        activity.add(READ)
    assert len(activity.calls) == 4_000
    assert not activity.complete
    again = Activity(state=json.loads(json.dumps(activity.state)))
    assert again.calls == activity.calls


@pytest.mark.parametrize("unit", ["git ", "'a", '"$(', "<<E\n", "a -> ", "| ", "--help ", "# ", "\\", "open(", "x=1 "])
def test_a_hostile_command_line_costs_no_more_than_its_length(unit: str) -> None:
    import time

    began = time.perf_counter()
    Activity().add(bash(unit * (60_000 // len(unit)), output=unit * (200_000 // len(unit))))
    assert time.perf_counter() - began < 5
