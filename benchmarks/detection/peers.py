"""Other people's rules, installed when the benchmark runs, each in an environment outside the project."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from detection.corpora import CORPORA, Run

ADAPTERS = Path(__file__).resolve().parent / "adapters.py"
_SECONDS = 900


@dataclass(frozen=True)
class Peer:
    """A package, and what of it is asked; ``python`` is the oldest one that it runs on."""

    name: str
    package: str
    version: str
    adapters: tuple[tuple[str, str], ...]  # the row's name, and the function in adapters.py
    python: tuple[int, int] = (3, 11)
    beside: tuple[str, ...] = ()  # what the adapter needs as well


PEERS = (
    Peer("unwedge", "unwedge", "0.2.0", (("unwedge", "unwedge"),)),
    Peer("loopbrake", "loopbrake", "0.6.0", (("loopbrake", "loopbrake"),)),
    Peer("OpenHands", "openhands-sdk", "1.58.2", (("OpenHands StuckDetector", "openhands"),), (3, 12)),
    Peer(
        "agent-loop-guard",
        "agent-loop-guard",
        "0.1.1",
        (("agent-loop-guard, warns", "agent_loop_guard"), ("agent-loop-guard, stops", "agent_loop_guard_stop")),
        beside=("rapidfuzz==3.14.5",),
    ),
    Peer("agent-loop-breaker", "agent-loop-breaker-py", "0.1.0", (("agent-loop-breaker", "agent_loop_breaker"),)),
    Peer("agent-watchdog", "agent-watchdog", "0.1.5", (("agent-watchdog", "agent_watchdog"),)),
)


def install(peer: Peer) -> tuple[Path | None, str]:
    """Return the interpreter with the peer, installed where it is not yet; or why there is none."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = Path(base) / "unspin-benchmarks" / f"detection-{peer.package}-{peer.version}"
    own = folder / "bin" / "python"
    if (folder / "complete").exists():
        return own, ""
    wanted = f"{peer.package}=={peer.version}"
    interpreter = _interpreter(peer.python)
    if interpreter is None:
        return None, f"needs Python {peer.python[0]}.{peer.python[1]}, and none was found"
    try:
        subprocess.run(
            [interpreter, "-m", "venv", "--clear", str(folder)], check=True, capture_output=True, timeout=120
        )
        pip = [str(own), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wanted, *peer.beside]
        subprocess.run(pip, check=True, capture_output=True, timeout=_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        return None, f"{type(error).__name__} while installing {wanted}"
    (folder / "complete").touch()
    return own, ""


def _interpreter(oldest: tuple[int, int]) -> str | None:
    if sys.version_info[:2] >= oldest:
        return sys.executable
    wanted = f"{oldest[0]}.{oldest[1]}"
    folders = [Path(each) for each in os.get_exec_path()]
    folders += sorted(Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv").glob("versions/*/bin"))
    for candidate in [folder / f"python{wanted}" for folder in folders]:
        if shutil.which(candidate):
            ask = [str(candidate), "-c", "import sys; print(sys.executable)"]
            done = subprocess.run(ask, capture_output=True, text=True, check=False, timeout=60)
            if done.returncode == 0 and done.stdout.strip():
                return done.stdout.strip()
    return None


def write(runs: Sequence[Run], path: Path) -> None:
    """Write sessions down as the adapters read them; the calls of subagents are left out."""
    formats = {"claude_code": "claude-code", "codex": "codex"}
    alone: dict[tuple[str, str], int] = {}
    for run in runs:
        alone[run.corpus, run.file] = alone.get((run.corpus, run.file), 0) + 1
    with path.open("w", encoding="utf-8") as file:
        for at, run in enumerate(runs):
            source = str(CORPORA / run.corpus / run.file) if alone[run.corpus, run.file] == 1 else ""
            given: dict[str, Any] = {"key": at, "path": source, "format": formats.get(run.corpus, "")}
            given["calls"] = [asdict(each) for each in run.main]
            print(json.dumps(given), file=file)


def said(interpreter: Path, adapter: str, calls: Path, folder: Path) -> list[list[int]] | str:
    """Return, session by session, the calls at which the peer had something to say; or why that is not known."""
    result = folder / f"{adapter}.jsonl"
    command = [str(interpreter), "-I", str(ADAPTERS), adapter, str(calls), str(result)]
    environment: Mapping[str, str] = {"HOME": str(folder), "PATH": os.defpath, "LANG": "C.UTF-8"}
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=_SECONDS, env=environment, cwd=folder)
    except subprocess.CalledProcessError as error:
        return (error.stderr.decode("utf-8", "replace").strip().splitlines() or ["it failed"])[-1][:120]
    except (OSError, subprocess.SubprocessError) as error:
        return type(error).__name__
    with result.open(encoding="utf-8") as file:
        return [json.loads(line)["said"] for line in file]
