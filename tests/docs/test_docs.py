"""The docs say what the code does: generated parts are fresh, examples run, links lead somewhere."""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from driver import Client
from unspin.cli.app import COMMANDS, app
from unspin.detect import DETECTORS
from unspin.facts.shell import read_line
from unspin.facts.step import Step
from unspin.guard.settings import KEYS, Settings
from unspin.paths import state_folder
from unspin.run.settings import RunSettings
from unspin.store import Store

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("unspin_docs_generate", DOCS / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_parts_are_fresh(generate: ModuleType) -> None:
    stale = [named(path) for path, text in generate.pages().items() if path.read_text("utf-8") != text]
    assert not stale, f"stale: {', '.join(stale)}. Write them anew with: python docs/generate.py"


def test_every_setting_is_on_the_settings_page() -> None:
    page = (DOCS / "settings.md").read_text("utf-8")
    assert [key for key in KEYS if f"`{key}`" not in page] == []


def test_every_command_is_on_the_commands_page_and_in_the_readme() -> None:
    page, readme = (DOCS / "commands.md").read_text("utf-8"), (ROOT / "README.md").read_text("utf-8")
    assert [name for name in COMMANDS if f"\n## unspin {name}\n" not in page] == []
    assert [name for name in COMMANDS if f"unspin {name}" not in readme] == []


@pytest.mark.parametrize("rule", [each.rule for each in DETECTORS])
def test_every_rule_has_a_page_with_its_settings(rule: str) -> None:
    path = DOCS / "rules" / f"{rule}.md"
    assert path.exists(), f"the rule {rule} has no page: write {named(path)} (CONTRIBUTING.md, Add a rule)"
    page = path.read_text("utf-8")
    for heading in ("What it sees", "An example", "What it does not see", "Settings"):
        assert f"\n## {heading}\n" in page, f"{named(path)} has no part named {heading}"
    assert f"<!-- generated: {rule} -->" in page
    keys = next(each.keys for each in DETECTORS if each.rule == rule)
    assert [key for key in keys if f"`{key}`" not in page] == []


def test_no_page_is_left_of_a_rule_that_has_gone() -> None:
    pages = {path.stem for path in (DOCS / "rules").glob("*.md")}
    assert pages - {"index"} == {each.rule for each in DETECTORS}


def test_every_detector_is_held_apart_from_the_others_by_a_contract() -> None:
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = [each for each in tables["tool"]["importlinter"]["contracts"] if each["type"] == "independence"]
    held = {module for each in contracts for module in each["modules"]}
    missing = {each.__module__ for each in DETECTORS} - held
    assert "unspin.detect.*" in held or not missing, f"not in pyproject's independence contract: {missing}"


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_examples_with_a_prompt_give_what_they_show(path: Path) -> None:
    flags = doctest.NORMALIZE_WHITESPACE
    assert doctest.testfile(str(path), module_relative=False, optionflags=flags).failed == 0


def test_the_readmes_example_prints_what_it_says() -> None:
    blocks = _FENCE.findall((ROOT / "README.md").read_text("utf-8"))
    at = next(at for at, (language, text) in enumerate(blocks) if language == "python" and "Guard(" in text)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(blocks[at][1], "README.md", "exec"), {})
    assert printed.getvalue().split() == blocks[at + 1][1].split()


def test_the_readme_shows_what_the_demo_prints() -> None:
    demo = [sys.executable, str(ROOT / "demo" / "replay.py")]
    environment = {"COLUMNS": "100", "PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "utf-8"}
    printed = subprocess.run(demo, env=environment, capture_output=True, text=True, check=True).stdout
    lines = [line.rstrip() for line in printed.splitlines()]
    blocks = _FENCE.findall((ROOT / "README.md").read_text("utf-8"))
    shown = next(text for _, text in blocks if text.startswith("you ")).splitlines()
    at = lines.index(shown[0])
    assert lines[at : at + len(shown)] == shown


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_settings_that_are_shown_are_accepted(path: Path) -> None:
    for language, text in _FENCE.findall(path.read_text("utf-8")):
        if language == "toml":
            tables = tomllib.loads(text)
            if "run" in tables:
                RunSettings(tables.pop("run"))
            Settings.from_mapping(tables)


def test_the_tables_of_checks_are_true() -> None:
    page = (DOCS / "checks.md").read_text("utf-8")
    kinds, _, outcomes = page.partition("\n## What an exit status proves\n")
    for kind, examples in re.findall(r"^\| `(\w+)` \| (.*) \|$", kinds, re.MULTILINE):
        for line in re.findall(r"`([^`]+)`", examples):
            assert [each.kind for each in read_line(line).checks] == [kind], line
    rows = re.findall(r"^\| `(.*)` \| ([\w, ]+) \| (\w+) \| (\w+) \|$", outcomes, re.MULTILINE)
    assert len(rows) > 20
    for line, kinds, zero, other in rows:
        checks = read_line(line.replace("\\|", "|")).checks
        assert ", ".join(each.kind for each in checks) == kinds, line
        assert {(each.on_zero, each.on_nonzero) for each in checks} == {(zero, other)}, line


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_links_lead_somewhere(path: Path) -> None:
    text = _FENCE.sub("", path.read_text("utf-8"))
    for link in _LINK.findall(text):
        if link.startswith(("http://", "https://")):
            continue
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        assert target.exists(), f"{named(path)}: {link}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", target.read_text("utf-8"), re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}
            assert anchor in anchors, f"{named(path)}: {link}"


def test_the_example_rule_works_when_it_is_pasted(tmp_path: Path) -> None:
    """CONTRIBUTING's "Add a rule", done in a copy: its file, its line, its test, its page."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    shown = re.findall(r"^`([\w/.]+)`(, in `DETECTORS`)?:\n\n```\w+\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    pasted = {name: content for name, place, content in shown if not place}
    (entry,) = [content.rstrip() for _, place, content in shown if place]
    copy = tmp_path / "copy"
    for name in ("src", "docs", "tests/driver.py", "tests/conftest.py", "README.md", "pyproject.toml"):
        source, target = ROOT / name, copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    imports = pasted.pop("src/unspin/detect/__init__.py").rstrip()
    listing = copy / "src/unspin/detect/__init__.py"
    lines = listing.read_text("utf-8").splitlines()
    if imports not in lines:  # whoever tries the example here has it in already
        lines.insert(next(at for at, line in enumerate(lines) if line.startswith("from unspin.detect.")), imports)
        lines.insert(lines.index("    Tampering,"), entry)
    listing.write_text("\n".join(lines) + "\n", "utf-8")
    for name, content in pasted.items():
        target = copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, "utf-8")
    assert len(pasted) == 3
    test = next(name for name in pasted if name.startswith("tests/"))
    environment = {"PYTHONPATH": os.pathsep.join((str(copy / "src"), str(copy / "tests")))}
    for command in (
        ["-m", "ruff", "format", "--check", *(name for name in pasted if name.endswith(".py"))],
        ["docs/generate.py"],
        ["docs/generate.py", "--check"],
        ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", test],
    ):
        done = subprocess.run(
            [sys.executable, *command], cwd=copy, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    rule = Path(next(name for name in pasted if name.startswith("docs/"))).stem
    assert rule in (copy / "README.md").read_text("utf-8")
    assert f"`loop.{rule}`" in (copy / "docs/settings.md").read_text("utf-8")


def test_contributing_names_every_field_of_a_step() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    part = text.partition("### What a step offers")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", part, re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted(Step.__slots__)


@pytest.mark.parametrize(
    ("heading", "words"),
    [
        ("What status --json gives", ["status", "--json"]),
        ("What log --json gives", ["log", "--json"]),
        ("What doctor looks at", ["doctor", "--json"]),
    ],
)
def test_the_fields_of_json_are_all_on_the_commands_page(
    heading: str, words: list[str], own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Client(own_home)
    agent.store = Store(state_folder())
    monkeypatch.chdir(agent.project)
    for attempt in range(3):
        agent.round(agent.edit("a.py", "a", str(attempt)))
        agent.round(agent.bash("pytest", "E   TypeError: bad 'x'", 1))
    printed = CliRunner().invoke(app, words).stdout.splitlines()[0]
    part = (DOCS / "commands.md").read_text("utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE) == list(json.loads(printed))


def command_lines() -> list[tuple[Path, str]]:
    """Every `unspin ...` that a page shows as something to type."""
    found = []
    for path in PAGES:
        text = path.read_text("utf-8")
        lines = [line for language, block in _FENCE.findall(text) if language == "text" for line in block.splitlines()]
        inline = re.findall(r"`(unspin [a-z][^`\n]*)`", _FENCE.sub("", text))
        shown = lines if path.name not in ("security.md", "commands.md") else []
        found += [(path, line) for line in (*shown, *inline) if re.match("unspin [a-z]", line)]
    return found


@pytest.mark.parametrize(("path", "line"), command_lines())
def test_commands_that_are_shown_exist_with_their_options(path: Path, line: str) -> None:
    words = re.split(r"\s{2,}|[<|;]", line)[0].split()[1:]
    command = app.every()[words[0]]
    known = {option for each in command.params for option in each.opts} | {"--help"}
    options = words[1 : words.index("--")] if "--" in words else words[1:]
    assert [word for word in options if word.startswith("-") and word not in known] == []
