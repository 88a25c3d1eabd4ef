"""Prompts: bounded, whatever ticket, design and findings hold; nothing of earlier turns."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from run.scripted import AUTHOR, REVIEWER, configure, go, last, workspace
from unspin.handoff.document import estimate
from unspin.run import prompts
from unspin.run.findings import SEVERITIES, Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

TEXTS = st.one_of(
    st.text(max_size=300),
    st.builds(lambda text, times: text * times, st.text(min_size=1, max_size=20), st.integers(1, 20_000)),
    st.sampled_from(["word " * 100_000, "漢字" * 50_000, "a", "", "\n" * 9_000, "x" * 300_000]),
)
FINDINGS = st.lists(
    st.builds(Finding, TEXTS, st.sampled_from(SEVERITIES), st.booleans(), TEXTS, TEXTS), max_size=6
).flatmap(lambda found: st.integers(1, 40).map(lambda times: found * times))


@settings(max_examples=60, deadline=None)
@given(
    stage=st.sampled_from(["sketch", "design", "code"]),
    ticket=TEXTS, design=TEXTS, decisions=TEXTS, findings=FINDINGS, files=st.lists(TEXTS, max_size=5),
    tokens=st.integers(prompts.LEAST, 8000),
)  # fmt: skip
def test_no_authors_prompt_exceeds_its_bound(
    stage: str, ticket: str, design: str, decisions: str, findings: list[Finding], files: list[str], tokens: int
) -> None:
    prompt = prompts.author(
        stage, ticket=ticket, design=design, decisions=decisions, findings=findings, files=files, tokens=tokens
    )
    assert estimate(prompt) <= tokens
    assert "Read only what you need" in prompt and "## The ticket" in prompt


@settings(max_examples=60, deadline=None)
@given(
    stage=st.sampled_from(["design", "code"]), look=TEXTS, ticket=TEXTS, design=TEXTS, changed=TEXTS,
    decisions=TEXTS, findings=FINDINGS, tokens=st.integers(prompts.LEAST, 8000),
)  # fmt: skip
def test_no_reviewers_prompt_exceeds_its_bound(
    stage: str, look: str, ticket: str, design: str, changed: str, decisions: str, findings: list[Finding], tokens: int
) -> None:
    prompt = prompts.reviewer(
        stage, look, ticket=ticket, design=design, changed=changed, decisions=decisions, findings=findings,
        tokens=tokens, base="abc" if stage == "code" else "",
    )  # fmt: skip
    assert estimate(prompt) <= tokens
    assert "UNSPIN_FINDINGS" in prompt


def test_a_share_that_is_not_used_goes_to_the_others() -> None:
    design = "word " * 2000
    room = estimate(design) + 300
    prompt = prompts.author("code", ticket="short", design=design, findings=(), tokens=room)
    assert design.strip() in prompt
    longer = prompts.author("code", ticket="short", design=design * 9, findings=(), tokens=room)
    assert "the workspace has it whole: design.md" in longer and estimate(longer) > 0.95 * room


def test_the_read_set_is_stated_and_turn_15_is_told_as_much_as_turn_5(project: Path) -> None:
    reviewer = REVIEWER.replace("first = turn == 2", 'first = stage == "review-code"').replace(
        '"say what b is"', 'f"objection {turn:02} of the code"'
    )
    configure(
        project, author=AUTHOR.replace("add() in calc.py", "add() in calc.py:1-2, check.py, no.py, ../../etc/passwd"),
        reviewer=reviewer, more="[run.caps]\nturns = 15\n",
    )  # fmt: skip
    assert go(project).exit_code == 3 and last(project)["stop_reason"] == "turn cap"
    turns = workspace(project) / "turns"
    early, late = ((turns / f"{turn:03}-code/prompt.md").read_text() for turn in (5, 15))
    assert abs(len(early) - len(late)) < 3
    assert "objection 14 of the code" in late and "objection 13" not in late
    assert "- calc.py:1-2\n- check.py\n" in late and "- no.py" not in late and "- ../" not in late
    assert "verdict" not in late or json.loads((turns / "014-code/verdict.json").read_text())["verdict"] == "revise"
