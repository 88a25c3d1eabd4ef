"""OpenHands' events: those of its agent SDK (``kind``), and the older ones (``action``, ``observation``).

They come as a folder with a file for each event, as a list in one document (a trajectory, an answer
of the server), and in a line for each instance of an evaluation (``history``). Of a folder the first
event's file stands for all; the others, and what the server keeps beside them, are read with it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

from unspin import events as ev
from unspin.agents.claude_code import canonical
from unspin.cost.prices import Usage
from unspin.scan.documents import WHOLE, Document
from unspin.scan.items import Began, Broken, Ended, Skipped, Used
from unspin.scan.patches import edits_of
from unspin.scan.readers.plain import (
    WRONG,
    Round,
    amount,
    decode,
    kind,
    listing,
    mapping,
    note_texts,
    status,
    text,
    unlike,
    whole,
)
from unspin.scan.source import LONGEST_LINE, Source, SourceError
from unspin.scan.untold import failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unspin.scan.items import Item

NAME = "openhands"

_BLOCK = 16 << 10
_MOST_TRIES = 200  # places at which reading is taken up again after what is broken
_BETWEEN = re.compile(r"[\s,]*")
_NEXT = re.compile(r"[,}\]]\s*\{(?=\s*\")")

#: Members of a document that hold its events.
_LISTS = ("trajectory", "history", "events", "items")

_ACTIONS: dict[str, str] = {
    **dict.fromkeys(("terminal", "execute_bash", "bash", "cmd_run", "run"), ev.SHELL),
    **dict.fromkeys(
        ("file_editor", "str_replace_editor", "planning_file_editor", "edit", "edit_file", "write", "write_file",
         "apply_patch"),
        ev.EDIT,
    ),
    **dict.fromkeys(
        ("read", "read_file", "list_directory", "glob", "grep", "browse", "browser_navigate", "browser_get_state",
         "browser_get_content", "browser_scroll", "browser_list_tabs", "browser_get_storage", "invoke_skill",
         "vision_inspect", "download", "tom_consult"),
        ev.READ,
    ),
    **dict.fromkeys(("think", "task_tracker", "task_tracking", "switch_llm"), ev.NOTE),
    **dict.fromkeys(("delegate", "task", "task_tool_set", "workflow"), ev.AGENT),
}  # fmt: skip

#: What the agent adds to a call, and what is no part of what identifies it.
_GLOSS = frozenset(
    ("thought", "security_risk", "summary", "kind", "confirmation_state", "translated_ipython_code", "blocking",
     "hidden", "is_static", "timeout", "include_extra", "kernel_init_code", "reset", "impl_source")
)  # fmt: skip

_NOT_CALLS = frozenset(
    ("system", "recall", "change_agent_state", "null", "start", "pause", "resume", "stop", "loop_recovery",
     "condensation_request", "push", "send_pr", "reject")
)  # fmt: skip

#: What an evaluation says in the person's place.
_FAKE = ("Please continue working on the task on whatever approach you think is suitable", "Please proceed with the")

_SDK = re.compile(rb'"kind"\s*:\s*"(\w+Event|Condensation\w*|UserRejectObservation|AgentErrorEvent)"')
_OLD = re.compile(rb'"(action|observation)"\s*:\s*"[a-z_]+"')
_SOURCE = re.compile(rb'"source"\s*:\s*"(agent|user|environment)"')
_BESIDE = re.compile(rb'"(args|extras|cause)"\s*:')
_EVENT = re.compile(
    r"event-(\d{1,12})-[0-9a-fA-F-]{8,}\.json(?:\.gz|\.zst|\.zstd)?|(\d{1,9})\.json(?:\.gz|\.zst|\.zstd)?"
)
_JUPYTER = "\n[Jupyter "


def sniff(head: bytes, path: str) -> bool:
    """Tell whether content that begins so is such events."""
    start = head.lstrip()[:1]
    if start not in (b"[", b"{"):
        return False
    if _SOURCE.search(head) and (_SDK.search(head) or (_OLD.search(head) and _BESIDE.search(head))):
        return True
    return os.path.basename(path).startswith("base_state.json") and b'"persistence_dir"' in head


def read(source: Source) -> Iterator[Item]:
    """Yield what happened in the conversations that a file holds."""
    name = os.path.basename(source.path)
    if name.startswith("base_state.json"):
        return iter([(Skipped("the state of a conversation: read with its events"), "")])
    if _EVENT.fullmatch(name) and not source.remote:
        return _folder(source)
    try:
        head = source.head().lstrip()
    except SourceError as error:
        return iter([(Broken(0, str(error)), "")])
    if os.path.basename(os.path.dirname(os.path.abspath(source.path))) == "event_cache" and not source.remote:
        return iter([(Skipped("a page of events: read with their files"), "")])
    if head.startswith(b"["):
        return _list(source)
    first = head.split(b"\n", 1)[0].rstrip()
    if first.endswith(b"}") and len(first) < len(head.rstrip()):
        return _lines(source)
    if len(first) == len(head) and b'"instance_id"' in head[:4000] and not _is_small(source):
        return _lines(source)  # a line that is longer than the head
    return _document(source)


def _is_small(source: Source) -> bool:
    try:
        source.whole(WHOLE)
    except SourceError:
        return False
    return True


# -- where events come from ------------------------------------------------------------


def _stem(path: str) -> str:
    name = os.path.basename(path)
    for end in (".gz", ".zst", ".zstd", ".jsonl", ".json"):
        name = name.removesuffix(end)
    return name


def _folder(source: Source) -> Iterator[Item]:
    folder, name = os.path.split(os.path.abspath(source.path))
    if name != _first(folder, _changed(folder)):
        yield Skipped("an event: read with the first of its folder"), ""
        return
    above = os.path.dirname(folder) if os.path.basename(folder) == "events" else folder
    state = _state(above)
    reader = _Reader(text(state, "id") or os.path.basename(above), state)
    for each in _names(folder):
        try:
            event = decode(Source(os.path.join(folder, each)).whole(LONGEST_LINE))
        except (SourceError, *WRONG) as error:
            yield Broken(1, f"{each[:80]}: {' '.join(str(error).split())[:200]}"), ""
            continue
        yield from reader.event(event, 0)
    yield from reader.end()


@lru_cache(maxsize=2)
def _first(folder: str, changed: int) -> str:
    return next(iter(_names(folder)), "")


def _changed(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


def _names(folder: str) -> list[str]:
    """Return the files of a folder's events, in their order."""
    try:
        found = [(match, each) for each in os.listdir(folder) if (match := _EVENT.fullmatch(each))]
    except OSError:
        return []
    return [each for _, each in sorted((int(match[1] or match[2]), each) for match, each in found)]


def _state(folder: str) -> dict[str, Any]:
    """Return what the SDK keeps of a conversation beside its events."""
    try:
        found = decode(Source(os.path.join(folder, "base_state.json")).whole(LONGEST_LINE))
    except (SourceError, OSError, *WRONG):
        return {}
    return found if isinstance(found, dict) else {}


def _list(source: Source) -> Iterator[Item]:
    reader = _Reader(_stem(source.path), {})
    for number, event in enumerate(_elements(source), 1):
        if isinstance(event, Broken):
            yield event, ""
        else:
            yield from reader.event(event, number)
    yield from reader.end()


def _elements(source: Source) -> Iterator[Any]:
    """Yield the elements of a document that is a list, one at a time where it is large; a ``Broken`` at its break."""
    data, why = source.beginning(WHOLE + 1)
    if why:
        yield from (each for each in _mended(data) if not isinstance(each, Broken))
        yield Broken(0, why)
        return
    if len(data) <= WHOLE:
        try:
            found = decode(data)
        except WRONG:
            found = _mended(data)
        yield from found
        return
    import ijson  # type: ignore[import-untyped,unused-ignore]

    try:
        with source.open() as stream:
            bounded = _Bounded(stream)
            for each in ijson.items(bounded, "item", use_float=True):
                bounded.left = LONGEST_LINE
                yield each
    except Exception as error:  # the other library's, of the stream, of the compression
        yield Broken(0, " ".join((str(error) or type(error).__name__).split())[:200])


def _mended(data: bytes) -> Iterator[Any]:
    """Yield the elements of a list that is damaged: what breaks is told, and reading goes on at the next event."""
    content, decoder = data.decode("utf-8", "replace"), json.JSONDecoder(strict=False)
    at, tries = content.find("[") + 1, 0
    while tries < _MOST_TRIES:
        begins = _BETWEEN.match(content, at)
        at = begins.end() if begins else at
        if at >= len(content) or content[at] == "]":
            return
        try:
            element, at = decoder.raw_decode(content, at)
        except (ValueError, RecursionError) as error:
            yield Broken(content.count("\n", 0, at) + 1, f"no JSON: {' '.join(str(error).split())[:200]}")
            while tries < _MOST_TRIES and (following := _NEXT.search(content, at + 1)):
                at, tries = following.end() - 1, tries + 1
                try:
                    found = decoder.raw_decode(content, at)[0]
                except (ValueError, RecursionError):
                    continue
                if "source" in found and ("timestamp" in found or "id" in found):
                    break
            else:
                return
            continue
        yield element


class _Bounded:
    """A stream that gives up where one element goes on for too long."""

    def __init__(self, stream: Any):
        self._stream = stream
        self.left = LONGEST_LINE

    def read(self, size: int = -1) -> bytes:
        if self.left < 0:
            raise SourceError(f"an event of more than {LONGEST_LINE >> 20} MB")
        found: bytes = self._stream.read(_BLOCK if size < 0 else min(size, _BLOCK))
        self.left -= len(found)
        return found


def _document(source: Source) -> Iterator[Item]:
    document = Document(source)
    name = next((each for each in _LISTS if next(document.each(each), None) is not None), "")
    if not name:
        reader = _Reader(_stem(source.path), {})
        try:
            event = decode(source.whole(WHOLE))  # one event, away from its folder
        except (SourceError, *WRONG):
            event = None
        if isinstance(event, dict):
            yield from reader.event(event, 1)
            yield from reader.end()
            return
    else:
        instance = document.value("instance_id")
        reader = _Reader(instance if isinstance(instance, str) and instance else _stem(source.path), {})
        for number, event in enumerate(document.each(name), 1):
            yield from reader.event(event, number)
        yield from reader.end()
    for problem in document.problems:
        yield problem, ""


def _lines(source: Source) -> Iterator[Item]:
    """Read a line for each instance of an evaluation, or for each event."""
    reader: _Reader | None = None
    try:
        for number, data in source.lines():
            if data is None:
                yield Broken(number, "a line that is too long to be read"), ""
                continue
            if not data.strip():
                continue
            try:
                found = decode(data)
            except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
                yield unlike(number, data, error), ""
                continue
            name = next((each for each in _LISTS if isinstance(found, dict) and listing(found, each)), "")
            if not name:
                reader = reader or _Reader(_stem(source.path), {})
                yield from reader.event(found, number)
                continue
            one = _Reader(text(found, "instance_id", "id") or f"{_stem(source.path)}:{number}", {})
            for event in listing(found, name):
                # the oldest hold pairs of an action and what came of it
                for each in event if isinstance(event, list) else [event]:
                    yield from one.event(each, number)
            yield from one.end()
            how = text(found, "error")
            if how:
                yield Ended(how[:200]), ""
    except SourceError as error:
        yield Broken(0, str(error)), ""
    if reader is not None:
        yield from reader.end()


# -- events ----------------------------------------------------------------------------


class _Reader:
    """Turns the events of one conversation into ours. ``state`` is what the SDK keeps beside them."""

    def __init__(self, session: str, state: dict[str, Any]):
        self._session = session
        self._state = state
        folder = text(mapping(state, "workspace"), "working_dir")
        self._cwd = folder if folder.startswith("/") else "/"
        self._model = text(mapping(mapping(state, "agent"), "llm"), "model")
        self._began = False
        self._when = ""
        self._round = Round()
        self._open: dict[str, tuple[ev.ToolCall, int]] = {}
        self._issued = 0
        self._agents: list[str] = []  # the delegates at work, the innermost last
        self._usages = _usages(state)
        self._outer: list[tuple[Round, dict[str, tuple[ev.ToolCall, int]], int]] = []  # what they interrupted
        self._sums = [0, 0, 0, 0]  # of tokens, as the run has told them so far
        self._cost = 0.0

    @property
    def _agent(self) -> str:
        return "/".join(self._agents)

    def event(self, event: Any, number: int) -> Iterator[Item]:
        """Yield what one event tells."""
        if not self._began:
            self._began = True
            if isinstance(event, dict):
                self._when = text(event, "timestamp")
            yield Began(self._session, "" if self._cwd == "/" else self._cwd, NAME, self._model), self._when
        if not isinstance(event, dict):
            yield kind(type(event).__name__), self._when
            return
        self._when = text(event, "timestamp") or self._when
        try:
            if isinstance(event.get("kind"), str):
                yield from self._of_sdk(event)
            elif isinstance(event.get("action"), str):
                yield from self._action(event)
            elif isinstance(event.get("observation"), str):
                yield from self._observation(event)
            else:
                yield kind("event without action, observation and kind"), self._when
        except WRONG as error:
            yield Broken(number, f"not as an event of this kind should be: {error}"), self._when

    def end(self) -> Iterator[Item]:
        """Yield what is left: the last round, and how the conversation stands."""
        yield from self._close()
        how = text(self._state, "execution_status")
        if how and how != "finished":
            yield Ended(how), self._when
        for usage in self._usages.values():
            yield self._used(usage, ""), self._when
        self._usages = {}

    def _close(self) -> Iterator[Item]:
        yield from self._round.close()
        self._round = Round(self._agent)
        self._open.clear()
        self._issued = 0

    def _issue(self, call: ev.ToolCall, response: str, *names: str) -> Iterator[Item]:
        """Take a call into the round of its response."""
        if not response or response != self._round.name:
            yield from self._close()
            self._round.name = response
            self._round.agent = self._agent
        for name in names:
            if name:
                self._open[name] = call, self._issued
        self._issued += 1

    def _ended(self, *names: str) -> tuple[ev.ToolCall, int] | None:
        """Return the call that a result answers."""
        found = next((self._open[name] for name in names if name in self._open), None)
        if found is not None:
            self._open = {name: each for name, each in self._open.items() if each[0] is not found[0]}
        return found

    def _done(self, result: ev.ToolResult) -> None:
        self._round.done.append(result)
        self._round.when = self._when

    def _compacted(self) -> Iterator[Item]:
        yield from self._close()
        if not self._agents:
            yield ev.Compaction(done=False), self._when
            yield ev.Compaction(done=True), self._when

    def _said(self, content: str) -> Iterator[Item]:
        yield from self._close()
        yield ev.Message(content, by_person=not content.lstrip().startswith(_FAKE)), self._when

    # -- the agent SDK -----------------------------------------------------------------

    def _of_sdk(self, event: dict[str, Any]) -> Iterator[Item]:
        of = event["kind"]
        if of == "ActionEvent":
            yield from self._sdk_action(event)
        elif of in ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation"):
            yield from self._sdk_result(event, of)
        elif of == "MessageEvent" and event.get("source") == "user":
            content = _content(mapping(event, "llm_message").get("content"))
            if text(event, "sender"):
                yield from self._close()
                yield ev.Message(content, by_person=False), self._when
            else:
                yield from self._said(content)
        elif of == "MessageEvent":
            yield from self._close()
            yield from self._responded(text(event, "llm_response_id"))
            yield kind(of, event.get("source")), self._when
        elif of == "Condensation":
            yield from self._compacted()
        elif of == "ConversationErrorEvent":
            yield from self._close()
            yield Ended(text(event, "code") or "error"), self._when
        else:
            yield kind(of), self._when

    def _sdk_action(self, event: dict[str, Any]) -> Iterator[Item]:
        name, response = text(event, "tool_name"), text(event, "llm_response_id")
        given = event.get("action")
        if not isinstance(given, dict):  # it was not valid: as the model wrote it
            try:
                given = decode(text(mapping(event, "tool_call"), "arguments").encode("utf-8", "replace"))
            except WRONG:
                given = {}
        given = given if isinstance(given, dict) else {}
        if name == "finish" or given.get("kind") == "FinishAction":
            if response != self._round.name:
                yield from self._close()
            yield from self._responded(response)
            yield Ended("finish"), self._when
            return
        call = _call(name or text(given, "kind"), given, self._cwd, self._agent, text(event, "tool_call_id"))
        if call is None:
            yield kind("ActionEvent", "without a tool"), self._when
            return
        yield from self._issue(call, response, text(event, "id"), call.call_id)
        yield from self._responded(response)

    def _responded(self, response: str) -> Iterator[Item]:
        """Yield what a response used, the first time that it is heard of."""
        usage = self._usages.pop(response, None) if response else None
        if usage is not None:
            used = self._used(usage, response)
            yield used, self._when
            size = used.usage.input + used.usage.cache_read + used.usage.cache_write + used.usage.output
            if size and self._round.name == response:
                self._round.context = ev.ContextSize(size, whole(usage, "context_window") or None)

    def _used(self, usage: dict[str, Any], key: str) -> Used:
        cached, written = whole(usage, "cache_read_tokens"), whole(usage, "cache_write_tokens")
        prompt, output = whole(usage, "prompt_tokens"), whole(usage, "completion_tokens")
        return Used(
            text(usage, "model") or self._model,
            Usage(max(prompt - cached - written, 0), output, cached, written),
            key,
            agent=self._agent,
            dollars=amount(usage, "cost"),
        )

    def _sdk_result(self, event: dict[str, Any], of: str) -> Iterator[Item]:
        found = self._ended(text(event, "action_id"), text(event, "tool_call_id"))
        if found is None:
            yield kind(of, event.get("tool_name")), self._when
            return
        call, position = found
        told = mapping(event, "observation")
        if of == "UserRejectObservation":
            result = ev.ToolResult(call, text(event, "rejection_reason"), position=position)
            hook = event.get("rejection_source") == "hook"
            result.refused = ev.BY_HOOK if hook else ev.BY_PERSON
            result.comment = not hook and bool(result.output) and not result.output.startswith("User rejected")
        elif of == "AgentErrorEvent":
            result = ev.ToolResult(call, text(event, "error"), failed=True, position=position)
            result.refused = ev.BY_TOOL if call.action == ev.EDIT else ""
        else:
            output = _content(told.get("content")) or text(told, "output", "error", "message")
            wrong = told.get("is_error") is True or bool(told.get("error"))
            result = ev.ToolResult(call, output, failed=wrong, position=position)
            code = mapping(told, "metadata").get("exit_code") if told.get("exit_code") is None else told["exit_code"]
            if call.action == ev.SHELL:
                self._ran(result, code, mapping(told, "metadata"), wrong=wrong)
            elif call.action == ev.EDIT:
                _edited(result, told, wrong=wrong)
        self._done(result)

    # -- the older events --------------------------------------------------------------

    def _action(self, event: dict[str, Any]) -> Iterator[Item]:
        of, given = event["action"], mapping(event, "args")
        if of == "message" or (of == "system" and event.get("source") == "user"):
            if event.get("source") == "user" and not self._agents:
                yield from self._said(text(given, "content") or text(event, "message"))
            else:
                yield from self._close()
                yield from self._metrics(event)
                yield kind("message", event.get("source")), self._when
            return
        if event.get("source") == "user":
            yield kind("action of the user", of), self._when  # run by the person, not by the agent
            return
        if of == "condensation":
            yield from self._compacted()
            return
        if of in ("finish", "reject"):
            yield from self._close()
            yield from self._metrics(event)
            if not self._agents:
                yield Ended(of), self._when
            return
        if of in _NOT_CALLS:
            yield kind(of), self._when
            return
        metadata = mapping(event, "tool_call_metadata")
        response = text(mapping(metadata, "model_response"), "id")
        name = text(given, "name") if of == "call_tool_mcp" else of
        if of == "edit" and not text(given, "command"):
            given = {**given, **_asked(metadata)}  # for a while only the model's own call told what to edit
        call = _call(name or of, given, self._cwd, self._agent, text(metadata, "tool_call_id"))
        if call is None:
            yield kind("action", of), self._when
            return
        if of == "call_tool_mcp":
            call.action = ev.OTHER
        yield from self._issue(call, response, f"#{event.get('id')}", call.call_id)
        yield from self._metrics(event)
        if of == "think":
            found = self._ended(f"#{event.get('id')}")
            if found is not None:
                self._done(ev.ToolResult(call, "", position=found[1]))
        if of == "delegate":
            self._delegated(text(given, "agent") or "delegate")

    def _delegated(self, name: str) -> None:
        self._outer.append((self._round, self._open, self._issued))
        self._agents.append(name)
        self._round, self._open, self._issued = Round(self._agent), {}, 0

    def _observation(self, event: dict[str, Any]) -> Iterator[Item]:
        of, extras = event["observation"], mapping(event, "extras")
        if of == "delegate" and self._agents:
            yield from self._close()
            self._agents.pop()
            self._round, self._open, self._issued = self._outer.pop()
        metadata = mapping(event, "tool_call_metadata")
        found = self._ended(f"#{event.get('cause')}", text(metadata, "tool_call_id"))
        if found is None:
            yield kind("observation", of), self._when
            return
        call, position = found
        output = event.get("content")
        result = ev.ToolResult(call, output if isinstance(output, str) else "", position=position)
        if of == "user_rejected":
            result.refused = ev.BY_PERSON
        elif of == "error":
            result.failed = True
            result.refused = ev.BY_TOOL if call.action == ev.EDIT else ""
        elif of == "run":
            told = mapping(extras, "metadata")
            code = extras.get("exit_code") if told.get("exit_code") is None else told["exit_code"]
            self._ran(result, code, told, wrong=False)
        elif of == "run_ipython":
            result.output = result.output.partition(_JUPYTER)[0]
            result.failed = failed("python", result.output)
        elif call.action == ev.EDIT:
            _edited(result, extras, wrong=result.output.startswith(("ERROR:", "[ERROR", "Error:")))
        self._done(result)
        if not self._open and not self._round.name:
            yield from self._close()

    def _metrics(self, event: dict[str, Any]) -> Iterator[Item]:
        """Yield what a response used: its own count, or by how much the sums of the run have grown."""
        response = mapping(mapping(event, "tool_call_metadata"), "model_response")
        usage, metrics = mapping(response, "usage"), mapping(event, "llm_metrics")
        sums = mapping(metrics, "accumulated_token_usage")
        cost = amount(metrics, "accumulated_cost") or 0.0
        spent = max(cost - self._cost, 0.0) or None
        self._cost = max(cost, self._cost)
        names = ("prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_write_tokens")
        now = [max(whole(sums, name), before) for name, before in zip(names, self._sums, strict=True)]
        prompt, output, cached, written = (after - before for after, before in zip(now, self._sums, strict=True))
        self._sums = now
        if usage:
            prompt, output = whole(usage, "prompt_tokens"), whole(usage, "completion_tokens")
            cached = whole(usage, "cache_read_input_tokens") or whole(
                mapping(usage, "prompt_tokens_details"), "cached_tokens"
            )
            written = whole(usage, "cache_creation_input_tokens")
            if prompt and not self._agents:
                self._round.context = self._round.context or ev.ContextSize(prompt + output)
        if prompt + output:
            model, key = text(response, "model") or text(sums, "model"), text(response, "id") if usage else ""
            count = Usage(max(prompt - cached - written, 0), output, cached, written)
            yield Used(model, count, key, agent=self._agent, dollars=spent), self._when

    def _ran(self, result: ev.ToolResult, code: Any, metadata: dict[str, Any], *, wrong: bool) -> None:
        """Take in how a command ended; -1 says that it still runs."""
        folder = text(metadata, "working_dir")
        self._cwd = folder if folder.startswith("/") else self._cwd
        result.exit_code = status(code)
        result.background = code == -1 and not wrong
        result.failed = wrong or bool(result.exit_code)


def _usages(state: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what each response used, by its id; its cost where there are as many costs as responses."""
    found: dict[str, dict[str, Any]] = {}
    for metrics in mapping(mapping(state, "stats"), "usage_to_metrics").values():
        usages, costs = listing(metrics, "token_usages"), listing(metrics, "costs")
        for at, usage in enumerate(usages):
            if not isinstance(usage, dict):
                continue
            if len(costs) == len(usages) and isinstance(costs[at], dict):
                usage = {**usage, "cost": costs[at].get("cost")}
            found[text(usage, "response_id") or f"#{len(found)}"] = usage
    return found


def _call(name: str, given: dict[str, Any], cwd: str, agent: str, call_id: str) -> ev.ToolCall | None:
    if not name:
        return None
    action = _ACTIONS.get(name, ev.OTHER)
    command = text(given, "command")
    if action == ev.SHELL:
        goes_on = isinstance(given.get("command"), str) and not command.strip()
        if goes_on or (given.get("is_input") is True and re.fullmatch(r"C-[a-z]", command)):
            action, command = ev.WAIT, ""
        elif given.get("is_input") is True or not command:
            action, command = ev.OTHER, ""  # what a running program is told, or no command at all
    elif action == ev.EDIT and command == "view":
        action, command = ev.READ, ""
    else:
        command = "" if action == ev.EDIT else command
    path = text(given, "path", "file_path")
    what = {key: value for key, value in given.items() if key not in _GLOSS and value is not None}
    return ev.ToolCall(
        name,
        canonical(what),
        action=action,
        label=command or _label(name, given, path, cwd),
        command=command if action == ev.SHELL else "",
        edits=_edits(name, given, path) if action == ev.EDIT else (),
        cwd=cwd,
        agent=agent,
        call_id=call_id,
    )


def _asked(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call as the model wrote them, from the response that is kept with it."""
    for choice in listing(mapping(metadata, "model_response"), "choices"):
        for call in listing(mapping(choice, "message"), "tool_calls"):
            if text(call, "id") == text(metadata, "tool_call_id"):
                try:
                    given = decode(text(mapping(call, "function"), "arguments").encode("utf-8", "replace"))
                except WRONG:
                    continue
                return given if isinstance(given, dict) else {}
    return {}


def _label(name: str, given: dict[str, Any], path: str, cwd: str) -> str:
    about = path or text(given, "pattern", "url", "code", "query", "agent", "command")
    about = about.removeprefix(f"{cwd}/") if cwd != "/" else about
    return " ".join(filter(None, (text(given, "command") or name if path else name, about)))


def _edits(name: str, given: dict[str, Any], path: str) -> list[ev.Edit]:
    if name == "apply_patch":
        return edits_of(text(given, "patch"))
    if not path:
        return []
    command = text(given, "command")
    if command == "str_replace":
        return [ev.Edit(path, text(given, "old_str"), text(given, "new_str"))]
    if command == "insert":
        return [ev.Edit(path, "", text(given, "new_str"))]
    if command == "undo_edit":
        return [ev.Edit(path)]
    if isinstance(given.get("old_string"), str):
        return [ev.Edit(path, text(given, "old_string"), text(given, "new_string"))]
    return [ev.Edit(path, None, text(given, "file_text", "content", "new_string"))]


def _edited(result: ev.ToolResult, told: dict[str, Any], *, wrong: bool) -> None:
    """Take in what an edit tool answered: that it refused, or what the file held before and after."""
    call = result.call
    if wrong:
        result.failed, result.refused = True, ev.BY_TOOL
        return
    before, after = told.get("old_content"), told.get("new_content")
    if not call.edits:
        return
    edit = call.edits[0]
    if isinstance(before, str) and isinstance(after, str) and edit.old is None and not edit.new:
        edit.old, edit.new = before, after  # taken back: only the answer says what
    if before is None and told.get("prev_exist") is False:
        before = ""
    note_texts(call, edit.path, before, after)


def _content(content: Any) -> str:
    """Return content as text: it comes as text, or as a list of blocks."""
    if isinstance(content, str):
        return content
    return "".join(text(each, "text") for each in content) if isinstance(content, list) else ""
