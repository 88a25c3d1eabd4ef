"""What the real client writes: its transcripts come to what it says itself that it spent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from real_client.conftest import client  # noqa: F401
from real_client.harness import Client, read_jsonl
from real_client.scripted_model import Calls, Text, tool
from unspin import cost
from unspin.cost.files import find

pytestmark = pytest.mark.real_client

CACHE: dict[str, Any] = {
    "cache_read_input_tokens": 50_000,
    "cache_creation_input_tokens": 9_000,
    "cache_creation": {"ephemeral_5m_input_tokens": 1_000, "ephemeral_1h_input_tokens": 8_000},
}


def test_sessions_subagents_resumed_and_forked_ones_come_to_the_clients_own_total(client: Client) -> None:  # noqa: F811
    first = client.run(
        "look",
        [
            Calls(
                tool("Bash", command="echo one"),
                tool("Agent", description="look", prompt="look", subagent_type="general-purpose"),
                usage={"output_tokens": 300, **CACHE},
            ),
            Text("done", usage={"output_tokens": 40}),
        ],
        subscripts={"look": [Text("seen", usage={"output_tokens": 70, **CACHE})]},
    )
    resumed = client.run("again", [Text("two", usage={"output_tokens": 500})], resume=first.session_id)
    client.run("else", [Text("three")], resume=first.session_id, arguments=["--fork-session"])
    assert first.transcript_path is not None, first.explain()

    session = cost.of_session(str(first.transcript_path))
    assert (session.messages, session.output, session.cache_read) == (4, 910, 100_000)
    assert session.cost == pytest.approx(told(resumed.lines)), resumed.explain()

    (path,) = set((client.config_dir / "projects").glob("*/*.jsonl")) - {first.transcript_path}
    fork = cost.of_session(str(path))
    assert fork.messages == 1
    everything = everything_below(client.config_dir)
    assert everything.messages == 5
    assert everything.dollars == pytest.approx(session.dollars + fork.dollars) == pytest.approx(told(read_jsonl(path)))


def told(lines: list[dict[str, Any]]) -> float:
    """What the client says that the session has cost, its parent's part included."""
    return [float(each["totalCostUSD"]) for each in lines if each["type"] == "cost-state"][-1]


def everything_below(folder: Path) -> cost.Totals:
    messages = cost.Reading().messages(find([str(folder)]))
    return cost.report(messages, cost.known_prices(), cost.Report(cost.MODEL)).total
