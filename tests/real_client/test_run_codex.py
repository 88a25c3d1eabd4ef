"""The real Codex as worker of `unspin run`, with a scripted model: sketch, design, code and their reviews.

Codex is no Python package: where it is not on the PATH (npm install -g @openai/codex), or named by UNSPIN_CODEX,
this is skipped.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from checkpoint.trees import git

CODEX = os.environ.get("UNSPIN_CODEX", "") or shutil.which("codex") or ""

pytestmark = pytest.mark.skipif(not CODEX, reason="Codex is not on the PATH: npm install -g @openai/codex")

REVIEW = """printf '{"verdict": "%s", "findings": []}' > "$UNSPIN_FINDINGS" """
SCRIPT = {  # by words of the prompt: the shell line that the model runs
    "Sketch the change": 'printf "calc.py" > "$UNSPIN_DESIGN"',
    "Write the design": 'printf "calc.py:2: add instead of subtract" > "$UNSPIN_DESIGN"',
    "You review the design": REVIEW % "ready",
    "Carry out the approved design": "sed -i.bak 's/a - b/a + b/' calc.py && rm calc.py.bak",
    "You review the change": "git diff | head -3; " + REVIEW % "ship",
}


class Model:
    """A stand-in for the Responses API: each session runs its one line, and ends."""

    def __init__(self) -> None:
        self.outputs: list[str] = []
        self._ids = itertools.count(1)
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
                data = model.answer(body) if self.path.endswith("/responses") else b"{}"
                self.send_response(200 if self.path.endswith("/responses") else 404)
                self.send_header("content-type", "text/event-stream")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def answer(self, body: dict[str, Any]) -> bytes:
        number = next(self._ids)
        results = [each["output"] for each in body["input"] if each["type"] == "function_call_output"]
        said = json.dumps([each for each in body["input"] if each["type"] == "message" and each["role"] == "user"])
        item: dict[str, Any]
        if results:
            self.outputs += map(str, results)
            content = [{"type": "output_text", "text": "done"}]
            item = {"type": "message", "id": f"m{number}", "role": "assistant", "content": content}
        else:
            line = next(line for words, line in SCRIPT.items() if words in said)
            item = {"type": "function_call", "id": f"f{number}", "call_id": f"c{number}", "name": "exec_command"}
            item["arguments"] = json.dumps({"cmd": line})
        usage = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": {"id": f"r{number}"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {"id": f"r{number}", "usage": usage}},
        ]
        return "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events).encode()


@pytest.fixture(name="model")
def make_model() -> Iterator[Model]:
    model = Model()
    yield model
    model.server.shutdown()
    model.server.server_close()


CONFIG = """
model = "gpt-5.5"
model_provider = "local"
[model_providers.local]
name = "local"
base_url = "{url}"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
"""


def test_from_the_ticket_to_the_branch(model: Model, tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    (home / ".codex").mkdir(parents=True)
    (home / ".codex" / "config.toml").write_text(CONFIG.format(url=model.url))
    project.mkdir()
    git(project, "init", "-q")
    (project / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    (project / "check.py").write_text("from calc import add\nassert add(1, 2) == 3\n")
    (project / "TICKET.md").write_text("# Mend add()\n\nIt subtracts.\n")
    (project / "unspin.toml").write_text(f"""
[run]
author = "{CODEX} exec"
checks = {{ test = "{sys.executable} check.py" }}
[[run.reviewers]]
name = "correctness"
command = "{CODEX} exec"
""")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "one")
    names = ("PATH", "LANG", "SSL_CERT_FILE")
    env = {**{name: os.environ[name] for name in names if name in os.environ}, "HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-m", "unspin", "run", "TICKET.md"],
        cwd=project, env={**env, "OPENAI_API_KEY": "scripted"}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    (run,) = (home / ".local/share/unspin/runs").iterdir()
    outputs = [each.read_text()[-800:] for each in sorted(run.rglob("*.output.txt"))]
    assert done.returncode == 0, (done.stdout, done.stderr, outputs, model.outputs)
    shown = subprocess.run(
        [sys.executable, "-m", "unspin", "runs", "show", run.name, "--json"],
        env=env, capture_output=True, text=True, check=True,
    )  # fmt: skip
    story = json.loads(shown.stdout)
    assert (story["state"], story["author_turns"]) == ("shipped", 3)
    assert git(project, "show", f"{story['branch']}:calc.py") == "def add(a, b):\n    return a + b\n"
    assert git(project, "diff", "--name-only", "HEAD", story["branch"]).split() == ["calc.py"]
    assert story["cost"]["tokens"] == 5 * 2 * 120, "of each of the model's answers once"
    # a fresh session for each of the five workers
    assert len(list((home / ".codex" / "sessions").rglob("rollout-*.jsonl"))) == 5
