"""The real client in a terminal: on a pseudo-terminal, for what only shows there. POSIX only.

    with Terminal(client, [Text("hello")]) as terminal:
        terminal.wait_for("unspin guard")
        terminal.type("hi")
        terminal.wait_for("hello")

What `shown` holds is all that was ever written to the screen, without colours and movements of the
cursor: good for "was it shown", not for where.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Sequence
from types import TracebackType

from real_client.harness import MODEL, Client, _descendants
from real_client.scripted_model import ScriptedModel, Step

_CONTROL = re.compile(r"\x1b\[[0-9;?<>=]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[=>]|\x1b[()][0-9A-B]")


class Terminal:
    """One client in a terminal of 120 columns. Whatever happens, leaving the `with` block ends it."""

    def __init__(self, client: Client, script: Sequence[Step], *, timeout: float = 60.0) -> None:
        self.client = client
        self.model = ScriptedModel()
        self.model.play(script, None)
        self.written = b""
        self._timeout = timeout
        known = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "bypassPermissionsModeAccepted": True,
            "customApiKeyResponses": {"approved": ["scripted"], "rejected": []},
            "projects": {str(client.work): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
        }
        (client.config_dir / ".claude.json").write_text(json.dumps(known), "utf-8")

    def __enter__(self) -> Terminal:
        self.model.__enter__()
        command = [str(self.client.executable), "--model", MODEL, "--dangerously-skip-permissions"]
        env = self.client.env(ANTHROPIC_BASE_URL=self.model.url, ANTHROPIC_API_KEY="scripted", TERM="xterm-256color")
        self.process_id, self._screen = pty.fork()
        if self.process_id == 0:
            try:
                os.chdir(self.client.work)
                os.execve(command[0], command, env)
            finally:
                os._exit(127)
        fcntl.ioctl(self._screen, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self._deadline = time.monotonic() + self._timeout
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in [*_descendants(self.process_id), self.process_id]:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(each, signal.SIGKILL)
        os.waitpid(self.process_id, 0)
        os.close(self._screen)
        self.model.__exit__(None, None, None)

    @property
    def shown(self) -> str:
        return _CONTROL.sub("", self.written.decode("utf-8", "replace"))

    def type(self, text: str) -> None:
        """Types a line and presses return."""
        os.write(self._screen, text.encode())
        self._read(0.3)
        os.write(self._screen, b"\r")

    def wait_for(self, text: str) -> None:
        """Waits until the text was written to the screen."""
        while text not in self.shown:
            assert time.monotonic() < self._deadline, (
                f"{text!r} was not shown in {self._timeout} s; {self.shown[-2000:]}"
            )
            assert self._read(0.1), f"the client ended before {text!r}; {self.shown[-2000:]}"

    def _read(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self._screen], [], [], left)[0]:
                try:
                    self.written += os.read(self._screen, 65536)
                except OSError:
                    return False
        return True
