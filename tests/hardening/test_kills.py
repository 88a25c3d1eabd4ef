"""Hooks killed at any moment: the store opens, what was acknowledged is there, and the streaks are right."""

from __future__ import annotations

import json
import random
import subprocess
import threading
import time
from pathlib import Path

from hardening.processes import batch, before, edit, environment, fails, hook_command, run
from unspin.store import Store

KILLS = 200
PARALLEL = 8


def test_two_hundred_kills_with_eight_in_parallel(tmp_path: Path) -> None:
    env = environment(tmp_path)
    run(batch("warm", edit()), env)
    began = time.monotonic()
    run(batch("warm", fails()), env)
    usual = time.monotonic() - began
    acknowledged = dict.fromkeys(range(PARALLEL), 0)
    killed = dict.fromkeys(range(PARALLEL), 0)

    def work(number: int) -> None:
        dice = random.Random(number)
        for step in range(10_000):
            if killed[number] >= KILLS // PARALLEL:
                return
            payload = json.dumps(batch(f"s{number}", edit(new=str(step)) if step % 2 else fails())).encode()
            process = subprocess.Popen(hook_command(), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=env)
            assert process.stdin is not None
            try:
                process.stdin.write(payload)
                process.stdin.close()
            except BrokenPipeError:
                pass
            if dice.random() < 0.7:
                time.sleep(dice.random() * usual * PARALLEL / 2)
                process.kill()
            status = process.wait()
            if status == 0:
                acknowledged[number] += 1
            else:
                assert status == -9
                killed[number] += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(PARALLEL)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run(batch("warm", fails()), env)  # takes in what the spool may hold
    with Store(str(tmp_path / "state" / "unspin")) as store:
        assert store.damage() == ""
        faults = store.faults()
        states = {row.id: json.loads(row.state) for row in store.sessions()}
    assert faults == []
    assert sum(killed.values()) >= KILLS
    for number in range(PARALLEL):
        seen = states[f"s{number}"]["index"]
        assert acknowledged[number] <= seen <= acknowledged[number] + killed[number]
        session = f"s{number}"
        run({"session_id": session, "cwd": "/p", "hook_event_name": "UserPromptSubmit", "prompt": "go on"}, env)
        for step in range(2):
            run(batch(session, edit(new=f"x{step}")), env)
            run(batch(session, fails()), env)
            assert run(before(session, edit()), env).returncode == 0, "two failing edits are no loop"
        run(batch(session, edit(new="x3")), env)
        assert b"Unspin: loop (3 failing edits" in run(batch(session, fails()), env).stdout
        assert run(before(session, edit()), env).returncode == 2


def test_parallel_hooks_of_one_session_lose_nothing(tmp_path: Path) -> None:
    env = environment(tmp_path)
    run(batch("s", edit()), env)
    payloads = [
        json.dumps({**batch("s", edit(f"/p/f{number}.py")), "agent_id": "sub"}).encode() for number in range(24)
    ]
    processes = [
        subprocess.Popen(hook_command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) for _ in payloads
    ]
    for process, payload in zip(processes, payloads, strict=True):
        assert process.stdin is not None
        process.stdin.write(payload)
        process.stdin.close()
    assert [process.wait() for process in processes] == [0] * len(processes)
    run(batch("s", edit()), env)
    with Store(str(tmp_path / "state" / "unspin")) as store:
        assert store.faults() == []
        assert store.session("s") is not None
