"""A scripted model behind HTTP, in the wire format of each provider: each request gets the next answer of its script.

An answer is a list of (channel, piece) with channels "content", "reasoning", "arguments". What was
asked, and how many bytes went out before the client closed, is kept.
"""

from __future__ import annotations

import json
import struct
import threading
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

Answer = list[tuple[str, str]]

#: Long enough that no socket's buffer holds it: it has to be cut to end early.
LOOP = [("content", "I'll send it now. Let me send it.\n")] * 120_000
SHORT_LOOP = [("content", "I'll send it now. Let me send it.\n")] * 200
GOOD = [("content", "The total is "), ("content", "42.")]


class Model:
    """The server, as a context manager."""

    def __init__(self, wire: str, *script: Answer):
        self.wire = wire
        self.script = list(script)
        self.requests: list[dict[str, Any]] = []
        self.sent = 0
        self.cut = 0

    def __enter__(self) -> Model:
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 20

            def log_message(self, *_: object) -> None:
                pass

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                asked = json.loads(body)
                model.requests.append(asked)
                answer = model.script[min(len(model.requests), len(model.script)) - 1]
                if not model.streams(self.path, asked):
                    whole = json.dumps(WHOLE[model.wire]).encode()
                    self.send_response(200)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(whole)))
                    self.send_header("Connection", "close")
                    self.end_headers()
                    self.wfile.write(whole)
                    return
                self.send_response(200)
                self.send_header("Content-Type", TYPES.get(model.wire, "text/event-stream"))
                self.send_header("Connection", "close")
                self.end_headers()
                self.close_connection = True
                try:
                    for piece in WIRES[model.wire](answer):
                        self.wfile.write(piece)
                        model.sent += len(piece)
                except (BrokenPipeError, ConnectionResetError):
                    model.cut += 1

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = False
        self._server.block_on_close = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()  # waits for the handlers: whether they were cut is known then

    def streams(self, path: str, asked: dict[str, Any]) -> bool:
        return bool(asked.get("stream")) or "stream" in path.lower()


def sse(data: dict[str, Any], *, named: bool = False) -> bytes:
    event = f"event: {data['type']}\n" if named else ""
    return f"{event}data: {json.dumps(data)}\n\n".encode()


def openai_chat(answer: Answer) -> Iterator[bytes]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return sse({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]})

    yield chunk({"role": "assistant", "content": ""})
    calls = False
    for channel, text in answer:
        if channel == "content":
            yield chunk({"content": text})
        elif channel == "reasoning":
            yield chunk({"reasoning_content": text})
        else:
            head = {} if calls else {"id": "call_1", "type": "function"}
            function = {"arguments": text} | ({} if calls else {"name": "write"})
            calls = True
            yield chunk({"tool_calls": [{"index": 0, "function": function, **head}]})
    yield chunk({}, "tool_calls" if calls else "stop")
    yield b"data: [DONE]\n\n"


def openai_responses(answer: Answer) -> Iterator[bytes]:
    base: dict[str, Any] = {
        "id": "r1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    number = 0

    def event(kind: str, **fields: Any) -> bytes:
        nonlocal number
        number += 1
        return sse({"type": kind, "sequence_number": number, **fields}, named=True)

    names = {
        "content": "response.output_text.delta",
        "reasoning": "response.reasoning_summary_text.delta",
        "arguments": "response.function_call_arguments.delta",
    }
    yield event("response.created", response={**base, "status": "in_progress"})
    channel = answer[0][0]
    if channel == "content":
        item: dict[str, Any] = {"id": "i1", "type": "message", "role": "assistant", "status": "in_progress"}
        yield event("response.output_item.added", output_index=0, item={**item, "content": []})
        part = {"type": "output_text", "text": "", "annotations": []}
        yield event("response.content_part.added", output_index=0, content_index=0, item_id="i1", part=part)
    elif channel == "arguments":
        item = {"id": "i1", "type": "function_call", "call_id": "c1", "name": "write", "arguments": ""}
        yield event("response.output_item.added", output_index=0, item=item)
    else:
        item = {"id": "i1", "type": "reasoning", "summary": []}
        yield event("response.output_item.added", output_index=0, item=item)
        part = {"type": "summary_text", "text": ""}
        yield event("response.reasoning_summary_part.added", output_index=0, summary_index=0, item_id="i1", part=part)
    for kind, text in answer:
        where = {"summary_index": 0} if kind == "reasoning" else {"content_index": 0, "logprobs": []}
        yield event(names[kind], item_id="i1", output_index=0, delta=text, **where)
    text = "".join(text for _, text in answer)
    done = {"id": "i1", "type": "message", "role": "assistant", "status": "completed"}
    done["content"] = [{"type": "output_text", "text": text, "annotations": []}]  # type: ignore[assignment]
    yield event("response.completed", response={**base, "status": "completed", "output": [done]})


def anthropic(answer: Answer) -> Iterator[bytes]:
    message = {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    blocks = {
        "content": ({"type": "text", "text": ""}, "text_delta", "text"),
        "reasoning": ({"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta", "thinking"),
        "arguments": (
            {"type": "tool_use", "id": "t1", "name": "write", "input": {}},
            "input_json_delta",
            "partial_json",
        ),
    }
    yield sse({"type": "message_start", "message": message}, named=True)
    start, kind, field = blocks[answer[0][0]]
    yield sse({"type": "content_block_start", "index": 0, "content_block": start}, named=True)
    for _, text in answer:
        yield sse({"type": "content_block_delta", "index": 0, "delta": {"type": kind, field: text}}, named=True)
    yield sse({"type": "content_block_stop", "index": 0}, named=True)
    delta = {"stop_reason": "end_turn", "stop_sequence": None}
    yield sse({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 9}}, named=True)
    yield sse({"type": "message_stop"}, named=True)


def bedrock(answer: Answer) -> Iterator[bytes]:
    """Frames of the binary event stream: lengths and checksum, headers, payload, checksum."""

    def frame(kind: str, payload: dict[str, Any]) -> bytes:
        headers = b""
        named = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
        for name, value in named.items():
            headers += bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        body = json.dumps(payload).encode()
        prelude = struct.pack(">II", 16 + len(headers) + len(body), len(headers))
        framed = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + body
        return framed + struct.pack(">I", zlib.crc32(framed))

    yield frame("messageStart", {"role": "assistant"})
    channel = answer[0][0]
    if channel == "arguments":
        start = {"toolUse": {"toolUseId": "t1", "name": "write"}}
        yield frame("contentBlockStart", {"contentBlockIndex": 0, "start": start})
    for kind, text in answer:
        delta: dict[str, Any] = {"text": text}
        if kind == "reasoning":
            delta = {"reasoningContent": {"text": text}}
        elif kind == "arguments":
            delta = {"toolUse": {"input": text}}
        yield frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": delta})
    yield frame("contentBlockStop", {"contentBlockIndex": 0})
    yield frame("messageStop", {"stopReason": "end_turn"})


def gemini(answer: Answer) -> Iterator[bytes]:
    for at, (channel, text) in enumerate(answer):
        part: dict[str, Any] = {"text": text}
        if channel == "reasoning":
            part["thought"] = True
        elif channel == "arguments":
            part = {"functionCall": {"name": "write", "args": {"text": text}}}
        candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": [part]}}
        if at == len(answer) - 1:
            candidate["finishReason"] = "STOP"
        yield sse({"candidates": [candidate]})


WIRES = {
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "anthropic": anthropic,
    "bedrock": bedrock,
    "gemini": gemini,
}
TYPES = {"bedrock": "application/vnd.amazon.eventstream"}

_LOOPED = "I'll send it now. Let me send it.\n" * 50
#: Answers that are no stream, and hold a loop that nobody watches.
WHOLE: dict[str, dict[str, Any]] = {
    "openai-chat": {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": _LOOPED}}],
    },
    "openai-responses": {
        "id": "r1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "output": [
            {
                "id": "i1",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": _LOOPED, "annotations": []}],
            }
        ],
    },
    "anthropic": {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": _LOOPED}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
    "bedrock": {
        "output": {"message": {"role": "assistant", "content": [{"text": _LOOPED}]}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
        "metrics": {"latencyMs": 1},
    },
    "gemini": {
        "candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [{"text": _LOOPED}]}}]
    },
}
