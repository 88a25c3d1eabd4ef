"""Records the demo's session: the real Claude Code client, a scripted model, unspin installed.

Run it when the hooks change: .venv/bin/python demo/record.py
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from real_client.harness import Client  # noqa: E402
from real_client.scripted_model import Calls, Text, tool  # noqa: E402
from unspin.agents.claude_code import HOOKS  # noqa: E402

PLACE = "/home/dev/format"  # what the recording calls its folder

CODE = """\
// Formats a price in cents: 129900 -> "1,299.00"
exports.price = (cents) => {
  const units = cents / 100;
  return units.toFixed(2);
};
"""
TEST = """\
const test = require("node:test");
const assert = require("node:assert");
const { price } = require("./format.js");

test("groups thousands", () => {
  assert.strictEqual(price(129900), "1,299.00");
});
"""
BODIES = (
    "  return units.toFixed(2);",
    "  return String(units.toFixed(2));",
    "  return Number(units).toFixed(2);",
    "  return `${units.toFixed(2)}`;",
    '  return units.toLocaleString("en-US", { minimumFractionDigits: 2 });',
)
CHECK = "node --test"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        client = Client(Path(folder))
        client.write("format.js", CODE)
        client.write("format.test.js", TEST)
        install = [sys.executable, "-m", "unspin", "install", "claude-code"]
        subprocess.run(install, env=client.env(), cwd=client.work, check=True, capture_output=True)
        client.record_hooks(*HOOKS)
        path = str(client.work / "format.js")

        def edit(number: int) -> Calls:
            return Calls(tool("Edit", file_path=path, old_string=BODIES[number], new_string=BODIES[number + 1]))

        sneak = tool("Bash", command="sed -i 's/toFixed(2)/toFixed(3)/' format.js")
        result = client.run(
            ["The thousands are not grouped. Fix format.js.", "Use toLocaleString, please."],
            [
                Calls(tool("Read", file_path=path)),
                edit(0),
                Calls(tool("Bash", command=CHECK)),
                edit(1),
                Calls(tool("Bash", command=CHECK)),
                edit(2),
                Calls(tool("Bash", command=CHECK)),
                edit(3),
                Calls(sneak),
                Text("I am stuck: three edits, the same failure. Shall I rethink it, or hand off?"),
                edit(3),
                Calls(tool("Bash", command=CHECK)),
                Text("It passes now."),
            ],
        )
        assert not result.unplayed, result.explain()
        payloads = client.recorded()
        with (HERE / "session.jsonl").open("w", encoding="utf-8") as file:
            for payload in payloads:
                text = json.dumps(payload, ensure_ascii=False)
                text = text.replace(str(client.work), PLACE).replace(str(client.root), "/home/dev")
                text = re.sub(r"projects/[^/]*/", "projects/-home-dev-format/", text)
                file.write(text.replace(payload["session_id"], "demo-session") + "\n")
        print(f"{len(payloads)} payloads")


if __name__ == "__main__":
    main()
