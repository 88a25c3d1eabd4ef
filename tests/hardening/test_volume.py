"""Many sessions under injected faults: nothing is refused that should pass, and nothing passes that should be refused.

A small run in CI. The whole one (10,000 processes, 1,000,000 events in-process), once:
UNSPIN_VOLUME=1 .venv/bin/python -m pytest -s tests/hardening/test_volume.py
"""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

from hardening.processes import batch, before, edit, environment, fails, hook_command
from unspin import Guard, events
from unspin.guard import BLOCK, HALT, NUDGE
from unspin.store import Store

WHOLE = "UNSPIN_VOLUME" in os.environ
PROCESSES = 10_000 if WHOLE else 250
EVENTS = 1_000_000 if WHOLE else 30_000


def hook(payload: Any, env: dict[str, str]) -> tuple[int, bytes]:
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    done = subprocess.run(hook_command(), input=data, capture_output=True, env=env, timeout=60, check=False)
    return done.returncode, done.stdout


def disturb(path: Path, until: threading.Event) -> None:
    """Hold the store's lock now and then, sometimes longer than a hook waits."""
    dice = random.Random(1)
    while not until.is_set():
        time.sleep(dice.random() * 0.3)
        if not path.exists():
            continue
        db = sqlite3.connect(path, isolation_level=None, timeout=0.05)
        try:
            db.execute("BEGIN IMMEDIATE")
            time.sleep(dice.random() * 0.4)
            db.execute("ROLLBACK")
        except sqlite3.Error:
            pass
        db.close()


def test_hook_processes_under_faults(tmp_path: Path) -> None:
    env = environment(tmp_path)
    hook(batch("warm", edit()), env)
    state = tmp_path / "state" / "unspin"
    over, counts, lock = threading.Event(), {"processes": 0, "refused": 0, "told": 0}, threading.Lock()
    wrong: list[str] = []

    def session(number: int) -> int:
        """One session with a loop in it; returns how many processes it took."""
        dice, name, told, used = random.Random(number), f"s{number}", False, 0
        for step in range(8):
            for payload in (batch(name, edit(new=str(step))), batch(name, fails())):
                if dice.random() < 0.1:
                    used += 1
                    if hook(dice.choice([b"", b"{", b"\xff", b'{"a":']), env) != (0, b""):
                        wrong.append(f"{name}: junk was answered")
                status, out = hook(payload, env)
                used += 1
                told = told or b"Unspin: loop" in out
                if status != 0:
                    wrong.append(f"{name}: a finished round was refused")
            for path, due in (("/p/other.py", False), ("/p/a.py", told)):
                status, _ = hook(before(name, edit(path)), env)
                used += 1
                counts["refused"] += status == 2
                if (status == 2) != due:
                    wrong.append(f"{name} step {step}: {path} {'refused' if status else 'passed'}, told {told}")
            if told and dice.random() < 0.5:
                hook({"session_id": name, "cwd": "/p", "hook_event_name": "UserPromptSubmit", "prompt": "go"}, env)
                used += 1
                told = False
                counts["told"] += 1
        return used

    def work(first: int) -> None:
        number = first
        while counts["processes"] < PROCESSES:
            used = session(number)
            number += 4
            with lock:
                counts["processes"] += used

    nuisance = threading.Thread(target=disturb, args=(state / "state.db", over))
    nuisance.start()
    workers = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    over.set()
    nuisance.join()
    print(f"\n{counts}")
    with Store(str(state)) as store:
        assert store.damage() == ""
        faults = [text for _, _, text in store.faults() if "JSON" not in text]
    assert wrong == []
    assert counts["refused"] > PROCESSES // 100
    assert [each for each in faults if "payload" not in each and "Expecting" not in each and "locked" not in each] == []


def test_events_in_process_under_faults() -> None:
    """The guard is killed and restored from its last stored state at random, as a crashed process would be."""
    dice = random.Random(2)
    guard, stored, told, refused, done = Guard(project="/p"), None, False, 0, 0
    while done < EVENTS:
        moment = dice.random()
        if moment < 0.02:
            guard = Guard(project="/p", state=json.loads(json.dumps(guard.state)))
        elif moment < 0.03:
            guard.observe(events.Message("go on"))
            told = False
            done += 1
        elif moment < 0.5:
            round_ = [events.edit("/p/a.py", "x", str(done)), events.RoundEnd()]
            round_ += [events.shell("pytest", "E   TypeError: bad", 1, cwd="/p"), events.RoundEnd()]
            for event in round_:
                told = any(each.kind == NUDGE and "a.py" in each.message for each in guard.observe(event)) or told
                done += 1
        elif moment < 0.9:
            for event in (
                events.shell(dice.choice(["ls", "git status", "cat b.py"]), "x", cwd="/p"),
                events.RoundEnd(),
            ):
                guard.observe(event)
                done += 1
        else:
            for path, due in (("/p/b.py", False), ("/p/a.py", told)):
                call = events.ToolCall("edit", action=events.EDIT, edits=[events.Edit(path)])
                answer = [each.kind for each in guard.observe(call)]
                assert bool(answer) == due, (path, answer, told, done)
                assert not answer or answer[0] in (BLOCK, HALT)
                refused += bool(answer)
                done += 1
        stored = guard
    assert stored is not None
    assert refused > EVENTS // 1000
    assert len(json.dumps(guard.state, separators=(",", ":"))) < 64 * 1024
    print(f"\n{done} events, {refused} refusals")
