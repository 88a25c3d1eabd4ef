"""Headless Chromium, driven over a pipe with the standard library: enough to open a page and ask it things."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def found() -> str:
    """Return the path of a Chromium on this machine, empty where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), "")


_LONGEST = 60  # seconds that an answer may take

#: The browser reads from descriptor 3 and writes to 4.
_START = """
import fcntl, os, sys
read, write = (fcntl.fcntl(int(each), fcntl.F_DUPFD, 10) for each in sys.argv[1:3])
os.dup2(read, 3)
os.dup2(write, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One page in a browser of its own. ``events`` holds all that the browser told."""

    def __init__(self, profile: Path, executable: str = ""):
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        options = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions", "--hide-scrollbars",
            "--disable-background-networking", "--disable-dev-shm-usage", "--remote-debugging-pipe", f"--user-data-dir={profile}",
        ]  # fmt: skip
        start = [sys.executable, "-c", _START, str(to_browser), str(from_browser), executable or found()]
        self._process = subprocess.Popen(
            [*start, *options, "about:blank"],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._number = 0
        self._session = ""
        self.events: list[dict[str, Any]] = []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(each["targetId"] for each in targets if each["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)

    def call(self, method: str, **params: Any) -> Any:
        """Call a method of the protocol and return what it answers."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], _LONGEST)
            assert ready, f"the browser has said nothing for {_LONGEST} seconds"
            block = os.read(self._read, 1 << 16)
            assert block, "the browser has ended"
            self._buffer += block
        data, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(data)
        if "method" in found:
            self.events.append(found)
        return found

    def open(self, url: str) -> None:
        """Open a page and wait until it has drawn itself."""
        self.events.clear()
        self.call("Page.navigate", url=url)
        self.wait(lambda: self.ask("document.documentElement?.dataset.ready") == "true")
        self.ask("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))")

    def wait(self, ready: Callable[[], bool], most: int = 200) -> None:
        """Ask until something is so."""
        for _ in range(most):
            if ready():
                return
            self.ask("new Promise((done) => setTimeout(done, 50))")
        raise AssertionError(f"the page did not come to it: {self.complaints()}")

    def ask(self, expression: str) -> Any:
        """Return what an expression is in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def look(self, width: int, height: int = 900, *, dark: bool = False, narrow: bool = False) -> None:
        """Set the size of the window and the scheme of colours."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=narrow)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def keys(self, *names: str) -> None:
        """Press keys, one after another."""
        for name in names:
            text = {"text": name} if len(name) == 1 else {}
            self.call("Input.dispatchKeyEvent", type="keyDown", key=name, **text)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=name)

    def shot(self, path: Path, *, whole: bool = True) -> None:
        """Save what the page looks like."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(b64decode(data))

    def complaints(self) -> list[str]:
        """Return what the console was told, and exceptions."""
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [json.dumps(each["params"])[:400] for each in self.events if each["method"] in kinds]

    def requests(self) -> list[str]:
        """Return the addresses that were asked for."""
        sent = [each["params"] for each in self.events if each["method"] == "Network.requestWillBeSent"]
        return [each["request"]["url"] for each in sent]
