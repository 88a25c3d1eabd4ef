"""A stand-in for the Anthropic Messages API that plays a script: the model's side of a real client's session.

Each request of the main conversation takes the next step of the script; each request of a subagent takes the
next step of that subagent's script. Whatever else a client asks for (a title, a token count, a summary for a
compaction) is answered and takes no step. Knows nothing of how the client is started: see harness.py.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal

Json = dict[str, Any]
Kind = Literal["main", "subagent", "compaction", "side"]

# Words of the client's own compaction prompt (2.1.332). The summary that it asks for carries no tool call.
COMPACTION_PROMPT = "Your task is to create a detailed summary"
AGENT_HEADER = "x-claude-code-agent-id"  # on the requests of a subagent, and on no other (2.1.332)
COMPACTION_ANSWER = "<analysis>scripted</analysis>\n<summary>A scripted summary of the session.</summary>"


@dataclass(frozen=True)
class Tool:
    """One tool call of the model."""

    name: str
    input: Json


def tool(name: str, /, **arguments: Any) -> Tool:
    """`tool("Bash", command="ls")`."""
    return Tool(name, arguments)


@dataclass(frozen=True)
class Text:
    """The model answers with text and ends its turn. `usage` is laid over the default token counts."""

    text: str
    usage: Mapping[str, int] = field(default_factory=dict)

    @property
    def blocks(self) -> list[Json]:
        return [{"type": "text", "text": self.text}]


@dataclass(frozen=True, init=False)
class Calls:
    """The model calls tools: several tools are parallel calls of one response."""

    tools: tuple[Tool, ...]
    text: str
    usage: Mapping[str, int]

    def __init__(self, *tools: Tool, text: str = "", usage: Mapping[str, int] | None = None) -> None:
        object.__setattr__(self, "tools", tools)
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "usage", usage or {})

    @property
    def blocks(self) -> list[Json]:
        said = [{"type": "text", "text": self.text}] if self.text else []
        return said + [{"type": "tool_use", "name": each.name, "input": each.input} for each in self.tools]


@dataclass(frozen=True)
class Fault:
    """The provider answers with an HTTP error. See TOO_LONG for one that makes the client compact."""

    status: int
    message: str
    kind: str = "invalid_request_error"


# A client that gets this compacts the conversation on its own (PreCompact, trigger auto) and asks again.
TOO_LONG = Fault(400, "prompt is too long: 1015000 tokens > 1000000 maximum")

Answer = Text | Calls | Fault
# A callable step sees the request body: it may wait for something, and it decides what the model says.
Step = Answer | Callable[[Json], Answer]


@dataclass
class Request:
    """One request as the client sent it."""

    kind: Kind
    body: Json
    at: float  # time.time() on arrival
    agent_id: str = ""  # of the subagent that asks; empty in the main conversation

    @property
    def leaves(self) -> list[tuple[str, str]]:
        """(role, text) of every block of the conversation, in order. Cache marks and ids are left out."""
        return [
            leaf for message in self.body.get("messages", []) for leaf in _flatten(message["role"], message["content"])
        ]

    @property
    def text(self) -> str:
        """Everything the conversation holds, as one text."""
        return "\n".join(text for _, text in self.leaves)


def _flatten(role: str, content: Any) -> list[tuple[str, str]]:
    if isinstance(content, str):
        return [(role, content)]
    leaves: list[tuple[str, str]] = []
    for block in content:
        match block.get("type"):
            case "text":
                leaves.append((role, block["text"]))
            case "tool_result":
                leaves += _flatten(role, block.get("content") or "")
            case "tool_use":
                leaves.append((role, json.dumps({"tool": block["name"], "input": block["input"]})))
            case other:
                leaves.append((role, f"[{other}]"))
    return leaves


def news(before: Request | None, now: Request) -> list[str]:
    """The texts that `now` holds beyond what `before` held, the model's own words left out."""
    old = before.leaves if before else []
    new = now.leaves
    same = 0
    while same < min(len(old), len(new)) and old[same] == new[same]:
        same += 1
    return [text for role, text in new[same:] if role != "assistant"]


class ScriptedModel:
    """The server: `with ScriptedModel() as model: model.play([...])`, then point a client at `model.url`."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.overruns: list[Request] = []  # requests that found their script already at its end
        self.compaction_answer: Answer = Text(COMPACTION_ANSWER)
        self._main: list[Step] = []
        self._subs: dict[str, list[Step]] = {}
        self._lock = threading.Lock()
        self._ids = itertools.count(1)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_for(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> ScriptedModel:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def play(self, script: Sequence[Step], subscripts: Mapping[str, Sequence[Step]] | None = None) -> None:
        """Adds steps. A subagent's script is found by words that its prompt holds.

        Subagents run in the background unless the call says `run_in_background=False`; the end of one that
        does starts another request of the main conversation, which takes a step of the main script.
        """
        with self._lock:
            self._main += script
            for words, steps in (subscripts or {}).items():
                self._subs.setdefault(words, []).extend(steps)

    @property
    def unplayed(self) -> list[Step]:
        """Steps that no request has asked for."""
        with self._lock:
            return [*self._main, *itertools.chain.from_iterable(self._subs.values())]

    def of_kind(self, kind: Kind) -> list[Request]:
        with self._lock:
            return [request for request in self.requests if request.kind == kind]

    # -- called by the handler ---------------------------------------------------------------------------

    def answer(self, body: Json, agent_id: str = "") -> Answer:
        with self._lock:
            kind, script = self._classify(body, agent_id)
            request = Request(kind, body, time.time(), agent_id)
            self.requests.append(request)
            if kind == "side":
                return Text("ok")
            if kind == "compaction":
                return self.compaction_answer
            if not script:
                self.overruns.append(request)
                return Text("(the script is at its end)")
            step = script.pop(0)
        return step(body) if callable(step) else step  # outside the lock: a callable may wait

    def _classify(self, body: Json, agent_id: str) -> tuple[Kind, list[Step]]:
        messages = body.get("messages", [])
        ends = [text for message in messages[-2:] for _, text in _flatten(message["role"], message["content"])]
        if any(COMPACTION_PROMPT in text for text in ends):
            return "compaction", []
        if not body.get("tools"):
            return "side", []
        if not agent_id:
            return "main", self._main
        # A subagent's task opens its conversation.
        opening: list[str] = []
        for message in messages:
            if message["role"] == "assistant":
                break
            opening += [text for _, text in _flatten(message["role"], message["content"])]
        for words, steps in self._subs.items():
            if any(words in text for text in opening):
                return "subagent", steps
        return "subagent", []

    def message(self, answer: Text | Calls, model: str) -> Json:
        """The whole message, as the API would give it without streaming."""
        blocks = answer.blocks
        for block in blocks:
            if block["type"] == "tool_use":
                block["id"] = f"toolu_scripted{next(self._ids):06d}"
        return {
            "id": f"msg_scripted{next(self._ids):06d}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": blocks,
            "stop_reason": "tool_use" if isinstance(answer, Calls) else "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": 100,
                "output_tokens": 20,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                **answer.usage,
            },
        }


def stream(message: Json) -> list[tuple[str, Json]]:
    """The server-sent events that carry one message."""
    head = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    events: list[tuple[str, Json]] = [("message_start", {"message": head})]
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty: Json = {"type": "text", "text": ""}
            delta: Json = {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events += [
            ("content_block_start", {"index": index, "content_block": empty}),
            ("content_block_delta", {"index": index, "delta": delta}),
            ("content_block_stop", {"index": index}),
        ]
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events += [("message_delta", {"delta": end, "usage": message["usage"]}), ("message_stop", {})]
    return [(name, {"type": name, **data}) for name, data in events]


def _handler_for(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            try:
                body: Json = json.loads(raw)
            except ValueError:
                self._send(404, b"{}")
                return
            route = self.path.partition("?")[0]
            if route.endswith("/count_tokens"):
                self._send(200, b'{"input_tokens": 100}')
            elif not route.endswith("/v1/messages"):
                self._send(404, b"{}")
            else:
                self._answer(body)

        def _answer(self, body: Json) -> None:
            answer = model.answer(body, self.headers.get(AGENT_HEADER) or "")
            if isinstance(answer, Fault):
                error = {"type": "error", "error": {"type": answer.kind, "message": answer.message}}
                self._send(answer.status, json.dumps(error).encode())
                return
            message = model.message(answer, body.get("model", "scripted"))
            if not body.get("stream"):
                self._send(200, json.dumps(message).encode())
                return
            lines = [f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in stream(message)]
            self._send(200, "".join(lines).encode(), "text/event-stream")

        def do_GET(self) -> None:
            self._send(404, b"{}")

        do_HEAD = do_GET

        def _send(self, status: int, data: bytes, content_type: str = "application/json") -> None:
            try:
                self.send_response(status)
                self.send_header("content-type", content_type)
                self.send_header("content-length", str(len(data)))
                self.send_header("connection", "close")
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)
            except OSError:
                pass  # the client went away (it was killed, or it gave the request up)

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler
