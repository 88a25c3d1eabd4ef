"""What is fed in: the recorded session, sessions from transcripts where there are any, and synthetic streams."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness import ROOT

from unspin import events as ev
from unspin.agents.claude_code import HOOKS

RECORDED = ROOT / "demo" / "session.jsonl"
TRANSCRIPTS = ROOT.parent / "shared" / "corpora" / "claude_code"  # as the tests marked `corpora`
BEFORE = tuple(HOOKS["PreToolUse"].split("|"))

PYTEST_FAILED = """\
============================= test session starts ==============================
platform linux -- Python 3.12.3, pytest-8.4.1, pluggy-1.6.0
rootdir: /home/dev/shop
collected 14 items

tests/test_cart.py ......F...                                            [ 71%]
tests/test_price.py ....                                                 [100%]

=================================== FAILURES ===================================
_____________________________ test_total_of_{name} _____________________________

    def test_total_of_{name}():
        cart = Cart()
        cart.add("pen", 3, price=250)
>       assert cart.total() == 750
E       assert 500 == 750
E        +  where 500 = total()
E        +    where total = <shop.cart.Cart object at 0x7f1c2a{address:06x}>.total

tests/test_cart.py:31: AssertionError
=========================== short test summary info ============================
FAILED tests/test_cart.py::test_total_of_{name} - assert 500 == 750
========================= 1 failed, 13 passed in 0.{time:02}s =========================
"""
PYTEST_PASSED = """\
============================= test session starts ==============================
platform linux -- Python 3.12.3, pytest-8.4.1, pluggy-1.6.0
rootdir: /home/dev/shop
collected 14 items

tests/test_cart.py ..........                                            [ 71%]
tests/test_price.py ....                                                 [100%]

============================== 14 passed in 0.{time:02}s ==============================
"""
SOURCE = "".join(f"def price_{n}(item, count):\n    return item.price * count + {n}\n\n\n" for n in range(60))
TEST = "from shop import cart\n\n\n" + "".join(
    f"def test_total_of_{n}():\n    assert cart.price_{n}(cart.Item(2), 3) == {6 + n}\n\n\n" for n in range(40)
)


class Project:
    """A small project on disk, and the transcript that the client keeps beside it."""

    def __init__(self, folder: Path):
        self.folder = folder / "shop"
        self.folder.mkdir()
        self.folder = self.folder.resolve()
        (self.folder / ".git").mkdir()
        for name, text in {
            "src/cart.py": SOURCE,
            "src/other.py": SOURCE,
            "tests/test_cart.py": TEST,
            "format.js": "exports.price = (cents) => (cents / 100).toFixed(2);\n",
            "pyproject.toml": '[project]\nname = "shop"\nversion = "1"\n',
        }.items():
            self.write(name, text)
        self.transcript = folder / "transcript.jsonl"
        self.transcript.write_text("".join(_transcript_lines()), "utf-8")

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def path(self, name: str) -> str:
        return str(self.folder / name)


def _transcript_lines() -> Iterator[str]:
    """About 1 MB of a transcript as it stands beside a session that is under way."""
    usage = {
        "input_tokens": 4,
        "cache_read_input_tokens": 61000,
        "cache_creation_input_tokens": 900,
        "output_tokens": 210,
    }
    for number in range(260):
        message = {"id": f"msg_{number}", "model": "claude-sonnet-4-5", "role": "assistant", "usage": usage}
        yield json.dumps({"type": "assistant", "isSidechain": False, "message": message}) + "\n"
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number:06}", "content": "x = 1\n" * 600}
        yield json.dumps({"type": "user", "message": {"role": "user", "content": [result]}}) + "\n"
    yield json.dumps({"type": "assistant", "isSidechain": False, "message": message}) + "\n"


class Payloads:
    """Makes payloads of one session, as the client sends them."""

    def __init__(self, project: Project, session: str = "bench"):
        self.project = project
        self.session = session
        self.calls = 0

    def make(self, event: str, **fields: Any) -> dict[str, Any]:
        return {
            "session_id": self.session,
            "transcript_path": str(self.project.transcript),
            "cwd": str(self.project.folder),
            "hook_event_name": event,
            "permission_mode": "default",
            **fields,
        }

    def before(self, call: dict[str, Any]) -> dict[str, Any]:
        return self.make("PreToolUse", **{key: value for key, value in call.items() if key != "tool_response"})

    def batch(self, *calls: dict[str, Any]) -> dict[str, Any]:
        return self.make("PostToolBatch", tool_calls=list(calls))

    def prompt(self, text: str = "Mend the total, please.") -> dict[str, Any]:
        return self.make("UserPromptSubmit", prompt=text)

    def call(self, tool: str, response: str, **given: Any) -> dict[str, Any]:
        self.calls += 1
        return {
            "tool_name": tool,
            "tool_input": given,
            "tool_use_id": f"toolu_{self.calls:06}",
            "tool_response": response,
        }

    def edit(self, name: str, old: str = "count + 7", new: str = "count + 8") -> dict[str, Any]:
        path = self.project.path(name)
        text = f"The file {path} has been updated successfully."
        return self.call("Edit", text, file_path=path, old_string=old, new_string=new, replace_all=False)

    def write(self, name: str, content: str) -> dict[str, Any]:
        path = self.project.path(name)
        return self.call("Write", f"File created successfully at: {path}", file_path=path, content=content)

    def read(self, name: str = "src/cart.py") -> dict[str, Any]:
        numbered = "".join(f"{n}\t{line}\n" for n, line in enumerate(SOURCE.splitlines(), 1))
        return self.call("Read", numbered, file_path=self.project.path(name))

    def shell(self, command: str, output: str = "", status: int = 0) -> dict[str, Any]:
        text = f"Exit code {status}\n{output}" if status else output or "(Bash completed with no output)"
        return self.call("Bash", text, command=command, description="d")

    def failing(self, command: str = "pytest -q", number: int = 1) -> dict[str, Any]:
        return self.shell(command, PYTEST_FAILED.format(name="pens", address=number % 999999, time=number % 90), 1)


# -- recorded --------------------------------------------------------------------------


def recorded(project: Project, session: str = "recorded") -> list[dict[str, Any]]:
    """Return the payloads of the recorded demonstration, standing in ``project``."""
    text = RECORDED.read_text("utf-8").replace("/home/dev/format", str(project.folder))
    payloads = [json.loads(line) for line in text.splitlines()]
    for payload in payloads:
        payload.update(session_id=session, transcript_path=str(project.transcript))
    return payloads


def transcripts(most: int, shortest: int = 20_000, longest: int = 4_000_000) -> list[Path]:
    """Return recorded transcripts where there are any, the same ones each time."""
    files = sorted(TRANSCRIPTS.glob("*.jsonl.gz")) if TRANSCRIPTS.is_dir() else []
    files = [each for each in files if shortest <= each.stat().st_size <= longest]
    return files[:: max(1, len(files) // most)][:most] if files else []


def from_transcript(path: Path, project: Project) -> list[dict[str, Any]]:
    """Return the payloads that a session's hooks would have got, told from its transcript.

    A round is the calls of one model response; the session is moved into ``project``,
    where the files that it edits are made to exist.
    """
    with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
        entries = [entry for line in file if isinstance(entry := _entry(line), dict)]
    home = next((each["cwd"] for each in entries if isinstance(each.get("cwd"), str)), "")
    maker = Payloads(project, path.name)
    payloads = [maker.make("SessionStart", source="startup")]
    open_calls: dict[str, dict[str, Any]] = {}
    done: list[dict[str, Any]] = []
    for entry in entries:
        message = entry.get("message")
        if entry.get("isSidechain") or not isinstance(message, dict):
            continue
        content = message.get("content")
        if isinstance(content, str):
            if message.get("role") == "user" and not entry.get("isMeta") and content.strip():
                payloads.append(maker.prompt(content))
            continue
        for block in content if isinstance(content, list) else ():
            if block.get("type") == "tool_use":
                call = _moved(block, home, project)
                open_calls[block["id"]] = call
                if call["tool_name"] in BEFORE:
                    payloads.append(maker.before(call))
            elif block.get("type") == "tool_result" and block.get("tool_use_id") in open_calls:
                call = open_calls.pop(block["tool_use_id"])
                done.append({**call, "tool_response": _text(block.get("content"))})
                if not open_calls:
                    payloads.append(maker.batch(*done))
                    done = []
    return payloads


def _entry(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:  # some were cut when their secrets were taken out
        return None


def _moved(block: dict[str, Any], home: str, project: Project) -> dict[str, Any]:
    given = json.loads(json.dumps(block.get("input", {})).replace(home, str(project.folder)) if home else "{}")
    path = Path(given.get("file_path", "/")) if isinstance(given.get("file_path", "/"), str) else Path("/")
    if project.folder in path.parents and not path.exists() and block["name"] in BEFORE:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SOURCE, "utf-8")
    return {"tool_name": block["name"], "tool_input": given, "tool_use_id": block["id"]}


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(each.get("text", "") for each in content if isinstance(each, dict))
    return content if isinstance(content, str) else ""


# -- synthetic -------------------------------------------------------------------------

LAP = 16  # events of one lap of the synthetic stream


def stream(start: int, laps: int, *, new: bool) -> list[ev.Event]:
    """Return events of an agent at honest work: each command the same every lap, or each of them new."""
    return [event for lap in range(start, start + laps) for event in _lap(lap, new=new)]


def _lap(lap: int, *, new: bool) -> Iterator[ev.Event]:
    word = f"_{lap}" if new else ""
    path = f"/home/dev/shop/src/cart{lap if new else lap % 20}.py"
    read = ev.ToolCall("read", path, action=ev.READ, label=f"read {path}")
    failed = PYTEST_FAILED.format(name=f"pens{lap % 7}", address=lap % 999999, time=lap % 90)
    steps = [
        ev.ToolResult(read, SOURCE[:2000] + str(lap)),
        ev.shell(f"ls src{word}", f"cart.py\nprice{lap}.py\n"),
        ev.edit(path, f"return {lap}", f"return {lap + 1}"),
        ev.shell(f"pytest -q tests/test_cart{word}.py", failed, 1),
        ev.shell(f"grep -rn 'total{word}' src | head -20", f"src/cart.py:{lap}: total = 0\n" * 8),
        ev.edit(path, f"return {lap + 1}", f"return {lap + 2}"),
        ev.shell(f"cd . && pytest -q tests/test_cart{word}.py", PYTEST_PASSED.format(time=lap % 90)),
    ]
    for step in steps:
        yield step
        yield ev.RoundEnd()
    yield ev.ContextSize(20_000 + lap % 9000)
    yield ev.Message("go on", by_person=lap % 10 == 0)


def short(start: int, laps: int) -> list[ev.Event]:
    """Return events with nothing to read in them: what remains is the guard's own work."""
    found: list[ev.Event] = []
    for lap in range(start, start + laps):
        found += [ev.shell("ls src", f"cart.py\nnote{lap % 9}.py\n"), ev.RoundEnd()]
        found += [ev.edit("/home/dev/shop/src/cart.py", f"return {lap}", f"return {lap + 1}"), ev.RoundEnd()]
    return found


def widest(number: int) -> list[ev.Event]:
    """Return a round that leaves as much in the state as one can: long names, many failing tests, secrets."""
    path = f"/home/dev/shop/{'deep/' * 60}file{number}.py"
    tests = "".join(
        f"FAILED tests/{'deep/' * 20}test_{number}_{n}.py::test_{n}[{'x' * 150}] - AssertionError: {number} != {n}\n"
        for n in range(60)
    )
    command = f"pytest {'deep/' * 60}{number} --token=abcdefgh{number}"
    return [
        ev.edit(path, f"a{number}" * 50, f"b{number}" * 50),
        ev.RoundEnd(),
        ev.shell(command, tests + f"60 failed in {number}s", 1),
        ev.RoundEnd(),
    ]
