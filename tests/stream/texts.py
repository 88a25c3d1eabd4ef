"""Texts that the stream guard is tried on: honest ones of every kind that is known to trip others, and loops.

Made here, from rules; none is copied from anywhere.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import random
from collections.abc import Callable, Iterator

WORDS = [
    "parser",
    "token",
    "value",
    "error",
    "file",
    "line",
    "test",
    "branch",
    "commit",
    "request",
    "server",
    "client",
    "queue",
    "worker",
    "cache",
    "index",
    "module",
    "import",
    "function",
    "class",
    "method",
    "table",
    "column",
    "row",
    "query",
    "result",
    "user",
    "account",
    "order",
    "price",
    "total",
]


def _prose(seed: int, size: int = 6_000) -> str:
    pick = random.Random(seed)
    ends, out = ".?!", []
    while sum(map(len, out)) < size:
        words = [pick.choice(WORDS) for _ in range(pick.randint(5, 16))]
        glue = [pick.choice(("the", "a", "of", "in", "and", "with", "for", "is", "was")) for _ in words]
        flat = " ".join(itertools.chain.from_iterable(zip(glue, words, strict=True)))
        out.append(flat.capitalize() + pick.choice(ends) + (" " if pick.random() < 0.8 else "\n\n"))
    return "".join(out)


def _hash(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()


def honest() -> Iterator[tuple[str, str]]:
    """Yield names and texts in which nothing may trip."""
    for seed in range(10):
        yield f"prose {seed}", _prose(seed)
    bank = [
        ("a matrix of zeros, 50 by 50", lambda: "\n".join(["0, " * 50] * 50)),
        ("a matrix of zeros, 85 by 85", lambda: "\n".join(["0 " * 85] * 85)),
        ("a matrix of floats", lambda: "\n".join(["0.00 " * 30] * 60)),
        ("an identity matrix", lambda: "\n".join(" ".join("1" if r == c else "0" for c in range(60)) for r in range(60))),
        ("a list of a thousand zeros", lambda: "[" + "0.0, " * 1000 + "]"),
        ("rows of null", lambda: "\n".join(["null, null, null,"] * 400)),
        ("a table", lambda: "\n".join(f"| {w} | {i} | ok | no | no |" for i, w in enumerate(WORDS * 10))),
        ("a table with equal rows", lambda: "| name | size |\n|---|---|\n" + "| n/a | n/a |\n" * 60),
        ("an empty table", lambda: "|  |  |  |  |\n" * 120),
        ("dividers", lambda: ("=" * 80 + "\nPart\n" + "-" * 80 + "\n") * 4 + "-" * 600),
        ("a wide table's rules", lambda: "-" * 1500 + "\n" + " " * 1500 + "x\n"),
        ("fences", lambda: "".join(f"```python\nx = {i}\n```\n\n" for i in range(200))),
        ("an import block", lambda: "".join(f"from shop.{v} import {w.title()}\n" for v in WORDS[:9] for w in WORDS)),
        ("getters", lambda: "".join(f"    def get_{w}(self):\n        return self._{w}\n\n" for w in WORDS * 6)),
        ("assertions", lambda: "".join(f"    assert total({i}) == {i * 3}\n" for i in range(300))),
        ("a test's same lines", lambda: "        self.assertEqual(expected, actual)\n" * 20),
        ("base64", lambda: base64.b64encode(random.Random(1).randbytes(9_000)).decode()),
        ("base64 of zeros", lambda: base64.b64encode(bytes(2_000)).decode()),
        ("an image in base64 with an empty part", lambda: base64.b64encode(random.Random(2).randbytes(300) + bytes(3_900) + random.Random(2).randbytes(300)).decode()),
        ("a hex dump", lambda: "".join(f"{i * 16:08x}  {_hash(i)[:32]}  |................|\n" for i in range(300))),
        ("a hex dump of zeros", lambda: "".join(f"{i * 16:08x}  " + "00 " * 16 + "\n" for i in range(300))),
        ("JSON", lambda: json.dumps([{"id": i, "name": w, "tags": []} for i, w in enumerate(WORDS * 8)], indent=1)),
        ("JSON of equal objects", lambda: json.dumps([{"id": 0, "name": "", "active": False}] * 100)),
        ("JSON of one line", lambda: json.dumps([{"x": 0.0, "y": 0.0}] * 200)),
        ("CSV", lambda: "".join(f"{i},{w},{i * 7 % 13},open\n" for i, w in enumerate(WORDS * 10))),
        ("CSV with equal rows", lambda: "sensor,unknown,0,none\n" * 200),
        ("an SQL dump", lambda: "".join(f"INSERT INTO t VALUES ({i}, NULL, NULL, '');\n" for i in range(300))),
        ("an SQL dump of equal rows", lambda: "INSERT INTO t VALUES (NULL, NULL, NULL);\n" * 100),
        ("placeholders of SQL", lambda: "VALUES (" + ", ".join("?" * 250) + ")"),
        ("a log", lambda: "".join(f"12:{i // 60:02}:{i % 60:02} INFO worker handled in {i % 9} ms\n" for i in range(400))),
        ("a log that waits", lambda: "Waiting for the database to start...\n" * 8),
        ("test databases", lambda: "Cloning test database for alias 'default'...\n" * 16),
        ("equal warnings", lambda: "app/a.py:3: DeprecationWarning: use collections.abc\n" * 40),
        ("equal errors", lambda: "- F821 undefined name 'new_model'\n" * 20),
        ("an installer", lambda: "Unpacking the archive, please wait...\n" * 12),
        ("a log of levels", lambda: "<INFO> worker started\n" * 30),
        ("pipes of code", lambda: "    |> Enum.map(fn row -> row.total end)\n" * 12),
        ("a log of users", lambda: "User: root\n" * 40),
        ("retries", lambda: "error: connection refused, retrying\n" * 25),
        ("a traceback that recurs", lambda: '  File "/app/tree.py", line 12, in walk\n    self.walk(node.left)\n' * 90),
        ("test output", lambda: "".join(f"tests/test_{w}.py::test_{i} PASSED [{i}%]\n" for i, w in enumerate(WORDS * 6))),
        ("dots of a test run", lambda: "." * 900 + "s" + "." * 700),
        ("a line per test", lambda: "ok\n" * 300),
        ("a diff", lambda: "".join(f"-    old = {i}\n+    new = {i}\n     pass\n" for i in range(200))),
        ("a column of labels", lambda: "Follow-up\n" * 72),
        ("a lock file", lambda: "".join(f'"{w}@{i}": {{ "integrity": "sha512-{_hash(i)}" }},\n' for i, w in enumerate(WORDS * 6))),
        ("hashes", lambda: "".join(f"    --hash=sha256:{_hash(i)} \\\n" for i in range(100))),
        ("a numbered list", lambda: "".join(f"{i}. Check the {w} of the {w}.\n" for i, w in enumerate(WORDS * 8))),
        ("a numbered list of the same", lambda: "".join(f"{i}. Run the test again.\n" for i in range(60))),
        ("steps", lambda: "".join(f"Step {i}: open file {i}, read line {i}, close file {i}.\n" for i in range(80))),
        ("a long numbered list of the same", lambda: "".join(f"{i}. Review the code and make sure that it is right.\n" for i in range(400))),
        ("numbers", lambda: "\n".join(map(str, range(3_000)))),
        ("numbers in words", lambda: " ".join(f"{w} {v}" for w in WORDS for v in WORDS)),
        ("FizzBuzz", lambda: "\n".join("Fizz" * (i % 3 == 0) + "Buzz" * (i % 5 == 0) or str(i) for i in range(1, 900))),
        ("a poem with a refrain", lambda: "".join(f"{_prose(s, 200)}\nOh, let me go, let me go home.\n\n" for s in range(12))),
        ("a chorus", lambda: _prose(1, 300) + "I know, " * 26),
        ("row, row", lambda: ("Row, row, row your boat,\nGently down the stream.\n" * 3) + _prose(2, 400)),
        ("a hundred bottles", lambda: "".join(f"{i} bottles of milk on the wall, {i} bottles of milk.\nTake one down, pass it around.\n" for i in range(99, 0, -1))),
        ("laughing", lambda: "ha" * 60 + " " + "哈" * 40),
        ("ASCII art", lambda: ("+---+---+---+---+\n|   |   |   |   |\n" * 24)),
        ("a board", lambda: ("." * 60 + "\n") * 36),
        ("emoji", lambda: ("🟩" * 20 + "\n") * 20 + "🎉" * 100),
        ("Chinese", lambda: "".join(f"第{i}章，作者说明了{chr(0x4E00 + i * 7)}和{chr(0x5E00 + i * 3)}的关系。" for i in range(300))),
        ("Arabic", lambda: "".join(f"الفصل {i} يصف العلاقة بين {chr(0x627 + i % 30)} و{chr(0x630 + i % 11)}. " for i in range(60))),
        ("HTML rows", lambda: "<tr><td></td><td></td><td></td></tr>\n" * 60),
        ("entities", lambda: "&nbsp;" * 60),
        ("minified code", lambda: "".join(f"function {w}{i}(e,t){{return e[t]?e[t]:null}}" for i, w in enumerate(WORDS * 6))),
        ("styles", lambda: "".join(f".c{i}{{margin:0 0 0 0;padding:0}}\n" for i in range(300))),
        ("assembly", lambda: ".long 0\n" * 400),
        ("a form", lambda: "Name: ____________________\nDate: ____________________\n\n" * 12),
        ("YAML", lambda: "".join(f"- name: {w}\n  enabled: true\n  retries: 3\n" for w in WORDS * 6)),
        ("paths", lambda: "".join(f"/srv/app/data/{_hash(i)[:8]}/index.json\n" for i in range(300))),
        ("genes", lambda: "".join("ACGT"[byte % 4] for byte in random.Random(3).randbytes(9_000))),
        ("escapes of colour", lambda: "\x1b[32m[Nest]\x1b[39m module initialised\n" * 60),
        ("blank lines", lambda: ("\n" * 30 + "x") * 30),
        ("a licence twice", lambda: _prose(9, 3_000) * 2),
        ("thinking aloud", lambda: "".join(f"Wait, is the {a} the same as the {b}? Let me check {c}.\n" for a, b, c in zip(WORDS, WORDS[3:], WORDS[5:], strict=False))),
        ("a diary", lambda: "".join(f"I went to the {w} and I met a {v}. " for w, v in zip(WORDS, reversed(WORDS), strict=True))),
    ]  # fmt: skip
    for name, make in bank:
        yield name, make()


_VERBS = [
    "send",
    "stop",
    "finish",
    "go",
    "run",
    "execute",
    "call",
    "check",
    "verify",
    "test",
    "write",
    "read",
    "open",
    "close",
    "look",
    "try",
    "start",
    "submit",
]
_NAMES = ["config", "parser", "loader", "writer", "reader", "server", "client", "router"]
_SAYINGS = [
    "I'm done.",
    "I'll stop now.",
    "Okay, I'm ready.",
    "Wait, let me check.",
    "I will send it.",
    "I'm confident.",
]
_PLAIN = [
    "The tests pass now. ",
    "The build is green. ",
    "The code is clean and it is fast. ",
    "All of it works as it should. ",
]


def loops() -> Iterator[tuple[str, str, int]]:
    """Yield names, texts that degenerate, and the offset where they begin to."""
    pick = random.Random(11)
    before = _prose(77, 700)
    bank: list[tuple[str, Callable[[int], str]]] = [
        ("one sentence", lambda i: "I apologize for the confusion, here is the answer.\n"),
        ("two short lines", lambda i: 'I\'ll send.\n  "Yes."\n  '),
        ("a line of prose", lambda i: "The value is returned by the function and used in the caller.\n"),
        ("a paragraph", lambda i: "I agree with the plan. " + "It is the best that we have, and it is simple. " * 8),
        ("a page", lambda i: _prose(5, 3_500) + "I think so.\n"),
        ("two paragraphs in turn", lambda i: f"I will do {'this' if i % 2 else 'that'} now, as I said.\n\n"),
        ("talk that names a path", lambda i: "I will use write_file now. Wait, I must pass the whole of src/cart.py, as I said.\n"),
        ("turns of a dialog", lambda i: "<|im_start|>user\nOpen the door.\n<|im_end|>\n<|im_start|>assistant\nIt is open.\n<|im_end|>\n"),
        ("one token", lambda i: " court"),
        ("glued tokens", lambda i: "_unit"),
        ("glued words", lambda i: "finish"),
        ("marks of a template", lambda i: "[INST] Python [/INST]\n"),
        ("roles", lambda i: " User:  Assistant: "),
        ("one character", lambda i: "!"),
        ("empty lines", lambda i: "\n"),
        ("a letter", lambda i: "G"),
        ("the letter of zeros", lambda i: "A"),
        ("a plain line", lambda i: "Final answer below\n"),
        ("code", lambda i: "    result.append(compute(value))\n"),
        ("zeros for ever", lambda i: "0, "),
        ("Chinese", lambda i: "我会马上发送这个答案。"),
        ("Japanese", lambda i: "はい、わかりました。修正します。"),
        ("a counter", lambda i: f"Wait, I should check item {i}... Done. Sent.\n"),
        ("a counter in a step", lambda i: f"Step {i}: I will now verify step {i - 1}, and then I go on to the next.\n"),
        ("a word that changes", lambda i: f"Let me check the {pick.choice(_NAMES)}, I will read the {pick.choice(_NAMES)} first.\n"),
        ("sayings", lambda i: pick.choice(_SAYINGS) + "\n"),
        ("ever other verbs", lambda i: f"I will {pick.choice(_VERBS)}.\n"),
        ("let's", lambda i: f"Let's {pick.choice(_VERBS)}. "),
        ("a counter of many digits", lambda i: f"Let me try option {i + 1_000}. "),
        ("a counter in Chinese", lambda i: f"我需要检查第{i + 1_000}个文件。"),
        ("plain sentences in any order", lambda i: pick.choice(_PLAIN)),
        ("a page of 6,000", lambda i: _prose(6, 6_000) + "\n"),
        ("a log of 1,200", lambda i: "".join(f"12:00:{at:02} INFO {w} is ready on port 80{at:02}\n" for at, w in enumerate(WORDS))),
        ("a short word without spaces", lambda i: "谢谢。"),
        ("yes", lambda i: "Yes. "),
        ("an answer with a number", lambda i: "The answer is 42.\n"),
        ("empty lines of another system", lambda i: "\r\n"),
        ("the end of a text, as a model marks it", lambda i: "</s>"),
    ]  # fmt: skip
    for name, make in bank:
        text, at = [], 0
        while sum(map(len, text)) < ENOUGH[name] + 2_000:
            text.append(make(at))
            at += 1
        yield name, before + "".join(text), len(before)


#: Characters after the onset by which each must have been seen.
ENOUGH = {
    "talk that names a path": 600,
    "turns of a dialog": 700,
    "one sentence": 400, "two short lines": 260, "a line of prose": 700, "a paragraph": 2_200, "a page": 11_200,
    "two paragraphs in turn": 500, "one token": 700, "glued tokens": 700, "glued words": 700,
    "marks of a template": 400, "roles": 400, "one character": 500, "empty lines": 500, "a letter": 3_100, "the letter of zeros": 3_100,
    "a plain line": 1_400, "code": 2_600, "zeros for ever": 8_200, "Chinese": 300, "Japanese": 560, "a counter": 4_200,
    "a counter of many digits": 4_200, "a counter in Chinese": 4_200, "plain sentences in any order": 7_700,
    "a page of 6,000": 24_700, "a log of 1,200": 10_700, "a short word without spaces": 600, "yes": 600,
    "an answer with a number": 1_300, "empty lines of another system": 900,
    "the end of a text, as a model marks it": 400,
    "a counter in a step": 5_200, "a word that changes": 5_200, "sayings": 5_200, "ever other verbs": 4_200, "let's": 4_200,
}  # fmt: skip
