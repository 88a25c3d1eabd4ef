"""The command handoff: what a fresh session needs to know of this one, and whether an agent's own account is so."""

from __future__ import annotations

import json
import os
import sys

import click

from unspin import config, cost
from unspin.checkpoint.book import limits_of
from unspin.checkpoint.taking import wait_for_others
from unspin.cli import common, show
from unspin.cost.files import find, folders
from unspin.handoff import check as checking
from unspin.handoff import document
from unspin.handoff.gathering import gather
from unspin.handoff.ledger import Ledger

_HEAD = 100  # characters by which a file shows that it is a handoff
_LARGEST = 4_000_000  # characters of a text that is checked


@click.command(
    epilog=common.examples(
        "unspin handoff",
        "unspin handoff -o HANDOFF.md",
        "unspin handoff 3eb2d320 --tokens 1000",
        "unspin handoff --check summary.md",
    )
)
@click.argument("session", default="")
@click.option("-o", "--output", metavar="FILE", help="Write it to FILE instead of stdout.")
@click.option(
    "--tokens", type=click.IntRange(min=200), default=document.TOKENS, show_default=True, help="At most so many tokens."
)
@click.option("--no-keep", is_flag=True, help="Do not keep it for the next fresh session in this folder.")
@click.option("--check", "text", metavar="FILE|-", help="Tag what an agent's own text claims instead.")
@common.JSON
def handoff(session: str, output: str | None, tokens: int, no_keep: bool, text: str | None, as_json: bool) -> None:
    """Write down what happened in a session, for a fresh one to start with.

    Made of recorded facts, without a model. It is kept, too, and the next fresh session that your agent
    starts in this folder gets it as context, once. With --check: read an agent's own handoff or summary
    and tag each claim that the record can judge: [verified], [stale: edited since], [unverified: piped],
    [unverified: not run], [contradicted: ...].
    """
    if text is not None:
        _check(session, text, output, as_json)
        return
    wait_for_others()
    with common.opened() as store:
        row = common.find_session(store, session)
        settings = config.compiled(row.project, store)
    limits = limits_of(settings) if settings["checkpoints.enabled"] else None
    facts = gather(row, common.opened, limits=limits, cost=_cost)
    if as_json:
        _write(json.dumps(document.as_mapping(facts)) + "\n", output)
        return
    made = document.compose(facts, tokens=tokens)
    if not no_keep:
        with common.opened() as store:
            store.keep_handoff(row.project, row.id, made)
    _write(made, output)
    if output:
        common.warn(f"written to {output}")
    if not no_keep:
        common.warn(f"kept for the next fresh session in {show.tilde(row.project)}")


def _write(text: str, output: str | None) -> None:
    """Write to stdout or a file; a file that is there and was not made by this command stays as it is."""
    if output is None or output == "-":
        sys.stdout.write(text)
        return
    if os.path.isdir(output):
        raise common.Problem(f"{output} is a folder: name a file to write to.")
    if os.path.lexists(output) and not _made_here(output):
        raise common.Problem(f"{output} is there already and is no handoff of unspin's: name another file.")
    temporary = f"{output}.unspin-{os.getpid()}"
    with open(temporary, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
    os.replace(temporary, output)


def _made_here(path: str) -> bool:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            head = file.read(_HEAD)
    except OSError:
        return False
    return not head.strip() or head.startswith(("# Handoff of session ", '{"session": '))


def _cost(session: str) -> str:
    """Return in words what a session cost, from its transcript."""
    paths = [each.path for each in find(folders()) if each.session == session and not each.subagent]
    if not paths:
        return ""
    try:
        totals = cost.of_session(paths[0])
    except (cost.PriceError, OSError) as error:
        return f"Not known: {error}"
    if not totals.tokens:
        return ""
    dollars = f"${totals.cost:,.2f}" if totals.cost is not None else "price unknown"
    least = "at least " if totals.at_least else ""
    return f"{least}{totals.tokens:,} tokens, {dollars}, subagents included."


# -- an agent's own account ------------------------------------------------------------


def _check(session: str, path: str, output: str | None, as_json: bool) -> None:
    text = _read(path)
    with common.opened() as store:
        row = common.find_session(store, session)
        ledger = Ledger.from_records(store.records(row.id))
    tags = checking.check(text, ledger)
    if as_json:
        rows = [
            {
                "start": each.claim.start,
                "end": each.claim.end,
                "claim": text[each.claim.start : each.claim.end],
                "sentence": each.claim.quote,
                "tag": each.text,
                "verdict": each.verdict,
                "reason": each.reason,
                "evidence": each.evidence,
            }
            for each in tags
        ]
        _write("".join(json.dumps(row) + "\n" for row in rows), output)
    else:
        _write(checking.annotate(text, tags), output)


def _read(path: str) -> str:
    if path == "-":
        if sys.stdin.isatty():
            common.warn("reads what you type up to Ctrl-D")
        data = sys.stdin.buffer.read(_LARGEST)
    else:
        if os.path.isdir(path):
            raise common.Problem(f"{path} is a folder: name a file with the text to check, or - for stdin.")
        with open(path, "rb") as file:
            data = file.read(_LARGEST)
    return data.decode("utf-8", "replace")
