"""Which program is which check: from the words of one simple command to what it is.

The lists stand in `runners.json`; this file holds what a list cannot say (interpreters, task runners,
`make`). It sees the words only: it does not know what a script of package.json or a target of a Makefile
really does, and goes by its name; a name that says nothing gives nothing.
"""

from __future__ import annotations

from unspin.facts.lists import read_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

KINDS = ("test", "build", "lint", "type", "run")
MAX_TARGETS = 50
_NOT_FILES = frozenset(("--filter", "-F", "-m", "--prefix", "--workspace", "-C", "-k"))
MAX_WRAPPERS = 16


class Loose(str):
    """A word that the shell would still expand: its text is as written, its value is not known."""

    __slots__ = ()


class Found:
    """What one simple command is. `what` is a role of a line, or "poll", "quiet" or "format"."""

    __slots__ = (
        "fixes",
        "harmless",
        "kind",
        "poll",
        "runner",
        "script",
        "sure",
        "targets",
        "usage_exits",
        "what",
    )

    def __init__(self, what: str = "other", kind: str = "", runner: str = "", script: str = "") -> None:
        self.what = what
        self.kind = kind
        self.runner = runner
        self.script = script
        self.targets: tuple[str, ...] = ()
        self.usage_exits: tuple[int, ...] = ()
        self.fixes = False  # it also rewrites files
        self.harmless = what in ("read", "poll", "quiet") or (what == "check" and kind != "run")
        self.poll = what == "poll"
        self.sure = False  # in practice its status is zero


class Unwrapped:
    """Where the inner command of wrappers starts, and what the wrappers say of it."""

    __slots__ = (
        "at",
        "blind",
        "checked",
        "container",
        "exec",
        "folder",
        "kind",
        "node",
        "python",
        "remote",
        "script",
        "task",
        "xargs",
    )

    def __init__(self) -> None:
        self.at = 0
        self.script: str | None = None  # a line to be parsed in turn
        self.folder: str | None = None  # the inner command runs in this folder
        self.kind = ""  # `unspin check --kind K`
        self.blind = self.checked = self.container = self.exec = self.remote = False
        self.xargs = self.task = self.python = self.node = False


_data: dict[str, Any] | None = None


def data() -> dict[str, Any]:
    """The lists, read once; tries and sets are made of them on the way."""
    global _data  # noqa: PLW0603
    if _data is None:
        lists = read_list("runners")
        heads: dict[str, Any] = {}
        for what in ("vcs", "read", "quiet", "poll", "inline", "install", "server", "task", *reversed(KINDS)):
            for head in lists[what]:
                _plant(heads, head, ("check" if what in KINDS else what, what, head))
        for head in lists["task"]:
            _plant(heads, head, ("task", "task", head))
        for head in lists["formatters"]:
            _plant(heads, head, ("format", "lint", head))
        wrappers: dict[str, Any] = {}
        for head, spec in lists["wrappers"].items():
            _plant(wrappers, head, (spec, head))
        for name in (
            "name_servers",
            "name_formats",
            "name_not",
            "git_read",
            "git_sure",
            "sure_after",
            "plain_readers",
            "version_v",
            "verbose_V",
        ):
            lists[name] = frozenset(lists[name])
        lists["heads"] = heads
        lists["name_kinds"] = {word: kind for kind, words in lists["name_kinds"].items() for word in words}
        lists["wraps"] = wrappers
        lists["sure"] = frozenset(lists["quiet"]) - _MAY_FAIL
        lists["readers"] = frozenset(head for head in lists["read"] if " " not in head)
        _data = lists
    return _data


def _plant(trie: dict[str, Any], head: str, value: Any) -> None:
    words = head.split(" ")
    for word in words:
        trie = trie.setdefault(word, {})
    trie[""] = value


_MAY_FAIL = frozenset(
    (
        "read",
        "return",
        "exit",
        "kill",
        "pkill",
        "killall",
        "wait",
        "getopts",
        "let",
        "fg",
        "bg",
        "pyenv shell",
    )
)
_POLLS = frozenset(("status", "logs", "log", "watch", "wait", "ps", "tail"))
_BUILTIN_NAMES = frozenset(
    (
        "test",
        "time",
        "true",
        "false",
        "echo",
        "printf",
        "kill",
        "set",
        "wait",
        "read",
        "exec",
        "env",
        "build",
        "serve",
        "command",
        "task",
    )
)
_PYTHONS = frozenset(("python", "pypy", "py", "ipython", "bpython"))
_CLEANS = frozenset(("clean", "distclean", "mrproper", "clobber"))
_SHELLS = frozenset(("bash", "sh", "zsh", "dash", "ksh", "ash", "busybox"))
_VERSIONED = ("python", "pypy", "pip", "ruby", "php", "perl", "lua", "node")
_NPM = frozenset(("npm", "pnpm", "yarn", "bun", "aube", "cnpm"))
_COMPILERS = frozenset(
    ("gcc", "g++", "cc", "c++", "clang", "clang++", "rustc", "javac", "ghc", "nvcc", "gfortran", "kotlinc")
)


def base_name(word: str) -> str:
    """The program of a command word: `.venv/bin/python3.11` is `python`, `npx`'s `jest@29` is `jest`."""
    name = word.rsplit("/", 1)[-1] if "/" in word else word
    if name.endswith((".exe", ".cmd")):
        name = name[:-4]
    at = name.find("@", 1)
    if at > 0:
        name = name[:at]
    stem = name.rstrip("0123456789.")
    if stem != name and stem:
        if stem in _VERSIONED:
            return stem
        if stem.endswith("-") and stem[:-1] in _COMPILERS | frozenset(("clang-format", "clang-tidy")):
            return stem[:-1]
    return name


def _is_path(word: str) -> bool:
    return "/" in word


def _known_by_base(word: str) -> bool:
    """May this path be looked up by its last part? `node_modules/.bin/jest` yes, `./test` no."""
    name = base_name(word)
    if name in data()["local"]:
        return True
    folder = word.rsplit("/", 1)[0]
    if name in _BUILTIN_NAMES and not folder.startswith(("/bin", "/usr")):
        return False
    return "bin" in folder.split("/") or "node_modules" in folder or folder.startswith("@")


def _descend(trie: dict[str, Any], words: Sequence[str], at: int, name: str) -> tuple[Any, int]:
    """The deepest entry that the words reach, options skipped, and the place after it."""
    node = trie.get(name)
    if node is None:
        return None, at
    valued = data()["valued"]
    best, end = node.get(""), at + 1
    head, place, steps = name, at + 1, 0
    while place < len(words) and steps < 12:
        word = words[place]
        child = node.get(word) if word else None
        if child is not None:
            node = child
            place += 1
            head = head + " " + word
            if "" in node:
                best, end = node[""], place
            steps += 1
            continue
        if not word.startswith("-") or word == "--" or len(node) < (2 if "" in node else 1):
            break
        place += 2 if word in valued.get(head, ()) else 1
        steps += 1
    return best, end


def is_assignment(word: str) -> bool:
    """`A=1`, as `env` takes it."""
    return "=" in word and word.partition("=")[0].isidentifier()


def unwrap(words: Sequence[str]) -> Unwrapped:
    """Sees through `env`, `timeout`, `npx`, `docker exec` and the like, as deep as they go (16 at most)."""
    result = Unwrapped()
    lists = data()
    at = 0
    for _ in range(MAX_WRAPPERS):
        while at < len(words) and is_assignment(words[at]):
            at += 1
        result.at = at
        if at >= len(words):
            return result
        word = words[at]
        if isinstance(word, Loose) and not word.startswith("$HOME"):
            # `$PY -m pytest`, "${PYTHON:-python}": the program itself is not known
            return result
        if _is_path(word) and not _known_by_base(word):
            return result
        name = base_name(word)
        found, place = _descend(lists["wraps"], words, at, name)
        if found is None:
            return result
        spec, head = found
        after = _inner(spec, head, words, place, result)
        if after is None or result.script is not None:
            return result
        if after >= len(words):
            return result
        at = after
        result.at = at
        if result.python or result.node:
            return result
    return result


def _inner(spec: dict[str, Any], head: str, words: Sequence[str], at: int, result: Unwrapped) -> int | None:
    """The place of the inner command of one wrapper; None where this is no wrapper after all."""
    values = spec.get("values", ())
    folders = spec.get("folder", ())
    strings = spec.get("string", ())
    after = spec.get("after", ())
    end = len(words)
    if "needs" in spec and not (at < end and words[at].startswith(spec["needs"])):
        return None
    if head == "command" and at < end and words[at] in ("-v", "-V"):
        return None
    if spec.get("typescript"):
        return _typescript(words, at, result)
    script: str | None = None
    folder: str | None = None
    module = False
    start = at
    if spec.get("dashdash") and "--" in words[at:]:
        at = words.index("--", at) + 1
    elif after:
        places = [words.index(word, at) for word in after if word in words[at:]]
        if not places:
            return None
        at = min(places) + 1
    else:
        while at < end and words[at].startswith("-") and words[at] != "-":
            word = words[at]
            if word == "--":
                at += 1
                break
            if word in strings:
                script = words[at + 1] if at + 1 < end else ""
                break
            name, _, value = word.partition("=")
            if name in strings and value:
                script = value
                break
            if spec.get("module") and word in ("-m", "--module"):
                module = True
                break
            if name == "--kind" and spec.get("checked"):
                result.kind = value or (words[at + 1] if at + 1 < end else "")
            if word in values:
                if word in folders and at + 1 < end:
                    folder = words[at + 1]
                at += 1
            elif value and name in folders:
                folder = value
            at += 1
            if word == "-n" and head == "timeout":
                break
    if script is None and strings:
        for place in range(start, end):
            if words[place] in strings:
                script = words[place + 1] if place + 1 < end else ""
                break
        if script is None and head in ("nix-shell", "fly ssh console", "vagrant ssh", "gcloud compute ssh"):
            return None
    at += spec.get("skip", 0) if not after else 0
    if spec.get("word") and at < end and words[at] == spec["word"]:
        at += 1
    if at + 1 < end and words[at] in spec.get("words", ()) and not words[at + 1].startswith("-"):
        at += 1
    if at < end and words[at] == "--" and not after:
        at += 1
    if spec.get("assign"):
        while at < end and is_assignment(words[at]):
            at += 1
    if spec.get("node"):
        while at < end and (words[at][:1].isdigit() or words[at].startswith(("v1", "v2", "--", "lts"))):
            at += 1
        if head == "nvm run":
            result.node = True
    if script is None and at >= end and not module:
        return None
    if spec.get("script") and script is None:
        script = " ".join(words[at:]) if spec.get("remote") else words[at] if end - at == 1 else None
    if folder is not None:
        result.folder = folder
    if script is not None:
        result.script = script
    result.remote = result.remote or bool(spec.get("remote"))
    result.container = result.container or bool(spec.get("container"))
    result.xargs = result.xargs or bool(spec.get("xargs"))
    result.blind = result.blind or bool(spec.get("blind"))
    result.checked = result.checked or bool(spec.get("checked"))
    result.exec = result.exec or bool(spec.get("exec"))
    result.task = bool(spec.get("task"))
    if spec.get("python") or module or (spec.get("module") and at < end and words[at].endswith(".py")):
        result.python = True
    return at


def _typescript(words: Sequence[str], at: int, result: Unwrapped) -> int | None:
    """`script -qec COMMAND FILE`, and `script FILE COMMAND ...` of other systems."""
    returns = False
    operands: list[int] = []
    while at < len(words) and len(operands) < 2:
        word = words[at]
        cluster = word[1:] if word.startswith("-") and not word.startswith("--") else ""
        returns = returns or "e" in cluster or word == "--return"
        if word == "--" and operands:
            return at + 1 if at + 1 < len(words) else None
        if word in ("-c", "--command") or cluster.endswith("c"):
            result.script = words[at + 1] if at + 1 < len(words) else ""
            at += 1
        elif word.startswith("--command="):
            result.script = _piece(word, 10)
        elif word in ("-T", "-O", "-I", "-B", "-m", "-E", "-o"):
            at += 1
        elif not word.startswith("-"):
            operands.append(at)
        at += 1
    if result.script is not None:
        rest = words[at:]
        returns = returns or "-e" in rest or "--return" in rest
        result.blind = result.blind or not returns  # without -e its status is its own
        return at
    return operands[1] if len(operands) > 1 else None


def _piece(word: str, start: int) -> str:
    """The end of a word; one that is not known stays so."""
    return Loose(word[start:]) if isinstance(word, Loose) else word[start:]


def updates_snapshots(assignments: Sequence[str]) -> bool:
    """Does one of these `A=1` tell a runner to rewrite its expected values?"""
    wanted = data()["snapshot_variables"]
    for assignment in assignments:
        name, given, value = assignment.partition("=")
        values = wanted.get(name)
        value = value.strip("\"'").lower()
        if given and values is not None and (value in values if values else value not in ("", "0", "no", "false")):
            return True
    return False


def named_kind(words: Sequence[str], named: Mapping[str, Sequence[str]]) -> str:
    """The kind that the person's own settings give to this command, or ""."""
    for kind, prefixes in named.items():
        for prefix in prefixes:
            parts = prefix.split()
            if parts and list(words[: len(parts)]) == parts:
                return kind
    return ""


def classify(words: Sequence[str], how: Unwrapped | None = None, fed: bool = False) -> Found:
    """What a simple command is. `fed`: a heredoc or a pipe gives it its standard input."""
    try:
        found = _classify(words, how, fed)
    except RecursionError:
        # `yarn yarn yarn ...`, thousands deep: nobody means that
        return Found()
    if found.what in ("check", "server", "format"):
        found = _not_checks(found, words)
    if found.what == "check":
        if not found.targets:
            found.targets = file_words(words[1:])
        lists = data()
        found.usage_exits = tuple(lists["usage_exits"].get(found.runner, ()))
        if _given(lists["fixes"].get(found.runner, ()), words):
            found.fixes = True
        if found.fixes:
            found.harmless = False
    if found.what == "format":
        found.harmless = False
        found.targets = file_words(words[1:])
    return found


def _classify(words: Sequence[str], how: Unwrapped | None, fed: bool) -> Found:
    if not words:
        return Found("quiet")
    word = words[0]
    if how is not None and how.python:
        return _python(words, 0, fed)
    if how is not None and how.node:
        return _interpreter("node", ["node", *words], fed)
    if isinstance(word, Loose) and not word.startswith(("$HOME/", "${HOME}/", "~")):
        return _loose(words, fed)
    if _is_path(word) and not _known_by_base(word):
        return _program(word, words)
    name = base_name(word)
    if how is not None and how.task and name not in data()["heads"] | dict.fromkeys(_PYTHONS):
        return _named_task("task " + name, [name])
    if how is not None and how.task and name in _BUILTIN_NAMES:
        return _named_task("task " + name, [name])
    special = _SPECIAL.get(name)
    if special is not None:
        return special(name, words, fed)
    if words[1:] == ["clean"] and name in ("cargo", "dotnet"):
        return _clean()
    found = _by_list(name, words, fed)
    if found.what == "other" and not found.runner and words[1:2] and words[1] in _POLLS:
        # the status of some job of a program that no list knows
        found.poll = True
    return found


def _by_list(name: str, words: Sequence[str], fed: bool) -> Found:
    lists = data()
    entry, end = _descend(lists["heads"], words, 0, name)
    if entry is None:
        if name == name.rstrip() and words[0].endswith((".sh", ".py", ".bats")):
            return _program(words[0], words)
        return Found()
    what, kind, head = entry
    if what == "task":
        return _tasks(head, words, end)
    if what == "check":
        found = Found("check", kind, head)
        if kind == "run":
            found.script = _first_operand(words, end)
            if not found.script and not fed and " " not in head and head not in ("rake", "roc"):
                return Found("inline")
            if found.script and is_test_file(found.script) and head not in ("go run", "cargo run"):
                found.kind = "test"
                found.harmless = True
        return found
    if what == "format":
        rule = lists["formatters"][head]
        return Found("format", "lint", head) if _formats(rule, words) else Found("check", "lint", head)
    found = Found(what, runner=head)
    if name in lists["sure"] or head in lists["sure"]:
        found.sure = True
        found.harmless = True
    return found


def _formats(rule: Sequence[str], words: Sequence[str]) -> bool:
    if rule and rule[0].startswith("!"):
        return not any(flag[1:] in words or (flag[1:] == "" and False) for flag in rule)
    return _given(rule, words)


def _given(flags: Sequence[str], words: Sequence[str]) -> bool:
    """Is one of these flags among the words? A flag "!" is always given; "!--x" is given where --x is not."""
    for flag in flags:
        if flag.startswith("!"):
            if flag == "!" or flag[1:] not in words:
                return True
        elif flag in words:
            return True
    return False


def _not_checks(found: Found, words: Sequence[str]) -> Found:
    """Takes out what only asks for help or lists tests, and turns watchers into servers."""
    lists = data()
    rest = words[1:]
    inner = list(rest[: rest.index("--")]) if "--" in rest else list(rest)
    script = found.kind == "run" or found.script != ""
    if (
        any(flag in inner for flag in lists["not_checks"]["*"])
        or inner[-1:] == ["-h"]
        or inner in (["version"], ["-version"])
        or (len(inner) == 1 and len(rest) == 1 and _asks_version(base_name(words[0]), inner[0]))
    ):
        if found.what == "check" and found.kind == "run" and inner == ["-v"] and script and found.script:
            return found
        answer = Found("other" if script else "read")
        answer.sure = False
        return answer
    for flag in lists["as_build"].get(found.runner, ()):
        if flag in inner:
            found.kind = "build"
            return found
    runner = found.runner
    stops = lists["not_checks"].get(runner)
    if stops and any(flag in inner for flag in stops):
        return Found("read" if found.what != "server" and runner != "jest" else "other")
    if (
        found.what == "check"
        and found.kind != "run"
        and any(
            word in ("--watch", "--watchAll", "--watch-all", "-w")
            and (word != "-w" or runner in ("tsc", "vue-tsc", "webpack", "rollup", "mocha", "tsup"))
            for word in inner
        )
    ):
        return Found("server", runner=runner)
    return found


def _asks_version(name: str, flag: str) -> bool:
    """Is `-v` or `-V`, alone, a question for the version? To most runners of tests `-v` is "verbose"."""
    return (flag == "-v" and name in data()["version_v"]) or (flag == "-V" and name not in data()["verbose_V"])


def file_words(words: Sequence[str]) -> tuple[str, ...]:
    """The arguments that look like files or folders, options and their joined values left out."""
    result: list[str] = []
    skip = False
    for word in words:
        if skip or not word or word.startswith("-") or isinstance(word, Loose):
            skip = word in _NOT_FILES
            continue
        name = word.split("::", 1)[0]
        if not name or "=" in name or "://" in name or " " in name:
            continue
        if "/" in name or _has_extension(name):
            result.append(name)
            if len(result) >= MAX_TARGETS:
                break
    return tuple(result)


def _has_extension(name: str) -> bool:
    at = name.rfind(".")
    extension = name[at + 1 :] if at > 0 else ""
    return 0 < len(extension) <= 10 and extension.isalnum() and not extension.isdigit() and extension[0].isascii()


def _first_operand(words: Sequence[str], at: int) -> str:
    for word in words[at:]:
        if word == "--":
            continue
        if not word.startswith("-"):
            return word
    return ""


def is_test_file(path: str) -> bool:
    """Is this a test file by its name alone?"""
    name = path.rsplit("/", 1)[-1].split("::", 1)[0]
    stem = name
    at = name.rfind(".")
    if at > 0:
        stem = name[:at]
    low = stem.lower()
    if low in (
        "test",
        "tests",
        "runtests",
        "runtest",
        "run_tests",
        "run-tests",
        "run_test",
        "run-test",
        "spec",
        "all_tests",
        "test_all",
    ):
        return True
    if low.startswith(("test_", "test-", "tests_", "test.")):
        return True
    if low.endswith(("_test", "_tests", "-test", "-tests", ".test", ".tests", "_spec", "-spec", ".spec")):
        return True
    return stem != low and stem.endswith(("Test", "Tests", "Spec", "TestCase")) and at > 0


# -- names of tasks and scripts --------------------------------------------------------------------


def _tokens(name: str) -> list[str]:
    tokens: list[str] = []
    word = ""
    previous = ""
    for char in name[:200]:
        if char.isalnum():
            if char.isupper() and previous.islower():
                tokens.append(word)
                word = ""
            word += char.lower()
        elif word:
            tokens.append(word)
            word = ""
        previous = char
    if word:
        tokens.append(word)
    return tokens


def name_kind(name: str, weak: bool = True) -> str:
    """What a task is by its name: a kind of check, "server", "format" or "" where the name says nothing.

    `weak`: words such as `check` and `verify` count too; they do for tasks, not for scripts.
    """
    tokens = _tokens(name)
    if not tokens:
        return ""
    strong = [data()["name_kinds"][token] for token in tokens if token in data()["name_kinds"]]
    if any(token in data()["name_formats"] for token in tokens):
        return (
            "lint"
            if "check" in tokens or "diff" in tokens
            else "lint+fix"
            if "lint" in tokens or "fix" in tokens
            else "format"
        )
    if tokens[0] in data()["name_servers"] or (
        tokens[-1] in data()["name_servers"] and (not strong or tokens[-1] in ("watch", "ui", "open"))
    ):
        return "server"
    if tokens[0] in data()["name_not"]:
        return ""
    if strong:
        return (
            "type"
            if "type" in strong[:2] and tokens[0] in ("test", "check", "type", "lint", "run", "ts", "types")
            else strong[0]
        )
    for token in tokens if weak else ():
        if token in data()["name_weak"]:
            return str(data()["name_weak"][token])
    return ""


def _named_task(runner: str, names: Sequence[str], check_is_test: bool = False) -> Found:
    """A task runner asked for these tasks: the most telling of them counts."""
    best = ""
    for name in names[:20]:
        kind = name_kind(name)
        if (
            check_is_test
            and kind == "lint"
            and "check" in _tokens(name)
            and "lint" not in _tokens(name)
            and "fmt" not in _tokens(name)
        ):
            kind = "test"
        if _WEIGHT.get(kind, 0) > _WEIGHT.get(best, 0):
            best = kind
    if not best:
        return Found()
    if best == "server":
        return Found("server", runner=runner)
    if best == "format":
        return Found("format", "lint", runner)
    found = Found("check", best.split("+")[0], runner)
    found.fixes = best.endswith("+fix")
    return found


_WEIGHT = {"format": 1, "lint": 3, "lint+fix": 2, "build": 4, "type": 5, "test": 6, "server": 7}


def _operands(words: Sequence[str], valued: Sequence[str] = ()) -> list[str]:
    result: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word == "--":
            break
        elif word.startswith("-") and len(word) > 1:
            skip = word in valued
        else:
            result.append(word)
    return result


def _tasks(head: str, words: Sequence[str], at: int) -> Found:
    """just, task, turbo run, mise run, npm run ...: the kind stands in the name of the task."""
    valued = data()["valued"]
    values = list(valued.get(head, ())) + list(valued.get(head.split(" ")[0], ()))
    names = [name for name in _operands(words[at:], values) if "=" not in name]
    program = head.split(" ")[0]
    if program == "nx":
        names = _option_values(words[at:], ("-t", "--target", "--targets"))
    if not names:
        if head == "rake" and not any(word.startswith("-") for word in words[at:]):
            return Found("check", "test", "rake")
        if head in ("gulp", "grunt", "ant") and not any(word.startswith("-") for word in words[at:]):
            return Found("check", "build", head)
        return Found(
            "read" if not any(word.startswith("-") for word in words[at:]) and head.endswith(" run") else "other"
        )
    if (
        "run" in head.split(" ")[1:]
        or "run-script" in head.split(" ")
        or head == "deno task"
        or program in ("npm", "hatch", "poe")
    ):
        names = names[:1] if program not in ("turbo", "lerna", "run-s", "run-p", "npm-run-all", "nx") else names
    if program == "bun" and _is_script_file(names[0]):
        return _script_run("bun", names[0])
    if head in (
        "just",
        "task",
        "go-task",
        "invoke",
        "inv",
        "mise run",
        "mise r",
        "poe",
        "rushx",
        "nr",
        "vp",
        "vp run",
    ):
        names = names[:1]
    if program == "moon" or head == "moonx":
        names = [name.rsplit(":", 1)[-1] for name in names]
    found = _named_task(head if program in _NPM or len(names) > 1 else head + " " + names[0][:60], names)
    if found.what == "check" and any(word in ("--fix", "--write") for word in words[at:]):
        found.fixes = True
    return found


def _option_values(words: Sequence[str], names: Sequence[str]) -> list[str]:
    result: list[str] = []
    for place, word in enumerate(words):
        name, _, value = word.partition("=")
        if name in names:
            if value:
                result.extend(value.split(","))
            else:
                for after in words[place + 1 :]:
                    if after.startswith("-"):
                        break
                    result.extend(after.split(","))
    return result[:20]


# -- programs that a list cannot describe ----------------------------------------------------------


def _is_script_file(word: str) -> bool:
    return word.endswith(
        (
            ".py",
            ".js",
            ".mjs",
            ".cjs",
            ".ts",
            ".mts",
            ".cts",
            ".tsx",
            ".jsx",
            ".rb",
            ".php",
            ".pl",
            ".sh",
            ".lua",
            ".R",
            ".exs",
            ".jl",
        )
    )


def _script_run(runner: str, script: str) -> Found:
    kind = "test" if is_test_file(script) else "run"
    found = Found("check", kind, runner, script)
    found.targets = (script,) if not isinstance(script, Loose) else ()
    return found


def _loose(words: Sequence[str], fed: bool) -> Found:
    """`$PY -m pytest`, `"$VENV/bin/pytest"`: what can be told without the value."""
    word = str(words[0])
    if "/" in word and "bin" in word.split("/"):
        return _classify([base_name(word), *words[1:]], None, fed)
    if len(words) > 2 and words[1] == "-m":
        return _python(words, 1, fed)
    return Found()


def _program(word: str, words: Sequence[str]) -> Found:
    """A program called by its path: `./run_tests.sh`, `./a.out`."""
    name = base_name(word)
    if name.endswith(".py") and name in ("manage.py", "setup.py"):
        return _python(words, 0, False)
    if name == "configure":
        return Found("check", "build", "./configure")
    if name.endswith((".sh", ".bash", ".zsh")) or not _has_extension(name):
        stem = name.rsplit(".", 1)[0]
        kind = name_kind(stem, weak=False)
        if kind in ("test", "build", "type", "lint"):
            # a script is called by a name that people chose; what it does besides is not known
            found = Found("check", kind, word, word)
            found.harmless = False
            return found
        if kind == "server" and len(_tokens(stem)) < 3 and "ui" not in _tokens(stem):
            return Found("server", runner=word)
    found = _script_run(word, word)
    found.targets = ()
    return found


def _python(words: Sequence[str], at: int, fed: bool) -> Found:
    """`at` is the place of the first argument of the interpreter."""
    end = len(words)
    while at < end:
        word = words[at]
        if word == "-":
            return Found("inline")
        if not word.startswith("-"):
            break
        if word in ("-W", "-X", "-Q", "--check-hash-based-pycs"):
            at += 2
            continue
        if word in ("-V", "--version", "-VV", "-h", "--help"):
            return Found("read")
        if word == "--":
            at += 1
            break
        if not word.startswith("--"):
            if "c" in word[1:]:
                return Found("inline")
            if "m" in word[1:]:
                rest = words[at + 1 :]
                joined = word.split("m", 1)[1]
                return _module([joined, *rest] if joined else rest, fed)
        at += 1
    if at >= end:
        return Found("inline" if fed else "other")
    script = words[at]
    name = base_name(script)
    if name == "manage.py" or name == "django-admin":
        return _manage(words, at)
    if name == "setup.py":
        rest = words[at + 1 :]
        if "test" in rest:
            return Found("check", "test", "setup.py test", script)
        if any(word in rest for word in ("build", "build_ext", "bdist_wheel", "sdist", "build_py", "bdist")):
            return Found("check", "build", "setup.py build", script)
        return Found("install")
    if name == "x.py" and words[at + 1 : at + 2] and words[at + 1] in ("test", "build", "check", "dist"):
        return Found("check", "test" if words[at + 1] == "test" else "build", name, script)
    folder = script.rsplit("/", 1)[0] if "/" in script else ""
    if folder and not _has_extension(name) and _known_by_base(script):
        return _classify([name, *words[at + 1 :]], None, fed)
    return _script_run("python", script)


def _manage(words: Sequence[str], at: int) -> Found:
    found = _by_list("manage.py", ["manage.py", *words[at + 1 :]], False)
    if found.what == "other" and at + 1 < len(words):
        if words[at + 1] in ("shell", "dbshell") or not words[at + 1]:
            return Found("inline")
        return Found("check", "run", "manage.py", words[at])
    return found


def _module(words: Sequence[str], fed: bool) -> Found:
    """python -m MODULE ..."""
    if not words:
        return Found()
    module = words[0]
    if module in (
        "cProfile",
        "profile",
        "pdb",
        "trace",
        "memory_profiler",
        "line_profiler",
        "viztracer",
        "scalene",
        "kernprof",
        "debugpy",
        "runpy",
    ):
        rest = list(words[1:])
        while rest and rest[0].startswith("-") and rest[0] != "-m":
            rest = rest[2 if rest[0] in ("-o", "-s") else 1 :]
        return _python(rest, 0, fed) if rest else Found()
    if module == "coverage":
        return _coverage("coverage", words, fed)
    if module == "django":
        return _manage(words, 0)
    if module in (
        "json.tool",
        "this",
        "site",
        "sysconfig",
        "platform",
        "ast",
        "dis",
        "tokenize",
        "inspect",
        "timeit",
        "pydoc",
    ):
        return Found("read")
    if module in _PYTHONS or module == "IPython":
        return Found("inline")
    if module == "poetry" or module == "uv":
        how = unwrap(words)
        return classify(words[how.at :], how, fed) if how.at else _by_list(module, words, fed)
    special = _SPECIAL.get(module) if module not in ("node", "bash", "make", "test") else None
    found = (
        special(module, words, fed) if special is not None and module not in _PYTHONS else _by_list(module, words, fed)
    )
    if found.what == "other" and found.runner == "" and module not in data()["heads"]:
        last = module.rsplit(".", 1)[-1]
        if is_test_file(last) or module.startswith(("tests.", "test.")):
            return Found("check", "test", "python", "")
        return Found("check", "run", "python", "")
    if found.what in ("read", "quiet", "vcs"):
        return Found("check", "run", "python", "")
    return found


def _coverage(name: str, words: Sequence[str], fed: bool) -> Found:
    if len(words) > 1 and words[1] == "run":
        rest = list(words[2:])
        at = 0
        while at < len(rest) and rest[at].startswith("-") and rest[at] != "-m":
            at += (
                2
                if rest[at]
                in (
                    "--rcfile",
                    "--source",
                    "--include",
                    "--omit",
                    "--data-file",
                    "--context",
                    "--concurrency",
                )
                else 1
            )
        found = _python(rest, at, fed)
        return found if found.what == "check" else Found("check", "run", "coverage")
    return Found("read")


def _interpreter(name: str, words: Sequence[str], fed: bool) -> Found:
    flags = data()["inline_flags"].get(name, ())
    values = data()["interpreter_values"].get(name, ())
    at, end = 1, len(words)
    testing = False
    while at < end and words[at].startswith("-"):
        word = words[at]
        if word == "-":
            return Found("inline")
        if word == "--":
            at += 1
            break
        if word in flags or word.split("=", 1)[0] in flags:
            return Found("inline")
        if name == "perl" and not word.startswith("--") and word[1] not in "IMm" and ("e" in word or "E" in word):
            return Found("inline")
        if name == "ruby" and not word.startswith("--") and word[1] not in "IrWKxC" and "e" in word:
            return Found("inline")
        if name == "node" and (word == "--test" or word.startswith("--test=")):
            testing = True
        if (
            (name == "node" and word in ("--check", "-c"))
            or (name in ("ruby", "perl") and word in ("-c", "-wc", "-cw"))
            or (name == "php" and word in ("-l", "--syntax-check"))
        ):
            found = Found("check", "build", name + " " + word)
            found.targets = file_words(words[at + 1 :])
            return found
        if (name == "node" and word.startswith("--watch")) or (name == "php" and word.startswith("-S")):
            return Found("server", runner=name)
        if word in ("-v", "-V", "--version", "-h", "--help", "-i", "-m") and at + 1 == end:
            return Found("read")
        at += 2 if word in values else 1
    if testing:
        found = Found("check", "test", "node --test")
        found.targets = file_words(words[at:])
        return found
    if at >= end:
        return Found("inline")
    script = words[at]
    if name in ("node", "bun", "tsx") and "node_modules/" in script:
        tail = script.rsplit("node_modules/", 1)[1].split("/")
        program = (
            tail[1]
            if tail[0] == ".bin" and len(tail) > 1
            else tail[1]
            if tail[0].startswith("@") and len(tail) > 1
            else tail[0]
        )
        if tail[0] == "typescript":
            program = tail[-1].rsplit(".", 1)[0]
        if tail[0] == "@playwright":
            program = "playwright"
        return _classify([program, *words[at + 1 :]], None, fed)
    if (
        name in ("php", "ruby")
        and ("/" in script or script == "artisan")
        and (_known_by_base(script) or base_name(script).endswith(".phar"))
    ) or script in ("artisan", "composer.phar", "composer"):
        return _classify([base_name(script).replace(".phar", ""), *words[at + 1 :]], None, fed)
    if name == "node" and script in ("ace", "ace.js") and at + 1 < end:
        return _named_task("ace", [words[at + 1]])
    return _script_run(name, script)


def _ruby(name: str, words: Sequence[str], fed: bool) -> Found:
    if "-S" in words[1:4]:
        rest = words[words.index("-S") + 1 :]
        if rest:
            return _classify(rest, None, fed)
    return _interpreter(name, words, fed)


def _shell(name: str, words: Sequence[str], fed: bool) -> Found:
    """bash SCRIPT; `bash -c` is parsed by the walk, not here."""
    at, end = 1, len(words)
    syntax = False
    while at < end and words[at].startswith(("-", "+")) and words[at] != "-":
        if words[at] in ("--version", "--help"):
            return Found("read")
        if words[at] == "--":
            at += 1
            break
        if not words[at].startswith("--") and "n" in words[at] and "o" not in words[at]:
            syntax = True
        at += 2 if words[at] in ("-o", "+o", "-O", "--rcfile", "--init-file") else 1
    if at >= end or words[at] == "-":
        return Found("inline" if fed else "other")
    script = words[at]
    if name == "busybox":
        return _classify(words[at:], None, fed)
    if syntax:
        found = Found("check", "lint", name + " -n")
        found.targets = file_words(words[at:])
        return found
    found = _program("./" + script if "/" not in script else script, words[at:])
    found.runner = name
    found.script = script
    return found


def _java(name: str, words: Sequence[str], fed: bool) -> Found:
    if len(words) == 2 and words[1] in ("-version", "--version", "-h", "-help"):
        return Found("read")
    at, end = 1, len(words)
    values = data()["interpreter_values"]["java"]
    while at < end and words[at].startswith("-"):
        if words[at] in ("-jar", "-m", "--module"):
            at += 1
            break
        at += 2 if words[at] in values else 1
    if at >= end:
        return Found()
    script = words[at]
    if "junit" in script.lower() or "testng" in script.lower():
        return Found("check", "test", "junit")
    return _script_run("java", script)


def _npm(name: str, words: Sequence[str], fed: bool) -> Found:
    lists = data()
    if name == "bun" and words[1:2] and words[1] in ("-e", "--eval", "-p", "--print", "-"):
        return Found("inline")
    entry, end = _descend(lists["heads"], words, 0, name)
    if entry is not None and entry[2] != name:
        what, kind, head = entry
        if what == "task":
            return _tasks(head, words, end)
        if what == "check":
            return Found("check", kind, head)
        return Found(what, runner=head)
    valued = lists["valued"].get(name, ())
    at = 1
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in valued else 1
    if at >= len(words):
        return Found("install") if name == "yarn" and len(words) == 1 else Found("read" if len(words) == 2 else "other")
    word = words[at]
    if name == "yarn" and word == "workspace" and at + 2 < len(words):
        return _npm(name, [name, *words[at + 2 :]], fed)
    if name == "yarn" and word == "workspaces":
        names = _operands(words[at + 1 :], ("--include", "--exclude", "--from", "-j", "--jobs"))
        names = [part for part in names if part not in ("foreach", "run", "exec")]
        return _named_task("yarn", names[:1])
    if word in ("run", "run-script", "rum", "exec") and at + 1 < len(words):
        rest = _operands(words[at + 1 :], valued)
        if not rest:
            return Found("read")
        if name == "bun" and _is_script_file(rest[0]):
            return _script_run("bun", rest[0])
        found = _named_task(name + " run", rest[:1])
    elif word in ("test", "t", "tst"):
        found = Found("check", "test", name + " test")
    elif word in ("start", "dev", "serve", "preview"):
        return Found("server", runner=name + " " + word)
    elif name == "npm":
        return Found()
    elif word == "node":
        return _interpreter("node", words[at:], fed)
    elif _is_script_file(word) and name == "bun":
        return _script_run("bun", word)
    else:
        # pnpm, yarn and bun take a binary or a script without `run`
        found = (
            classify(words[at:])
            if base_name(word) not in _BUILTIN_NAMES and word not in ("config", "version", "publish")
            else Found()
        )
        if found.what not in ("check", "server", "format") or found.kind == "run":
            found = _named_task(name, [word])
    if found.what == "check" and any(
        flag in words[at:] for flag in ("--fix", "-u", "--update", "--updateSnapshot", "--write")
    ):
        found.fixes = True
    if found.what == "check" and any(flag in words[at:] for flag in ("--watch", "--watchAll")):
        return Found("server", runner=name)
    return found


def _nx(name: str, words: Sequence[str], fed: bool) -> Found:
    operands = _operands(words[1:], data()["valued"]["nx"])
    if not operands:
        return Found()
    if operands[0] in ("run-many", "affected"):
        return _named_task("nx", _option_values(words[1:], ("-t", "--target", "--targets")))
    if operands[0] == "run" and len(operands) > 1:
        return _named_task("nx run", [operands[1].split(":")[1] if ":" in operands[1] else operands[1]])
    if operands[0].startswith("affected:"):
        return _named_task("nx", [operands[0][9:]])
    if operands[0] in ("graph", "list", "report", "show", "migrate", "g", "generate", "reset"):
        return Found("read" if operands[0] in ("list", "report", "show") else "other")
    return _named_task("nx " + operands[0][:40], [operands[0]])


def _turbo(name: str, words: Sequence[str], fed: bool) -> Found:
    names = [word for word in _operands(words[1:], data()["valued"]["turbo"]) if word != "run"]
    return _named_task("turbo", [part.rsplit("#", 1)[-1] for part in names])


def _clean() -> Found:
    found = Found()
    found.sure = True
    return found


def _make(name: str, words: Sequence[str], fed: bool) -> Found:
    targets = [
        word
        for word in _operands(words[1:], ("-C", "-f", "-I", "-o", "-W", "--directory", "--file", "--makefile"))
        if "=" not in word
    ]
    if words[-1:] and len(words) > 2 and words[-2] == "-j" and targets[-1:] == [words[-1]] and words[-1].isdigit():
        targets.pop()
    targets = [word for word in targets if not word.isdigit()]
    if not targets:
        return Found("check", "build", "make")
    if all(
        word
        in (
            "all",
            "default",
            "lib",
            "libs",
            "bin",
            "release",
            "debug",
            "modules",
            "exe",
            "html",
            "binary",
            "binaries",
        )
        or "." in word
        or "/" in word
        for word in targets
    ):
        found = _named_task("make", targets, check_is_test=True)
        return found if found.what == "check" else Found("check", "build", "make")
    if all(word in _CLEANS for word in targets):
        return _clean()
    found = _named_task("make", targets, check_is_test=True)
    if found.what == "other" and targets[0] in ("run", "demo", "example", "examples", "bench"):
        return Found("check", "run", "make")
    return found


def _gradle(name: str, words: Sequence[str], fed: bool) -> Found:
    operands = _operands(words[1:], data()["valued"]["gradle"])
    names = [word.rsplit(":", 1)[-1] for word in operands]
    if not names:
        return Found("read")
    if any(name in ("tasks", "projects", "dependencies", "properties", "help", "dependencyInsight") for name in names):
        return Found("read")
    if names == ["clean"]:
        return _clean()
    if all(name in ("clean", "wrapper", "publish") for name in names):
        return Found()
    kinds: list[str] = []
    for task in names:
        low = task.lower()
        if low in ("bootrun", "run", "rundev", "jettyrun", "apprun"):
            kinds.append("server" if low != "run" else "run")
        elif low in ("spotlessapply", "ktlintformat", "formatkotlin"):
            kinds.append("format")
        elif low in ("check", "connectedcheck", "jacocotestreport", "alltests"):
            kinds.append("test")
        elif low.startswith(("compiletest", "testclasses")) or low in (
            "classes",
            "jar",
            "bootjar",
            "shadowjar",
            "war",
            "installdist",
            "compilejava",
            "compilekotlin",
        ):
            kinds.append("build")
        elif low.startswith(("spotless", "ktlint", "detekt", "checkstyle", "pmd", "spotbugs", "lint")):
            kinds.append("lint")
        elif low.startswith(("assemble", "compile", "build", "bundle", "install", "link", "package")):
            kinds.append("build")
        elif "test" in _tokens(task) or low.endswith(("test", "tests")):
            kinds.append("test")
    for kind in ("server", "test", "run", "build", "type", "lint"):
        if kind in kinds:
            if kind == "server":
                return Found("server", runner="gradle")
            skipped = kind == "test" and "-x" in words and "test" in words[words.index("-x") :][:2]
            return Found(
                "check",
                "build" if skipped else kind,
                "gradle " + names[kinds.index(kind) if len(kinds) == len(names) else 0][:40],
            )
    return Found("format", "lint", "gradle") if "format" in kinds else Found()


def _mvn(name: str, words: Sequence[str], fed: bool) -> Found:
    goals = _operands(
        words[1:], ("-pl", "--projects", "-f", "--file", "-P", "-s", "--settings", "-T", "-rf", "-gs", "-t")
    )
    skip = any(word.startswith(("-DskipTests", "-Dmaven.test.skip")) and not word.endswith("=false") for word in words)
    if any(
        goal in ("test", "verify", "integration-test") or goal.startswith(("surefire:", "failsafe:")) for goal in goals
    ):
        return Found("check", "build" if skip else "test", "mvn test" if "test" in goals else "mvn verify")
    if any(
        goal in ("compile", "package", "install", "test-compile", "process-classes", "deploy")
        or goal.startswith("compiler:")
        for goal in goals
    ):
        return Found("check", "build", "mvn " + next((goal for goal in goals if goal != "clean"), "package"))
    joined = " ".join(goals)
    if "spring-boot:run" in joined or "jetty:run" in joined or "quarkus:dev" in joined:
        return Found("server", runner="mvn")
    if "exec:" in joined:
        return Found("check", "run", "mvn exec")
    if "spotless:apply" in joined or "fmt:format" in joined or "formatter:format" in joined:
        return Found("format", "lint", "mvn")
    if any(part in joined for part in ("checkstyle:", "spotless:check", "pmd:", "spotbugs:", "fmt:check")):
        return Found("check", "lint", "mvn")
    if any(part in joined for part in ("dependency:tree", "help:", "versions:display", "dependency:list")):
        return Found("read")
    return Found()


def _xcodebuild(name: str, words: Sequence[str], fed: bool) -> Found:
    if any(word in ("test", "test-without-building") for word in words):
        return Found("check", "test", "xcodebuild test")
    return Found("check", "build", "xcodebuild")


def _sbt(name: str, words: Sequence[str], fed: bool) -> Found:
    tasks = [word.split(" ")[0].rsplit("/", 1)[-1].rsplit(":", 1)[-1] for word in _operands(words[1:])]
    for task in tasks:
        if task in ("run", "runMain"):
            return Found("check", "run", "sbt run")
        if task.startswith(("scalafmtCheck", "scalafix")):
            return Found("check", "lint", "sbt")
    if "scalafmt" in tasks or "scalafmtAll" in tasks:
        return Found("format", "lint", "sbt")
    if any("testOnly" in task or "testQuick" in task for task in tasks):
        return Found("check", "test", "sbt test")
    return _named_task("sbt", tasks)


def _cmake(name: str, words: Sequence[str], fed: bool) -> Found:
    if "--build" in words:
        target = _option_values(words, ("--target", "-t"))
        if any(part in ("test", "check", "RUN_TESTS") for part in target):
            return Found("check", "test", "cmake --build")
        return Found("check", "build", "cmake --build")
    if any(word in ("-E", "-P", "--open", "--install", "-N", "-L", "-LA") for word in words):
        return Found()
    return Found("check", "build", "cmake")


def _ninja(name: str, words: Sequence[str], fed: bool) -> Found:
    targets = _operands(words[1:], ("-C", "-j", "-k", "-l", "-f", "-t", "-d"))
    if any(target in ("test", "check", "tests") for target in targets):
        return Found("check", "test", "ninja test")
    return Found("check", "build", "ninja")


def _session(name: str, words: Sequence[str], fed: bool) -> Found:
    """tox -e lint, nox -s mypy: the name of the environment may say lint or type."""
    names = _option_values(words, ("-e", "-s", "--session", "--sessions", "-m"))
    kinds = [name_kind(part) for part in names]
    kind = (
        kinds[0].split("+")[0]
        if kinds and all(kind == kinds[0] for kind in kinds) and kinds[0] in ("lint", "type", "build", "lint+fix")
        else "test"
    )
    return Found("check", kind, name)


def _rake(name: str, words: Sequence[str], fed: bool) -> Found:
    tasks = [word for word in _operands(words[1:], ("-f", "-I")) if "=" not in word]
    if not tasks:
        return (
            Found("read") if any(word in ("-T", "--tasks", "-P") for word in words) else Found("check", "test", "rake")
        )
    if all(task.startswith(("db:", "assets:clean", "tmp:")) for task in tasks):
        return Found()
    return _named_task("rake " + tasks[0][:40], tasks)


def _composer(name: str, words: Sequence[str], fed: bool) -> Found:
    found = _by_list(name, words, fed)
    if found.what != "other":
        return found
    operands = _operands(words[1:], ("-d", "--working-dir"))
    if operands and operands[0] in ("run", "run-script", "exec") and len(operands) > 1:
        return classify(operands[1:]) if operands[0] == "exec" else _named_task("composer", operands[1:2])
    return _named_task("composer " + operands[0][:40], operands[:1]) if operands else Found()


def _find(name: str, words: Sequence[str], fed: bool) -> Found:
    # what -exec runs is read by the walk, as a command of its own
    return Found(
        "other" if any(word in ("-delete", "-fprint", "-fprintf", "-fls", "-okdir") for word in words) else "read"
    )


def _sed(name: str, words: Sequence[str], fed: bool) -> Found:
    return Found("other") if in_place(words) else Found("read")


def in_place(words: Sequence[str]) -> bool:
    """Does this sed or perl edit its files in place?"""
    for word in words[1:]:
        if word == "--":
            break
        if word.startswith("--in-place"):
            return True
        if word.startswith("-") and not word.startswith("--") and len(word) > 1:
            cluster = word[1:]
            if (cluster[0] in "IMef" and words[0].endswith("perl")) or (
                cluster[0] in "efl" and not words[0].endswith("perl")
            ):
                continue
            for char in cluster:
                if char in "iI" and (char == "i" or not words[0].endswith("perl")):
                    return True
                if (char in "efl" and not words[0].endswith("perl")) or (
                    char in "eEMmDxF" and words[0].endswith("perl")
                ):
                    break
    return False


def _perl(name: str, words: Sequence[str], fed: bool) -> Found:
    return _interpreter(name, words, fed)


def _awk(name: str, words: Sequence[str], fed: bool) -> Found:
    # awk can write files and start programs from inside its own text
    text = " ".join(words[1:40])
    if (
        "inplace" in words
        or "system(" in text
        or "print >" in text
        or "| getline" in text
        or "print>" in text
        or '> "' in text
    ):
        return Found("other")
    return Found("read")


def _sort(name: str, words: Sequence[str], fed: bool) -> Found:
    return Found("other") if any(word.startswith(("-o", "--output")) for word in words[1:]) else Found("read")


def _curl(name: str, words: Sequence[str], fed: bool) -> Found:
    flags = "".join(word[1:] for word in words[1:] if word.startswith("-") and not word.startswith("--"))
    wget = name == "wget"
    writes = "o" in flags or "O" in flags or any(word.startswith(("--output", "--remote-name")) for word in words)
    if wget:
        out = [words[place + 1] for place, word in enumerate(words[:-1]) if word in ("-O", "-qO")]
        writes = not ("-O-" in words or "-qO-" in words or "-" in out or "--spider" in words)
    elif writes:
        outs = [
            words[place + 1]
            for place, word in enumerate(words[:-1])
            if word == "--output" or (word.startswith("-") and not word.startswith("--") and word.endswith("o"))
        ]
        writes = (
            not (outs and all(out.startswith(("/dev/", "/tmp/", "/var/tmp/")) or out == "-" for out in outs))
            or "O" in flags
        )
    found = Found("other" if writes else "read")
    if any(
        word in ("POST", "PUT", "PATCH", "DELETE", "-d", "-F", "-T")
        or word.startswith(("-XP", "-XD", "--data", "--form", "--json", "--upload", "--post"))
        for word in words[1:]
    ):
        return found
    for word in words[1:]:
        low = word.lower().split("?")[0]
        if ("/" in low or "localhost" in low) and any(part in low for part in _STATUS_PATHS):
            found.poll = True
    return found


_STATUS_PATHS = (
    "health", "/status", "/ready", "/live", "/ping", "/alive",
    "/jobs/", "/runs/", "/builds/", "/pipelines/", "/deployments/", "/operations/",
)  # fmt: skip


def _cloud(name: str, words: Sequence[str], fed: bool) -> Found:
    """aws, gcloud, az: what asks for the state of something polls."""
    operands = _operands(words[1:], _CLOUD_VALUED)
    verb = operands[1] if len(operands) > 1 else ""
    if name == "aws":
        asks = verb == "wait" or verb.startswith(("describe-", "batch-get-"))
        asks = asks or (verb.startswith("get-") and verb.endswith(("-status", "-run", "-runs", "-execution", "-state")))
        asks = asks or verb in ("get-command-invocation", "list-executions", "list-command-invocations")
    elif name == "gcloud":
        asks = "describe" in operands[1:] or "operations" in operands
    else:
        asks = operands[-1:] in (["show"], ["wait"]) or "show" in operands[1:]
    return Found("poll") if asks else _by_list(name, words, fed)


_CLOUD_VALUED = (
    "--profile",
    "--region",
    "--output",
    "--endpoint-url",
    "--query",
    "--project",
    "--format",
    "-o",
    "-g",
    "-n",
)


def _tail(name: str, words: Sequence[str], fed: bool) -> Found:
    found = Found("read")
    for word in words[1:]:
        if word in ("-f", "-F", "--follow") or (
            word.startswith("-") and not word.startswith("--") and "f" in word and name == "tail"
        ):
            found.poll = name == "tail"
        elif word.endswith((".log", ".out", ".output", "nohup.out")) and not fed:
            found.poll = True
    return found


def _env(name: str, words: Sequence[str], fed: bool) -> Found:
    """A wrapper with nothing inside, and `command -v`."""
    return Found("read" if name in ("env", "time", "xargs") or words[1:2] in (["-v"], ["-V"]) else "other")


def _archive(name: str, words: Sequence[str], fed: bool) -> Found:
    flags = words[1] if len(words) > 1 else ""
    if name == "unzip":
        return Found("read" if any(word.startswith(("-l", "-p", "-t", "-v", "-Z")) for word in words[1:]) else "other")
    return Found(
        "read" if ("t" in flags and not flags.startswith("--") and "x" not in flags) or "--list" in words else "other"
    )


def _source(name: str, words: Sequence[str], fed: bool) -> Found:
    found = Found("quiet")
    file = words[1] if len(words) > 1 else ""
    last = file.rsplit("/", 1)[-1]
    found.sure = last.startswith(("activate", ".")) or last.endswith(tuple(data()["sourced"]))
    found.harmless = found.sure
    return found


def _set(name: str, words: Sequence[str], fed: bool) -> Found:
    found = Found("quiet", runner=name)
    found.sure = True
    return found


def _mkdir(name: str, words: Sequence[str], fed: bool) -> Found:
    found = Found("quiet", runner=name)
    found.sure = (
        "-p" in words
        or any(word.startswith("-") and not word.startswith("--") and "p" in word for word in words[1:])
        or "--parents" in words
    )
    return found


def _rm(name: str, words: Sequence[str], fed: bool) -> Found:
    found = Found("other", runner=name)
    found.sure = (
        any(word.startswith("-") and not word.startswith("--") and "f" in word for word in words[1:])
        or "--force" in words
    )
    return found


def _touch(name: str, words: Sequence[str], fed: bool) -> Found:
    found = Found("other", runner=name)
    found.sure = True
    return found


def git_words(words: Sequence[str]) -> tuple[list[str], str | None]:
    """The words of a git command from its subcommand on, and the folder that -C names."""
    at, folder = 1, None
    valued = data()["valued"]["git"]
    while at < len(words) and words[at].startswith("-"):
        if words[at] == "-C" and at + 1 < len(words):
            folder = words[at + 1]
        at += 2 if words[at] in valued else 1
    return list(words[at:]), folder


def _git(name: str, words: Sequence[str], fed: bool) -> Found:
    rest, _ = git_words(words)
    found = Found("vcs", runner="git")
    if not rest:
        found.harmless = True
        return found
    sub, args = rest[0], rest[1:]
    first = args[0] if args else ""
    operands = _operands(args)
    if sub in data()["git_read"]:
        found.harmless = not any(word.startswith("--output") for word in args)
    elif sub == "branch":
        found.harmless = not operands or any(
            word
            in (
                "-l",
                "--list",
                "--contains",
                "--merged",
                "--no-merged",
                "-a",
                "-r",
                "-v",
                "-vv",
                "--show-current",
            )
            for word in args
        )
    elif sub == "tag":
        found.harmless = not operands or "-l" in args or "--list" in args
    elif sub in (
        "remote",
        "worktree",
        "submodule",
        "bisect",
        "notes",
        "stash",
        "config",
        "sparse-checkout",
        "lfs",
    ):
        found.harmless = first in (
            "-v",
            "",
            "show",
            "list",
            "get-url",
            "status",
            "log",
            "--get",
            "-l",
            "--list",
            "--get-all",
            "get",
        ) and not (sub == "stash" and first == "")
    found.sure = (
        sub in data()["git_sure"]
        and found.harmless
        and not any(word in ("--exit-code", "--quiet", "--check", "-q") for word in args)
    )
    return found


def _gh(name: str, words: Sequence[str], fed: bool) -> Found:
    found = _by_list(name, words, fed)
    operands = _operands(words[1:], data()["valued"]["gh"])
    poll = found.poll
    found = Found("vcs", runner=name)
    found.poll = poll and not any(
        word in ("-X", "--method", "-f", "-F", "--field", "--raw-field", "--input") for word in words
    )
    found.harmless = bool(operands) and (
        operands[0] in ("api", "search", "status", "browse", "auth")
        or operands[1:2] in (["view"], ["list"], ["status"], ["diff"], ["checks"], ["watch"], ["ls"])
    )
    return found


def _docker(name: str, words: Sequence[str], fed: bool) -> Found:
    return _by_list(name, words, fed)


def _exit(name: str, words: Sequence[str], fed: bool) -> Found:
    return Found("quiet", runner=name)


def _deno(name: str, words: Sequence[str], fed: bool) -> Found:
    if words[1:2] == ["eval"] or words[1:2] == ["repl"]:
        return Found("inline")
    return _by_list(name, words, fed)


def _unspin(name: str, words: Sequence[str], fed: bool) -> Found:
    return Found()


_SPECIAL = {
    "node": _interpreter,
    "nodejs": _interpreter,
    "tsx": _interpreter,
    "ts-node": _interpreter,
    "php": _interpreter,
    "lua": _interpreter,
    "luajit": _interpreter,
    "Rscript": _interpreter,
    "julia": _interpreter,
    "elixir": _interpreter,
    "osascript": _interpreter,
    "perl": _perl,
    "ruby": _ruby,
    "java": _java,
    "make": _make,
    "gmake": _make,
    "gradle": _gradle,
    "gradlew": _gradle,
    "mvn": _mvn,
    "mvnw": _mvn,
    "mvnd": _mvn,
    "xcodebuild": _xcodebuild,
    "sbt": _sbt,
    "cmake": _cmake,
    "ninja": _ninja,
    "nox": _session,
    "tox": _session,
    "rake": _rake,
    "composer": _composer,
    "find": _find,
    "sed": _sed,
    "gsed": _sed,
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
    "nawk": _awk,
    "sort": _sort,
    "curl": _curl,
    "aws": _cloud,
    "gcloud": _cloud,
    "az": _cloud,
    "wget": _curl,
    "http": _curl,
    "tail": _tail,
    "cat": _tail,
    "env": _env,
    "command": _env,
    "time": _env,
    "xargs": _env,
    "unzip": _archive,
    "tar": _archive,
    "source": _source,
    ".": _source,
    "set": _set,
    "mkdir": _mkdir,
    "rm": _rm,
    "touch": _touch,
    "chmod": _touch,
    "git": _git,
    "gh": _gh,
    "nx": _nx,
    "turbo": _turbo,
    "coverage": _coverage,
    "deno": _deno,
    "npm": _npm,
    "pnpm": _npm,
    "yarn": _npm,
    "bun": _npm,
    "exit": _exit,
    "return": _exit,
    "pwsh": _interpreter,
    "powershell": _interpreter,
}
for _name in _SHELLS:
    _SPECIAL[_name] = _shell


def _python_program(name: str, words: Sequence[str], fed: bool) -> Found:
    return _python(words, 1, fed)


for _name in _PYTHONS:
    _SPECIAL[_name] = _python_program
_SPECIAL["django-admin"] = lambda name, words, fed: _manage(words, 0)
_SPECIAL["manage.py"] = _SPECIAL["django-admin"]

SHELLS = _SHELLS
