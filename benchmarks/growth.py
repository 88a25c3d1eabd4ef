"""How the store grows, and whether a hook notices."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import sessions
from harness import BARE, Processes, Report, interleave, median, python, spread, standing_in
from hook_latency import SameFolders, installed

from unspin import live
from unspin.store import Store


def run(report: Report, folder: Path, *, quick: bool = False) -> None:
    report.title("4. The store")
    processes = Processes(folder)
    project = sessions.Project(folder)
    with SameFolders(processes), standing_in(project.folder):
        growth(report, folder, project, 8 if quick else 120)
        crowded(report, folder, processes, project, (1, 100) if quick else (1, 100, 10_000), 2 if quick else 25)


def growth(report: Report, folder: Path, project: sessions.Project, times: int) -> None:
    """Play the recorded sessions over and over, as one session and as new ones, and weigh the file."""
    mixes = {"the demonstration": sessions.recorded(project)}
    for number, path in enumerate(sessions.transcripts(1), 1):
        mixes[f"transcript {number}"] = sessions.from_transcript(path, project)[:300]
    rows: list[list[object]] = []
    for name, payloads in mixes.items():
        for label, one in (("one long session", True), ("a new session each time", False)):
            where = folder / f"growth-{len(rows)}"
            store, events = Store(str(where)), 0
            sizes = []
            while events < times * 25:
                for payload in payloads:
                    session = "one" if one else f"session-{events // len(payloads)}"
                    live.handle("claude-code", {**payload, "session_id": session}, store)
                    events += 1
                sizes.append((events, _weigh(store)))
            (first, small), (last, large) = sizes[0], sizes[-1]
            more = (large - small) / (last - first) * 1000 / 1024 if last > first else 0.0
            rows.append([f"{name}, {label}", events, small / 1024, large / 1024, more])
            store.close()
    report.table(
        "state.db", ["played", "events", "KB after one play", "KB at the end", "KB more for 1,000 events"], rows
    )


def _weigh(store: Store) -> int:
    store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return Path(store.path).stat().st_size


def crowded(
    report: Report,
    folder: Path,
    processes: Processes,
    project: sessions.Project,
    counts: tuple[int, ...],
    rounds: int,
) -> None:
    """Time hooks beside 1, 100, 10,000 stored sessions."""
    make = sessions.Payloads(project)
    before = processes.payload(make.before(make.edit("src/cart.py")))
    after = processes.payload(make.batch(make.read()))
    variants: dict[str, Callable[[], float]] = {"python -I -S -c pass": lambda: processes.run([python(), *BARE])}
    sizes = {}

    def variant(environment: dict[str, str], stdin: str) -> Callable[[], float]:
        return lambda: processes.run(installed(), stdin, environment)

    for count in counts:
        base = folder / f"crowded-{count}"
        store = Store(str(base / "unspin"))
        live.handle("claude-code", make.batch(*[make.edit("src/cart.py", "1", str(n)) for n in range(12)]), store)
        kept = store.session(make.session)
        assert kept is not None
        with store:
            for number in range(count - 1):
                store.save_session(
                    f"{number:08x}-0000-0000-0000-000000000000",
                    agent="claude-code",
                    project=f"/home/dev/{number % 50}",
                    cwd="/home/dev",
                    state=kept.state,
                    armed=0,
                )
        sizes[count] = _weigh(store) / 1024 / 1024
        store.close()
        environment = {**processes.environment, "XDG_STATE_HOME": str(base)}
        variants[f"before an edit, {count:,} sessions"] = variant(environment, before)
        variants[f"after a Read, {count:,} sessions"] = variant(environment, after)
    times = interleave(variants, rounds)
    bare = median(times["python -I -S -c pass"])
    report.table(
        f"A hook beside other sessions (state.db: {json.dumps({k: round(v, 1) for k, v in sizes.items()})} MB)",
        ["hook", "ms", "ratio", "p10 - p90 ms"],
        [[name, median(spent), median(spent) / bare, spread(spent)] for name, spent in times.items()],
    )
