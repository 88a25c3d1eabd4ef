"""The benchmarks run; nothing is timed here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

RUN = Path(__file__).resolve().parent.parent.parent / "benchmarks" / "run.py"


def test_every_part_of_the_benchmarks_prints_its_tables_and_writes_them_as_json(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    done = subprocess.run(
        [sys.executable, str(RUN), "--quick", "--json", str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    written = json.loads(file.read_text())
    parts = {table["part"] for table in written["tables"]}
    assert parts == {
        "1. Hook latency",
        "3. The core",
        "4. The store",
        "5. Reading text",
        "6. Cost",
        "7. Checkpoints",
        "8. Scan",
        "9. Detection",
        "Streams",
        "Run",
        "Aims",
    }
    assert all(table["name"] in done.stdout and table["rows"] for table in written["tables"])
