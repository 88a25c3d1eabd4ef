"""Starts the real Claude Code client against a scripted model, in a home of its own; reads what came of it.

    client = Client(tmp_path)                     # or the fixture `client` of conftest.py
    client.write_settings({"hooks": {...}})       # or: unspin install claude-code, with env=client.env()
    result = client.run("fix it", [Calls(tool("Bash", command="false")), Text("done")])
    assert "Exit code 1" in result.texts_sent_to_model(1)

`client.run("...")` is one `claude -p`; `client.run(["first", "second"], ...)` is one process that gets each
prompt after the last turn's end; `client.open(...)` is that process in the test's hands: messages while a
turn runs, answers to permission requests. `resume=result.session_id` goes on with an earlier session.

Nothing of the machine's own settings reaches the client: its environment holds what `Client.env` lists.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from real_client.scripted_model import Json, Request, ScriptedModel, Step, news

# Fixed, for how a hook's words are delivered differs from model to model: a `system` message in the midst of
# the conversation with this one, a <system-reminder> inside the tool result with older ones.
# Result.texts_sent_to_model hides the difference.
MODEL = "claude-opus-5-5"

LOG_STDIN = "import sys; d = sys.stdin.read().strip(); open(sys.argv[1], 'a').write(d + chr(10))"

Permission = Callable[[Json], Json]  # a `can_use_tool` request to {"behavior": "allow" | "deny", ...}


def find_client() -> Path | None:
    """The client that the PyPI package claude-agent-sdk bundles; None where it is missing."""
    spec = importlib.util.find_spec("claude_agent_sdk")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / "_bundled" / "claude"
    return path if os.access(path, os.X_OK) else None


@dataclass
class Result:
    """What one run of the client left behind."""

    session_id: str
    returncode: int | None
    stdout: str
    stderr: str
    messages: list[Json]  # the client's stream-json output, one document each
    all_requests: list[Request]  # side requests, subagents and compactions too
    overruns: list[Request]
    unplayed: list[Step]
    transcript_path: Path | None
    seconds: float

    def of_kind(self, kind: str) -> list[Request]:
        return [request for request in self.all_requests if request.kind == kind]

    @property
    def requests(self) -> list[Json]:
        """The bodies of the main conversation's requests, in order."""
        return [request.body for request in self.of_kind("main")]

    def texts_sent_to_model(self, index: int, kind: str = "main") -> str:
        """What came new in request `index` of the main conversation: results, reminders, hooks' words."""
        requests = self.of_kind(kind)
        return "\n".join(news(requests[index - 1] if index else None, requests[index]))

    @property
    def outcome(self) -> Json:
        """The last `result` message of the client."""
        return next((each for each in reversed(self.messages) if each.get("type") == "result"), {})

    @property
    def lines(self) -> list[Json]:
        """The transcript."""
        if self.transcript_path is None:
            return []
        return read_jsonl(self.transcript_path)

    def explain(self) -> str:
        """For assertion messages: how the run went."""
        kinds = [request.kind for request in self.all_requests]
        end = f"exit {self.returncode} after {self.seconds:.1f} s, requests {kinds}"
        return f"{end}\n{self.stderr}\n{self.stdout[-3000:]}"


class ClientTimeout(AssertionError):
    """The client did not do in time what was waited for. It has been killed."""


def read_jsonl(path: Path) -> list[Json]:
    """The documents of a file that may still be written to: an unfinished last line is left out."""
    if not path.exists():
        return []
    lines = path.read_text("utf-8").split("\n")[:-1]
    return [json.loads(line) for line in lines if line.strip()]


def _descendants(process_id: int) -> list[int]:
    """The processes below this one, whatever group or session they are in."""
    listing = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True)
    children: dict[int, list[int]] = {}
    for line in listing.stdout.splitlines():
        child, parent = line.split()
        children.setdefault(int(parent), []).append(int(child))
    found = children.get(process_id, [])
    for each in found:  # grows while it is walked
        found += children.get(each, [])
    return found


@dataclass
class Client:
    """A home and a work folder for the real client, below `root`. Several runs may share them (resume)."""

    root: Path
    executable: Path | None = field(default_factory=find_client)

    def __post_init__(self) -> None:
        self.home = self.root / "home"
        self.config_dir = self.home / ".claude"
        self.state_home = self.home / ".local" / "state"
        self.config_home = self.home / ".config"
        self.work = self.root / "work"
        self.tmp = self.root / "tmp"
        for folder in (self.config_dir, self.state_home, self.config_home, self.work, self.tmp):
            folder.mkdir(parents=True, exist_ok=True)

    # -- the surroundings --------------------------------------------------------------------------------

    def env(self, **extra: str) -> dict[str, str]:
        """The whole environment of the client, for commands that a test runs beside it too."""
        folder = str(Path(sys.executable).parent)
        return {
            "PATH": os.pathsep.join([folder, "/usr/local/bin", "/usr/bin", "/bin"]),
            "HOME": str(self.home),
            "SHELL": "/bin/bash",
            "LANG": "C.UTF-8",
            "TMPDIR": str(self.tmp),
            "CLAUDE_CODE_TMPDIR": str(self.tmp),
            "CLAUDE_CONFIG_DIR": str(self.config_dir),
            "XDG_STATE_HOME": str(self.state_home),
            "XDG_CONFIG_HOME": str(self.config_home),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "PYTHONDONTWRITEBYTECODE": "1",  # two edits in one second leave bytecode of the first standing
            "IS_SANDBOX": "1",  # lets root use --dangerously-skip-permissions
            **extra,
        }

    @property
    def settings_path(self) -> Path:
        return self.config_dir / "settings.json"

    def write_settings(self, settings: Json) -> None:
        self.settings_path.write_text(json.dumps(settings, indent=2), "utf-8")

    def record_hooks(self, *events: str) -> None:
        """Adds a hook to the settings, beside those there, that records the payloads of these events."""
        settings: Json = {}
        if self.settings_path.exists():
            settings = json.loads(self.settings_path.read_text("utf-8"))
        arguments = ["-I", "-S", "-c", LOG_STDIN, str(self.root / "hooks.jsonl")]
        hook = {"type": "command", "command": sys.executable, "args": arguments}
        for event in events:
            settings.setdefault("hooks", {}).setdefault(event, []).append({"hooks": [hook]})
        self.write_settings(settings)

    def recorded(self, event: str | None = None) -> list[Json]:
        """The recorded payloads, all or those of one event, in the order in which the hooks were called."""
        payloads = read_jsonl(self.root / "hooks.jsonl")
        return [each for each in payloads if event in (None, each["hook_event_name"])]

    def write(self, name: str, text: str) -> Path:
        """A file of the work folder."""
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    # -- runs --------------------------------------------------------------------------------------------

    def open(
        self,
        script: Sequence[Step],
        *,
        subscripts: Mapping[str, Sequence[Step]] | None = None,
        resume: str | None = None,
        prompt: str | None = None,
        permission: Permission | None = None,
        settings: Json | None = None,
        extra_env: Mapping[str, str] | None = None,
        arguments: Sequence[str] = (),
        timeout: float = 90.0,
    ) -> Conversation:
        """Starts the client. With `prompt` it is one `claude -p PROMPT`; else prompts are sent by the caller.

        Without `permission` every call is allowed (--dangerously-skip-permissions). With it, what would ask
        the person asks that function, and the tools that need a person (AskUserQuestion, ExitPlanMode) are
        there: answer the former with "allow" and an `updatedInput` that is its input and `answers`, a dict
        from question to label. `settings` are passed on the command line, over those in the home.
        """
        assert self.executable is not None, "the client is missing"
        session_id = resume or str(uuid.uuid4())
        command = [str(self.executable), "-p", "--output-format", "stream-json", "--verbose"]
        command += ["--model", MODEL]
        command += ["--resume", resume] if resume else ["--session-id", session_id]
        if permission is None:
            command += ["--dangerously-skip-permissions"]
        else:
            command += ["--permission-prompt-tool", "stdio"]
        if settings is not None:
            command += ["--settings", json.dumps(settings)]
        command += arguments
        if prompt is None:
            command += ["--input-format", "stream-json"]
        else:
            command += ["--", prompt]
        model = ScriptedModel()
        model.play(script, subscripts)
        return Conversation(self, model, command, session_id, permission, dict(extra_env or {}), timeout)

    def run(
        self,
        prompt_or_turns: str | Sequence[str],
        script: Sequence[Step],
        *,
        subscripts: Mapping[str, Sequence[Step]] | None = None,
        resume: str | None = None,
        permission: Permission | None = None,
        settings: Json | None = None,
        extra_env: Mapping[str, str] | None = None,
        arguments: Sequence[str] = (),
        timeout: float = 90.0,
    ) -> Result:
        """Runs the client to its end. Raises ClientTimeout where that takes longer than `timeout` seconds."""
        one = isinstance(prompt_or_turns, str) and permission is None
        conversation = self.open(
            script,
            subscripts=subscripts,
            resume=resume,
            prompt=str(prompt_or_turns) if one else None,
            permission=permission,
            settings=settings,
            extra_env=extra_env,
            arguments=arguments,
            timeout=timeout,
        )
        with conversation:
            if not one:
                turns = [prompt_or_turns] if isinstance(prompt_or_turns, str) else prompt_or_turns
                for turn in turns:
                    conversation.send(turn)
                    conversation.wait_for_turn_end()
            return conversation.finish()

    def transcript_of(self, session_id: str) -> Path | None:
        return next(iter((self.config_dir / "projects").glob(f"*/{session_id}.jsonl")), None)


class Conversation:
    """One running client. Whatever happens, leaving the `with` block ends its whole process group."""

    def __init__(
        self,
        client: Client,
        model: ScriptedModel,
        command: list[str],
        session_id: str,
        permission: Permission | None,
        extra_env: dict[str, str],
        timeout: float,
    ) -> None:
        self.client = client
        self.model = model
        self.session_id = session_id
        self.messages: list[Json] = []
        self._command = command
        self._permission = permission
        self._extra_env = extra_env
        self._timeout = timeout
        self._out: list[str] = []
        self._err: list[str] = []
        self._arrived: queue.Queue[Json | None] = queue.Queue()
        self._write_lock = threading.Lock()

    def __enter__(self) -> Conversation:
        self.model.__enter__()
        self.started = time.monotonic()
        self.deadline = self.started + self._timeout
        streamed = "--input-format" in self._command
        env = self.client.env(ANTHROPIC_BASE_URL=self.model.url, ANTHROPIC_API_KEY="scripted")
        try:
            self.process = subprocess.Popen(
                self._command,
                cwd=self.client.work,
                env={**env, **self._extra_env},
                stdin=subprocess.PIPE if streamed else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
            )
        except OSError:
            self.model.__exit__(None, None, None)
            raise
        self._readers = [
            threading.Thread(target=self._read_stdout, daemon=True),
            threading.Thread(target=self._read_stderr, daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        if streamed and self._permission is not None:
            self.control({"subtype": "initialize", "hooks": None})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self.model.__exit__(None, None, None)

    def kill(self) -> None:
        """Ends the client and what it started: its commands run in sessions of their own."""
        started = _descendants(self.process.pid) if self.process.poll() is None else []
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        for each in started:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(each, signal.SIGKILL)
        self.process.wait()
        for reader in self._readers:
            reader.join(2)

    # -- talking to it -----------------------------------------------------------------------------------

    def send(self, text: str) -> None:
        """The person's prompt; while a turn runs, the client queues it."""
        self._write({"type": "user", "message": {"role": "user", "content": text}})

    def control(self, request: Json) -> None:
        """A control request, for instance {"subtype": "interrupt"}."""
        self._write({"type": "control_request", "request_id": str(uuid.uuid4()), "request": request})

    def wait_for(self, wanted: Callable[[Json], bool], what: str = "a message") -> Json:
        """The next message of the client that is `wanted`."""
        while True:
            try:
                message = self._arrived.get(timeout=max(0.01, self.deadline - time.monotonic()))
            except queue.Empty:
                self.kill()
                raise ClientTimeout(f"no {what} in {self._timeout} s; {self.result().explain()}") from None
            if message is None:
                raise ClientTimeout(f"the client ended before {what}; {self.result().explain()}")
            if wanted(message):
                return message

    def wait_for_turn_end(self) -> Json:
        return self.wait_for(lambda message: message.get("type") == "result", "end of the turn")

    def finish(self) -> Result:
        """Closes the input, waits for the end, and returns what there is to know."""
        if self.process.stdin is not None:
            with self._write_lock:
                self.process.stdin.close()
        try:
            self.process.wait(max(0.01, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.kill()
            raise ClientTimeout(f"not ended in {self._timeout} s; {self.result().explain()}") from None
        for reader in self._readers:
            reader.join(5)  # a background command may hold the pipe open: what it writes is not waited for
        return self.result()

    def result(self) -> Result:
        return Result(
            session_id=self.session_id,
            returncode=self.process.poll(),
            stdout="".join(self._out),
            stderr="".join(self._err),
            messages=list(self.messages),
            all_requests=list(self.model.requests),
            overruns=list(self.model.overruns),
            unplayed=self.model.unplayed,
            transcript_path=self.client.transcript_of(self.session_id),
            seconds=time.monotonic() - self.started,
        )

    def _write(self, document: Json) -> None:
        assert self.process.stdin is not None, "this client was started with one prompt"
        with self._write_lock:
            self.process.stdin.write(json.dumps(document) + "\n")
            self.process.stdin.flush()

    def _read_stdout(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._out.append(line)
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if not isinstance(message, dict):
                continue
            self.messages.append(message)
            if message.get("type") == "control_request":
                self._answer_control(message)
            self._arrived.put(message)
        self._arrived.put(None)

    def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._err.append(line)

    def _answer_control(self, message: Json) -> None:
        request = message["request"]
        if request.get("subtype") != "can_use_tool" or self._permission is None:
            return
        answer = self._permission(request)
        if answer.get("behavior") == "allow":
            answer = {"updatedInput": request["input"], **answer}
        response = {"subtype": "success", "request_id": message["request_id"], "response": answer}
        self._write({"type": "control_response", "response": response})
