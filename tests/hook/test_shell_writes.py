"""Writes to a blocked file that a line hides in globs, loops, folders and diffs; snapshots that a runner rewrites."""

from __future__ import annotations

import pytest

from driver import Client

RED = """\
FAIL src/view.test.js
  ● renders

    expect(received).toMatchSnapshot()

    Snapshot name: `renders 1`

Tests:       1 failed, 2 passed, 3 total
"""
GREEN = "PASS src/view.test.js\n › 1 snapshot updated.\nTests:       3 passed, 3 total\n"
FAILURE = "FAILED tests/test_price.py::test_x - TypeError: no\n=== 1 failed in 0.12s ===\n"
DIFF = "--- a/src/price.py\n+++ b/src/price.py\n@@ -1 +1 @@\n-a\n+b\n"

REFUSED = [
    "sed -i 's/a/b/' src/*.py",
    "sed -i 's/a/b/' src/p*.py",
    "sed -i 's/a/b/' src/pric[a-f].py",
    "sed -i 's/a/b/' src/{cart,price}.py",
    "sed -i 's/a/b/' */price.py",
    "cd src && sed -i 's/a/b/' *.py",
    "for f in src/price.py; do sed -i 's/a/b/' $f; done",
    'for f in cart price; do sed -i "s/a/b/" "src/${f}.py"; done',
    "for f in src/*.py; do sed -i 's/a/b/' \"$f\"; done",
    "F=src/price.py; sed -i 's/a/b/' $F",
    "find . -name '*.py' -exec sed -i 's/a/b/' {} +",
    "find src -type f -name 'price.*' -exec sed -i 's/a/b/' {} \\;",
    "find . -name '*.py' | xargs sed -i 's/a/b/'",
    "find . -name '*.py' -delete",
    "echo src/price.py | xargs sed -i 's/a/b/'",
    "ls src/*.py | xargs perl -pi -e 's/a/b/'",
    "git checkout .",
    "git checkout -- src/",
    "git checkout HEAD -- src",
    "git restore .",
    "cd src && git restore .",
    "git stash",
    "git stash pop",
    "git reset --hard",
    "cd src && git stash",
    "rm -rf src",
    "mv src old",
    f"patch -p1 <<'EOF'\n{DIFF}EOF",
    f"git apply <<'EOF'\n{DIFF}EOF",
    f"cat <<'EOF' | patch -p1\n{DIFF}EOF",
    f"cat > /tmp/fix.diff <<'EOF'\n{DIFF}EOF\npatch -p1 < /tmp/fix.diff",
    f"cat > fix.diff <<'EOF'\n{DIFF}EOF\ngit apply fix.diff",
    "cd src && patch -p2 <<'EOF'\n" + DIFF + "EOF",
]
ALLOWED = [
    "sed -i 's/a/b/' *.py",
    "sed -i 's/a/b/' src/c*.py",
    "sed -i 's/a/b/' src/*.js",
    "sed -i 's/a/b/' 'src/*.py'",
    "sed -n 1,9p src/*.py",
    "for f in src/cart.py; do sed -i 's/a/b/' $f; done",
    "for f in src/*.py; do cat $f; done",
    "find . -name '*.js' -exec sed -i 's/a/b/' {} +",
    "find . -name '*.py' -not -name 'price.py' -exec sed -i 's/a/b/' {} +",
    "find . -name '*.pyc' -delete",
    "find . -name '*.py' -exec grep -l x {} +",
    "ls src/*.py | xargs grep x",
    "git checkout -- tests/",
    "git restore --staged .",
    "git stash list",
    "git checkout main",
    "rm -rf build",
    "mv src/*.bak old/",
    "patch -p1 --dry-run < fix.diff",
    "git apply --check fix.diff",
    "git apply <<'EOF'\n--- a/src/cart.py\n+++ b/src/cart.py\n@@ -1 +1 @@\n-a\n+b\nEOF",
]


@pytest.fixture
def looping(agent: Client) -> Client:
    for _ in range(3):
        agent.round(agent.edit("src/price.py"))
        agent.round(agent.bash("pytest", FAILURE, 1))
    return agent


@pytest.mark.parametrize("command", REFUSED)
def test_a_hidden_write_to_the_looping_file_is_refused(looping: Client, command: str) -> None:
    assert looping.before(looping.bash(command)).status == 2


@pytest.mark.parametrize("command", ALLOWED)
def test_a_line_that_leaves_the_looping_file_alone_is_let_through(looping: Client, command: str) -> None:
    assert looping.before(looping.bash(command)).status == 0


UPDATES = [
    "npx jest -u",
    "npx jest --updateSnapshot",
    "npx jest --ci=false -u",
    "npm test -- -u",
    "UPDATE_SNAPSHOTS=1 npx jest",
    "env UPDATE_SNAPSHOTS=1 npx jest",
]


@pytest.mark.parametrize("command", UPDATES)
def test_snapshots_rewritten_until_the_tests_pass_are_told(agent: Client, command: str) -> None:
    agent.round(agent.bash("npx jest", RED, 1))
    line = agent.round(agent.bash(command, GREEN))
    assert line.startswith('Unspin: "snapshots" was changed, not the code, and now passes.')


@pytest.mark.parametrize("command", UPDATES)
def test_snapshots_that_follow_a_change_of_the_code_are_not(agent: Client, command: str) -> None:
    agent.round(agent.bash("npx jest", RED, 1))
    agent.round(agent.edit("src/view.js"))
    assert agent.round(agent.bash(command, GREEN)) == ""


def test_snapshots_that_were_not_rewritten_are_not_told(agent: Client) -> None:
    agent.round(agent.bash("npx jest", RED, 1))
    for command in ("npx jest", "npx jest --ci=false", "UPDATE_SNAPSHOTS=0 npx jest", "INSTA_UPDATE=no cargo test"):
        assert agent.round(agent.bash(command, GREEN)) == "", command


def test_a_failing_update_of_snapshots_is_no_edit_that_could_be_blocked(agent: Client) -> None:
    for number in range(4):
        agent.round(agent.bash(f"npx jest -u --seed={number}", RED, 1))
    assert not [rule for rule in agent.rules() if rule == "failing_edits"]


def test_a_copy_put_back_from_a_backup_is_a_revert(agent: Client) -> None:
    for _ in range(5):
        agent.round(agent.bash("cp price.py.bak price.py"))
        agent.round(agent.bash("pytest", FAILURE, 1))
    assert "failing_edits" not in agent.rules()
