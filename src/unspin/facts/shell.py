"""Reads one shell line: which checks it runs, what its exit status says of them, which files it writes.

The line is parsed by tree-sitter-bash and turned into a small tree of our own (sequence, and-or list,
pipeline, subshell, branch, loop); one walk over it in the order of the text finds checks and writes and
follows `cd`; then, for each check, the tree is run over abstract states (the check passed, failed or did not
run; the status is zero or not; the shell has ended or not). What the exit status says of the check is read
off the states that remain.

What it does not know: aliases, functions called later, what a script does inside itself, variables, which
shell runs the line, and whether a program that practically cannot fail (`cd`, `git status`) failed after all.
It never raises and takes time linear in the line. A line over 64 KB, with thousands of commands, or nested
deeper than anybody writes, is unknown.
"""

from __future__ import annotations

from .runners import (
    SHELLS,
    Found,
    Loose,
    Unwrapped,
    base_name,
    classify,
    data,
    git_words,
    named_kind,
    unwrap,
    updates_snapshots,
)
from .shell_outcomes import always_zero, judge, places_of, proves_failure
from .shell_tree import Part, Redirect, build
from .writes import MAX_TEXT, Glob, Write, writes_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

MAX_INNER = 4  # bash -c within bash -c ...
MAX_COMMANDS = 400  # with more simple commands than these no outcome is told
MAX_CHECKS = 40
MAX_FOLDER = 4096
MAX_WRITES = 400
MAX_COMMAND = 200
MAX_KNOWN = 1024
MAX_VALUES = 50
MAX_KNOWN_LINE = 4096


class Check:
    """A test, build, lint, type check or program run in a shell line."""

    __slots__ = (
        "command",
        "folder",
        "followed",
        "kind",
        "on_nonzero",
        "on_zero",
        "output_redirected",
        "piped",
        "pipefail",
        "proofs",
        "runner",
        "script",
        "targets",
        "usage_exits",
    )

    def __init__(
        self,
        kind: str,
        command: str,
        runner: str,
        script: str = "",
        targets: tuple[str, ...] = (),
        on_zero: str = "unknown",
        on_nonzero: str = "unknown",
        piped: bool = False,
        pipefail: bool = False,
        usage_exits: tuple[int, ...] = (),
        output_redirected: bool = False,
        folder: str | None = "",
        proofs: tuple[str, ...] = (),
    ) -> None:
        self.kind = kind  # "test", "build", "lint", "type" or "run"
        self.command = command  # as written, without wrappers, at most 200 characters
        self.runner = runner  # "pytest", "cargo test", "python", ...
        self.script = script  # the program run, as written
        self.targets = targets  # arguments that look like files, as written
        self.on_zero = on_zero  # "passed" or "unknown", by status 0 of the whole line
        self.on_nonzero = on_nonzero  # "failed", "perhaps" or "unknown"
        self.piped = piped  # it feeds a pipe
        self.pipefail = pipefail  # ... under pipefail: 141 is unknown
        self.usage_exits = usage_exits  # statuses that mean that nothing was checked
        self.output_redirected = output_redirected  # its output is not ours to read
        self.folder = folder  # where it runs, relative to the start; None where unknowable
        # what shows that a "perhaps" of a chain was this one: "kind", "diagnostic", "typescript" or "error"
        self.proofs = proofs
        self.followed = False  # something behind it in the line may have changed files that nobody can name

    def __repr__(self) -> str:
        return f"Check({self.kind!r}, {self.command!r}, {self.on_zero}/{self.on_nonzero})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Check) and all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash((self.kind, self.command))


class Line:
    """What one shell line is and does. The defaults are those of an empty line."""

    __slots__ = (
        "background",
        "checks",
        "cwd",
        "harmless",
        "inline",
        "links",
        "only_sleeps",
        "own",
        "polls",
        "role",
        "shell_checks_wrapped",
        "writes",
    )

    def __init__(
        self,
        checks: tuple[Check, ...] = (),
        writes: tuple[Write, ...] = (),
        polls: bool = False,
        only_sleeps: bool = False,
        harmless: bool = True,
        role: str = "read",
        background: bool = False,
        cwd: str | None = "",
        shell_checks_wrapped: bool = False,
        own: tuple[str, ...] = (),
        links: tuple[str, ...] = (),
        inline: tuple[str, ...] = (),
    ) -> None:
        self.checks = checks  # in the order of the text
        self.writes = writes
        self.polls = polls  # sleeps, waits, or looks after a job, a service or a log
        self.only_sleeps = only_sleeps  # a mere spacer
        self.harmless = harmless  # nothing in it can change a file of the work tree
        self.role = role  # "check", "server", "vcs", "read", "install", "inline" or "other"
        self.background = background  # the whole line ends in &
        self.cwd = cwd  # the folder after it, relative to the start; None where unknowable
        self.shell_checks_wrapped = shell_checks_wrapped  # it runs `unspin check -- ...`
        self.own = own  # the commands of unspin that it runs, with their arguments: "release", "mode nudge" ...
        self.links = links  # paths that `ln` gives another name
        self.inline = inline  # programs in the line itself: python -c, node -e, a heredoc

    def __repr__(self) -> str:
        return "Line(" + ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__) + ")"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Line) and all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash((self.checks, self.writes, self.role))


def _unknown_line() -> Line:
    return Line(harmless=False, role="other", cwd=None)


def read_line(command: str, named: Mapping[str, Sequence[str]] | None = None) -> Line:
    """Reads a shell line.

    `named` are the person's own check commands: `{kind: [command, ...]}`; they win over the built-in list and
    are compared word by word with the start of a simple command. Never raises for any line: what
    cannot be read is unknown. ImportError where tree-sitter is not installed.
    """
    key = (command, repr(named) if named else "")
    line = _known.get(key)
    if line is None:
        try:
            line = _read(command, named or {})
        except ImportError:
            raise  # the parser is not installed: a fault of the installation, to be seen and not hidden
        except Exception:
            # a fault of ours must never reach the agent; the line is then simply not understood
            line = _unknown_line()
        if len(_known) >= MAX_KNOWN:
            _known.clear()
        if len(command) <= MAX_KNOWN_LINE:
            _known[key] = line
    return line


_known: dict[tuple[str, str], Line] = {}  # lines read: agents repeat theirs, and a call is looked at more than once


def worth_parsing(command: str) -> bool:
    """False only where `read_line` answers `Line()`, found without the parser: plain readers, empty lines."""
    if len(command) > 4096:
        return True
    text = command.strip(" ")
    if not text:
        return False
    for char in "><`$();&\n\r\\#!{}~*?[]'\t^=":
        if char in text:
            return True
    if text.count('"') % 2 or ".log" in text or ".out" in text:
        return True
    readers = data()["plain_readers"]
    for segment in text.split("|"):
        words = segment.split(None, 1)
        if not words or words[0] not in readers:
            return True
        if not (text.isascii() and text.isprintable()):
            return True
    return False


# -- the walk --------------------------------------------------------------------------------------


class _Scope:
    """What holds where a command stands: one shell, and the constructs around it."""

    __slots__ = (
        "blind",
        "condition",
        "container",
        "cwd",
        "errexit",
        "fed",
        "old",
        "pipe_fails",
        "piped",
        "pipefail",
        "redirected",
        "remote",
        "stack",
        "text",
        "unsure",
        "values",
    )

    def __init__(self) -> None:
        self.text = ""  # what a pipe feeds, where it stands in the line
        self.values: dict[str, tuple[str, ...]] = {}  # what variables, and the {} of find and xargs, stand for
        self.cwd: str | None = ""
        self.old: str | None = None
        self.stack: tuple[str | None, ...] = ()
        self.errexit = False
        self.pipefail = False
        self.blind = False  # its status cannot reach us
        self.remote = False  # on another machine
        self.container = False
        self.condition = False  # set -e does not hold here
        self.unsure = False  # it may not be reached: options set here do not count
        self.piped = False
        self.pipe_fails = True  # every pipe that it feeds is under pipefail
        self.redirected = False
        self.fed = False

    def copy(self) -> _Scope:
        new = _Scope.__new__(_Scope)
        new.blind = self.blind
        new.condition = self.condition
        new.container = self.container
        new.cwd = self.cwd
        new.errexit = self.errexit
        new.fed = self.fed
        new.old = self.old
        new.pipe_fails = self.pipe_fails
        new.piped = self.piped
        new.pipefail = self.pipefail
        new.redirected = self.redirected
        new.remote = self.remote
        new.stack = self.stack
        new.text = self.text
        new.unsure = self.unsure
        new.values = self.values
        return new


class _Walk:
    def __init__(self, named: Mapping[str, Sequence[str]]) -> None:
        self.named = named
        self.checks: list[Check] = []
        self.hidden: list[bool] = []  # the outcome of this check cannot reach us
        self.zero_hidden: list[bool] = []  # ... at least status 0 says nothing
        self.writes: list[Write] = []
        self.roles: set[str] = set()
        self.harmless = True
        self.followed = 0  # so many checks stand before something that may have changed any file
        self.poll = False
        self.sleeps = 0
        self.others = 0
        self.broken = False
        self.commands = 0
        self.wrapped = False
        self.own: list[str] = []
        self.links: list[str] = []
        self.inline: list[str] = []
        self.trapped = False
        self.inner = 0
        self.printed = ""  # what the last command prints, where it stands in the line
        self.listed: tuple[str, ...] = ()  # the files that it lists
        self.texts: dict[str, str] = {}  # what the line itself writes to files

    # constructs

    def walk(self, part: Part, scope: _Scope) -> None:
        part.lo = len(self.checks)
        kind = part.kind
        if kind == "cmd":
            self.simple(part, scope)
        elif kind == "seq":
            for inner, operator in zip(part.parts, part.ops, strict=False):
                if operator == "&":
                    self.walk(inner, scope.copy())
                else:
                    self.walk(inner, scope)
        elif kind == "andor":
            self.andor(part, scope)
        elif kind == "pipe":
            self.pipe(part, scope)
        elif kind == "not":
            held = scope.condition
            scope.condition = True
            for inner in part.parts:
                self.walk(inner, scope)
            scope.condition = held
        elif kind == "sub":
            inside = scope.copy()
            self.redirects(part, scope, inside)
            part.errexit = scope.errexit and not scope.condition
            for inner in part.parts:
                self.walk(inner, inside)
        elif kind == "group":
            held_redirected = scope.redirected
            self.redirects(part, scope, scope)
            for inner in part.parts:
                self.walk(inner, scope)
            scope.redirected = held_redirected
        elif kind == "if":
            self.branch(part, scope)
        elif kind == "loop":
            self.loop(part, scope)
        elif kind == "case":
            self.alternatives(part, part.parts, scope)
        elif kind == "func":
            inside = scope.copy()
            inside.blind = True
            for inner in part.parts:
                self.walk(inner, inside)
        part.hi = len(self.checks)
        if part.hi > part.lo:
            for write in part.written:
                write.beside = True

    def andor(self, part: Part, scope: _Scope) -> None:
        held, held_unsure = scope.condition, scope.unsure
        last = len(part.parts) - 1
        for place, inner in enumerate(part.parts):
            scope.condition = held or place < last
            if part.ops[place] == "||":
                # reached only where what came before failed
                before = scope.cwd
                scope.unsure = True
                self.walk(inner, scope)
                scope.unsure = held_unsure
                if scope.cwd != before:
                    scope.cwd = None
            else:
                self.walk(inner, scope)
        scope.condition = held

    def pipe(self, part: Part, scope: _Scope) -> None:
        part.errexit = scope.errexit and not scope.condition
        part.pipefail = scope.pipefail
        last = len(part.parts) - 1
        tail_redirected = (
            any(_stdout_to_file(redirect) for redirect in part.parts[last].redirects) if last >= 0 else False
        )
        for place, inner in enumerate(part.parts):
            inside = scope.copy()
            inside.condition = True
            inside.fed = scope.fed or place > 0
            if place < last:
                inside.piped = True
                inside.pipe_fails = scope.pipe_fails and scope.pipefail
                inside.redirected = inside.redirected or tail_redirected
            if place:
                inside.text = self.printed
                inside.values = {**scope.values, "{}": self.listed}
            self.printed, self.listed = "", ()
            fed, first = len(self.checks) > part.lo, len(self.writes)
            self.walk(inner, inside)
            if fed:
                for write in self.writes[first:]:
                    write.beside = write.beside or write.how in ("redirect", "append", "tee")

    def branch(self, part: Part, scope: _Scope) -> None:
        self.redirects(part, scope, scope)
        ends: list[str | None] = []
        for place in range(0, len(part.parts) - 1, 2):
            held, blind, unsure = scope.condition, scope.blind, scope.unsure
            scope.condition = scope.blind = scope.unsure = True
            self.walk(part.parts[place], scope)
            scope.condition, scope.blind, scope.unsure = held, blind, unsure
            inside = scope.copy()
            inside.unsure = True
            self.walk(part.parts[place + 1], inside)
            ends.append(inside.cwd)
        inside = scope.copy()
        inside.unsure = True
        self.walk(part.parts[-1], inside)
        ends.append(inside.cwd)
        scope.cwd = ends[0] if all(end == ends[0] for end in ends) else None

    def alternatives(self, part: Part, parts: Sequence[Part], scope: _Scope) -> None:
        self.redirects(part, scope, scope)
        ends: list[str | None] = [scope.cwd]
        for inner in parts:
            inside = scope.copy()
            inside.unsure = True
            self.walk(inner, inside)
            ends.append(inside.cwd)
        if any(end != ends[0] for end in ends):
            scope.cwd = None

    def loop(self, part: Part, scope: _Scope) -> None:
        inside = scope.copy()
        self.redirects(part, scope, inside)
        inside.blind = inside.unsure = True
        condition = inside.condition
        inside.condition = True
        self.walk(part.parts[0], inside)
        inside.condition = condition
        if part.name:
            inside.values = {**scope.values, part.name: _values(part.words, part.raws)}
        self.walk(part.parts[1], inside)
        if inside.cwd != scope.cwd:
            scope.cwd = None

    # simple commands

    def simple(self, part: Part, scope: _Scope) -> None:
        self.commands += 1
        part.place = self.commands
        part.errexit = scope.errexit and not scope.condition
        if part.subs:
            inside = scope.copy()
            inside.blind = True
            inside.piped = False
            for sub in part.subs:
                self.walk(sub, inside)
        heredoc, fed, quoted, held = "", scope.fed, False, scope.text
        for redirect in part.redirects:
            if redirect.operator == "<" and self.texts:
                scope.text = self.texts.get(_joined(scope.cwd, redirect.target), "")
            if redirect.operator in ("<<", "<<'", "<<<", "<"):
                fed = True
                if redirect.operator.startswith("<<"):
                    heredoc = redirect.text
                    quoted = redirect.operator == "<<'"
        words: Sequence[str] = part.words
        if not words:
            self.redirects(part, scope, scope.copy())
            if part.assigns:
                self.assign(part.text, scope)
            part.sure = part.assigns and not part.subs
            if part.assigns and part.subs:
                part.sure = all(always_zero(sub) for sub in part.subs)
            if not part.redirects:
                self.others += 1
            return
        self.command(part, words, part.raws, scope, fed, heredoc, quoted)
        scope.text = held

    @staticmethod
    def assign(text: str, scope: _Scope) -> None:
        """`F=a.py`: what $F stands for, where that is plain."""
        name, _, value = text.partition("=")
        quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
        value = value[1:-1] if quoted else value
        plain = 0 < len(value) < 1000 and not any(char in value for char in " \t\n$`\"'\\*?[{(~")
        if name.isidentifier() and ((plain and len(scope.values) < MAX_VALUES) or name in scope.values):
            scope.values = {**scope.values, name: (value,) if plain and not scope.unsure else ()}

    def command(
        self,
        part: Part,
        words: Sequence[str],
        raws: Sequence[str],
        scope: _Scope,
        fed: bool,
        heredoc: str,
        quoted: bool,
    ) -> None:
        how = unwrap(words)
        inside = scope
        if how.remote or how.container or how.blind or how.folder is not None or how.xargs:
            inside = scope.copy()
            inside.remote = scope.remote or how.remote
            inside.container = scope.container or how.container
            inside.blind = scope.blind or how.remote or how.blind
            if how.folder is not None:
                inside.cwd = _join(inside.cwd, how.folder)
        if how.exec:
            part.ends = "exec"
        self.wrapped = self.wrapped or how.checked
        if how.script is not None:
            self.redirects(part, scope, inside)
            self.script(part, how.script, inside, isinstance(how.script, Loose), "", subshell=True)
            return
        at = how.at
        argv: list[str] = list(words[at:])
        text = raws[at:]
        if how.xargs:
            argv.append(Loose("{}"))
        kind = named_kind(argv, self.named) if self.named else ""
        name = base_name(argv[0]) if argv else ""
        # a shell within the line
        if not kind and name in SHELLS and not isinstance(argv[0], Loose):
            script, flags = _shell_script(argv)
            if script is None and heredoc and fed and _shell_reads_stdin(argv):
                script = heredoc
            if script is not None:
                self.redirects(part, scope, inside)
                loose = isinstance(script, Loose)
                self.script(part, script, inside, loose, flags, subshell=True)
                return
        if not kind and name == "eval" and len(argv) > 1:
            loose = any(isinstance(word, Loose) for word in argv)
            self.redirects(part, scope, inside)
            self.script(part, " ".join(argv[1:]), inside, loose, "", subshell=False)
            return
        self.note(name, argv, inside)
        if name == "find" and not kind:
            self.find(part, argv, text, inside)
        found = classify(argv, how, fed)
        if found.what == "inline":
            self.inline.append(" ".join(argv[1:]) + "\n" + heredoc)
        if kind:
            found = Found("check", kind if kind in ("test", "build", "lint", "type", "run") else "test", name)
            found.targets = tuple(word for word in argv[1:] if "/" in word and not word.startswith("-"))[:20]
        if how.checked and found.what != "check":
            found = Found(
                "check",
                how.kind if how.kind in ("test", "build", "lint", "type", "run") else "test",
                "unspin check",
            )
        elif how.checked:
            found.runner = "unspin check"
            if how.kind in ("test", "build", "lint", "type", "run") and not kind:
                found.kind = how.kind
        if found.what == "check" and found.kind == "test" and not found.fixes:
            found.fixes = updates_snapshots([*part.text.split("\n"), *words[:at]])
            found.harmless = found.harmless and not found.fixes
        self.builtin(part, name, argv, scope)
        if name == "exec" and part.redirects and len(words) == 1:
            scope.redirected = scope.redirected or any(_stdout_to_file(redirect) for redirect in part.redirects)
        self.settle(part, name, argv, text, found, how, inside, heredoc, quoted)

    def note(self, name: str, argv: Sequence[str], scope: _Scope) -> None:
        """Remember commands of unspin itself, and what is linked to."""
        if name == "ln":
            words = [word for word in argv[1:] if not word.startswith("-")]
            self.links += [_join(scope.cwd, word) or "" for word in words[: max(1, len(words) - 1)]]
            return
        rest = list(argv[1:])
        if name.startswith("python") and rest[:2] == ["-m", "unspin"]:
            rest = rest[2:]
        elif name != "unspin":
            return
        self.own.append(" ".join(rest))

    def builtin(self, part: Part, name: str, argv: Sequence[str], scope: _Scope) -> None:
        """What changes the shell itself."""
        if name in ("cd", "pushd", "chdir"):
            operands = [word for word in argv[1:] if word not in ("--", "-P", "-L")]
            old = scope.cwd
            if name == "pushd":
                scope.stack = (*scope.stack[-20:], old)
            if not operands:
                scope.cwd = "~"
            elif operands[0] == "-":
                scope.cwd = scope.old
            else:
                scope.cwd = _join(scope.cwd, operands[0])
            scope.old = old
        elif name == "popd":
            if scope.stack:
                scope.cwd = scope.stack[-1]
                scope.stack = scope.stack[:-1]
            else:
                scope.cwd = None
        elif name in ("set", "setopt"):
            self.options(argv, scope)
        elif name in ("exit", "return"):
            operand = argv[1] if len(argv) > 1 else "$?"
            part.ends = (
                "$" if operand in ("$?", "${?}") else ("0" if operand == "0" else "1") if operand.isdigit() else "?"
            )
        elif name == "trap":
            self.trapped = True

    def options(self, argv: Sequence[str], scope: _Scope) -> None:
        at = 1
        while at < len(argv):
            word = argv[at]
            if argv[0] == "setopt":
                self.option(word.lower().replace("_", ""), True, scope)
            elif word.startswith(("-", "+")) and len(word) > 1 and not word.startswith("--"):
                on = word[0] == "-"
                if "e" in word[1:]:
                    self.option("errexit", on, scope)
                if word.endswith("o") and at + 1 < len(argv):
                    at += 1
                    self.option(argv[at], on, scope)
            else:
                break
            at += 1

    @staticmethod
    def option(name: str, on: bool, scope: _Scope) -> None:
        if name not in ("errexit", "pipefail"):
            return
        if scope.unsure:
            on = False  # set where it may not be reached: better not relied upon
        setattr(scope, name, on)

    def find(self, part: Part, argv: Sequence[str], text: Sequence[str], scope: _Scope) -> None:
        for flag in ("-exec", "-execdir", "-ok"):
            if flag not in argv:
                continue
            start = argv.index(flag) + 1
            end = next((at for at in range(start, len(argv)) if argv[at] in (";", "+")), len(argv))
            words: list[str] = [Loose(word) if "{}" in word else word for word in argv[start:end]]
            if not words:
                continue
            if self.inner >= MAX_INNER:
                self.broken = True
                return
            inside = scope.copy()
            inside.blind = True
            inside.values = {**scope.values, "{}": _found_by(argv)}
            inner = Part("cmd")
            inner.words = words
            inner.raws = list(text[start:end])
            part.subs.append(inner)
            self.inner += 1
            self.walk(inner, inside)
            self.inner -= 1

    def script(self, part: Part, script: str, scope: _Scope, loose: bool, flags: str, subshell: bool) -> None:
        """A line within the line: `bash -c '...'`, `eval '...'`, `bash <<EOF`."""
        if self.inner >= MAX_INNER:
            self.opaque()
            self.broken = True
            return
        inside = scope.copy() if subshell else scope
        if subshell:
            inside.errexit = "e" in flags.split()
            inside.pipefail = "pipefail" in flags.split()
            inside.condition = False
        tree, broken, commands = build(script)
        self.commands += commands
        if tree is None:
            self.opaque()
            self.broken = True
            return
        before = len(self.checks)
        self.inner += 1
        self.walk(tree, inside)
        self.inner -= 1
        if broken or (loose and not subshell):
            self.opaque()
            for place in range(before, len(self.checks)):
                self.hidden[place] = True
        if loose and not tree.parts:
            self.opaque()
        part.inner = tree
        part.flags = "sub" if subshell else "eval"

    def settle(
        self,
        part: Part,
        name: str,
        argv: Sequence[str],
        text: Sequence[str],
        found: Found,
        how: Unwrapped,
        scope: _Scope,
        heredoc: str,
        quoted: bool,
    ) -> None:
        fed_text = heredoc or (scope.text or self.texts.get(_joined(scope.cwd, _diff_file(argv)), ""))
        given = fed_text if name in ("patch", "git") else heredoc
        written = [] if scope.remote or scope.container else writes_of(name, argv, given)
        if found.what == "format" or (found.what == "check" and found.fixes):
            kind = found.kind
            if kind in ("test", "type"):
                written = [*written, Write("", "write", "snapshots" if kind == "test" else "baseline")]
            else:
                named = [
                    path for path in found.targets if "." in path.rsplit("/", 1)[-1].lstrip(".") and "*" not in path
                ]
                written = [
                    *written,
                    *([Write(path, "write", "formatter") for path in named] or [Write("", "write", "formatter")]),
                ]
        safe = True
        globs = {word for word, raw in zip(argv, text, strict=False) if raw == word and _has_glob(word)}
        if name == "find":
            for write in written:
                write.covers = _found_by(argv)
        if len(self.writes) < MAX_WRITES:
            written = [each for write in written for each in _resolved(write, scope, globs)]
        for write in written:
            loose = isinstance(write.path, Loose)
            whole = not loose and write.path == ""
            if whole and write.change == "revert" and name == "git":
                folder = next((argv[at + 1] for at in range(1, len(argv) - 1) if argv[at] == "-C"), ".")
                write.covers = (folder + "/",)
            write.covers = tuple(_rejoined(scope.cwd, each) for each in write.covers)
            if not whole:
                write.path = _joined(scope.cwd, write.path)
            if write.path in _NOWHERE:
                continue
            safe = safe and _safe(write.path)
            self.add(write)
        texts = ""
        if name in ("echo", "printf"):
            texts = _echoed(name, argv)
        elif name == "cat" and heredoc and not [word for word in argv[1:] if not word.startswith("-")]:
            texts = heredoc
        elif name == "cat" and len(argv) == 2 and self.texts:
            texts = self.texts.get(_joined(scope.cwd, argv[1]), "")
        self.printed = texts
        self.listed = ()
        if name in ("echo", "printf", "ls"):
            operands = [at for at in range(1, len(argv)) if not argv[at].startswith("-")]
            if name == "printf" and operands and "%" in argv[operands[0]]:
                operands = operands[1:]
            pieces = [piece for at in operands for piece in argv[at].replace("\\n", " ").split()]
            if not any(isinstance(argv[at], Loose) for at in operands):  # nor what xargs adds, which text has not
                raws = [text[at] for at in operands] if len(operands) == len(pieces) else pieces
                self.listed = _values(pieces, raws)
        elif name == "find":
            self.listed = _found_by(argv)
        redirected, unsafe = self.redirects(
            part, scope, None, texts, "heredoc" if heredoc and name == "cat" else "redirect"
        )
        if unsafe:
            self.harmless = False
        if not (found.harmless or (written and name not in ("git", "scp"))) or not safe:
            self.harmless = False
        if scope.remote and not found.harmless:
            self.harmless = False
        elif not found.harmless and not any(write.path for write in written) and not _keeps_files(name, argv):
            self.opaque()
        what = found.what
        if what == "check":
            self.check(part, argv, text, found, how, scope, redirected)
        else:
            self.others += 0 if name in ("sleep", "wait", "true", ":") else 1
            self.sleeps += 1 if name in ("sleep", "wait", "true", ":") else 0
        if found.poll or name in ("sleep", "wait"):
            self.poll = True
        if what in ("read", "quiet", "poll"):
            role = "other" if (written and what != "quiet") or (redirected and unsafe) else "read"
        elif what == "format":
            role = "other"
        else:
            role = what
        self.roles.add(role)
        part.sure = found.sure or (name in ("true", ":", "sleep") and what != "check")
        if (name == "cat" and len(argv) == 1) or name == "tee":
            part.sure = True
        part.sure_after = part.sure or (what == "read" and name in data()["sure_after"])
        if name == "false":
            part.ends = "false"
        if name == "yes" or name == "grep":
            part.sure_after = False

    def check(
        self,
        part: Part,
        argv: Sequence[str],
        text: Sequence[str],
        found: Found,
        how: Unwrapped,
        scope: _Scope,
        redirected: bool,
    ) -> None:
        if len(self.checks) >= MAX_CHECKS:
            self.others += 1
            self.broken = True
            return
        part.check = len(self.checks)
        folder = scope.cwd
        self.checks.append(
            Check(
                found.kind,
                _command_text(text),
                found.runner,
                str(found.script),
                tuple(str(target) for target in found.targets),
                piped=scope.piped,
                pipefail=scope.piped and scope.pipe_fails,
                usage_exits=found.usage_exits,
                output_redirected=redirected or scope.redirected,
                folder=folder,
            )
        )
        self.hidden.append(scope.blind)
        self.zero_hidden.append(how.xargs)

    def redirects(
        self,
        part: Part,
        scope: _Scope,
        inside: _Scope | None,
        text: str = "",
        how: str = "redirect",
    ) -> tuple[bool, bool]:
        """Writes of the redirects of a part: is its output sent to a file, does one write within the tree."""
        redirected = unsafe = False
        for redirect in part.redirects:
            operator = redirect.operator
            if operator in ("<", "<<", "<<'", "<<<", "<&", "<&-", ">&-", "<>"):
                continue
            target = redirect.target
            if operator in (">&", "&>") and (target.isdigit() or target == "-"):
                continue
            if operator == ">&" and redirect.descriptor and target.isdigit():
                continue
            if _stdout_to_file(redirect):
                redirected = True
            if target in _NOWHERE:
                continue
            if isinstance(target, Loose) and target.startswith((">(", "<(")):
                continue
            if scope.remote:
                continue
            appended = operator in (">>", "&>>")
            content = text if _stdout_to_file(redirect) else ""
            raw = Write("", "write", ("append" if appended else how), content)
            raw.path = target
            for write in _resolved(raw, scope, ()):
                write.path = _joined(scope.cwd, write.path)
                write.covers = tuple(_rejoined(scope.cwd, each) for each in write.covers)
                part.written.append(write)
                self.add(write)
                if content and write.path and len(self.texts) < MAX_COMMANDS:
                    self.texts[write.path] = content
                if not _safe(write.path):
                    unsafe = True
        if inside is not None:
            if redirected:
                inside.redirected = True
            if unsafe:
                self.harmless = False
                self.roles.add("other")
        return redirected, unsafe

    def opaque(self) -> None:
        """What stands here may change files that nobody can name."""
        self.harmless = False
        self.followed = len(self.checks)

    def add(self, write: Write) -> None:
        write.beside = write.change == "delete" and not self.checks
        if len(self.writes) < MAX_WRITES:
            self.writes.append(write)


def _keeps_files(name: str, argv: Sequence[str]) -> bool:
    """Does a command of version control leave the files of the work tree as they are: `git commit`, `gh pr create`?"""
    if name == "git":
        return next(iter(git_words(argv)[0]), "") in data()["git_keeps_files"]
    return name == "gh" and not any(word in ("checkout", "co", "clone", "download", "sync", "fork") for word in argv)


def _has_glob(word: str) -> bool:
    return "*" in word or "?" in word or "[" in word or "{" in word


def _values(words: Sequence[str], raws: Sequence[str]) -> tuple[str, ...]:
    """Literal words and patterns; nothing where one of them is not known."""
    if len(words) > MAX_VALUES or any(isinstance(word, Loose) for word in words):
        return ()
    return tuple(
        Glob(word) if raw == word and _has_glob(word) else word for word, raw in zip(words, raws, strict=False)
    )


def _found_by(argv: Sequence[str]) -> tuple[str, ...]:
    """The files that a plain `find` finds: by name and type only, so that nothing is said too much."""
    at = 1
    while at < len(argv) and not argv[at].startswith(("-", "(", "!")):
        at += 1
    folders = list(argv[1:at]) or ["."]
    name = "*"
    while at + 1 < len(argv) and argv[at] not in ("-exec", "-execdir", "-ok", "-print", "-print0", "-delete"):
        if argv[at] == "-name" and name == "*":
            name = argv[at + 1]
        elif not (argv[at] == "-type" and argv[at + 1] == "f"):
            return ()
        at += 2
    if any(isinstance(word, Loose) for word in (*folders, name)) or len(folders) > MAX_VALUES:
        return ()
    return tuple(Glob(folder.rstrip("/") + "/**/" + name) for folder in folders)


def _diff_file(argv: Sequence[str]) -> str:
    """The file of `patch -i FILE` and `git apply FILE`."""
    if argv[:1] == ["patch"]:
        return next((argv[at + 1] for at in range(len(argv) - 1) if argv[at] in ("-i", "--input")), "/")
    return argv[-1] if argv[1:2] in (["apply"], ["am"]) and len(argv) > 2 and argv[-1][0:1] != "-" else "/"


def _resolved(write: Write, scope: _Scope, globs: Collection[str]) -> list[Write]:
    """A write once for each file that its variable or placeholder stands for; patterns say what they cover."""
    path = write.path
    if not isinstance(path, Loose):
        if path in globs:
            write.covers = _braces(path)
        return [write]
    for name, values in scope.values.items():
        for mark in ("{}",) if name == "{}" else ("$" + name, "${" + name + "}"):
            start, found, rest = path.partition(mark)
            if not found or not values or "$" in start + rest or "`" in start + rest:
                continue
            if mark == "$" + name and (rest[:1].isalnum() or rest[:1] == "_"):
                continue
            result: list[Write] = []
            covers: list[str] = []
            for value in values:
                if isinstance(value, Glob):
                    covers.extend(_braces(start + value + rest))
                else:
                    result.append(
                        Write(start + value + rest, write.change, write.how, write.text, write.script, write.source)
                    )
            if covers:
                write.covers = tuple(covers[:MAX_VALUES])
                result.append(write)
            return result
    return [write]


def _braces(pattern: str) -> tuple[str, ...]:
    """`{a,b}.py` as the patterns that it stands for."""
    found = [pattern]
    for _ in range(4):
        if not any("{" in each for each in found) or len(found) > MAX_VALUES:
            break
        grown: list[str] = []
        for each in found:
            start, opened, rest = each.partition("{")
            inner, closed, end = rest.partition("}")
            if opened and closed and "," in inner and "{" not in inner:
                grown.extend(start + piece + end for piece in inner.split(",")[:MAX_VALUES])
            else:
                grown.append(each)
        if grown == found:
            break
        found = grown
    return tuple(found[:MAX_VALUES])


def _rejoined(folder: str | None, pattern: str) -> str:
    """A pattern seen from where the line starts; "" where its folder is not known."""
    joined = _joined(folder, pattern.rstrip("/") or "/")
    return joined + "/" if joined and pattern.endswith("/") else joined


_NOWHERE = frozenset(("/dev/null", "/dev/stderr", "/dev/stdout", "/dev/tty", "/dev/fd/1", "/dev/fd/2"))


def _stdout_to_file(redirect: Redirect) -> bool:
    if redirect.operator in ("&>", "&>>"):
        return True
    if redirect.operator in (">", ">>", ">|"):
        return redirect.descriptor in ("", "1") and redirect.target not in (
            "/dev/stderr",
            "/dev/stdout",
            "/dev/tty",
        )
    return (
        redirect.operator == ">&"
        and not redirect.descriptor
        and not redirect.target.isdigit()
        and redirect.target != "-"
    )


def _command_text(raws: Sequence[str]) -> str:
    pieces: list[str] = []
    size = 0
    for raw in raws:
        piece = " ".join(raw[: MAX_COMMAND + 1].replace("\\\n", " ").split())
        pieces.append(piece)
        size += len(piece) + 1
        if size > MAX_COMMAND:
            break
    return " ".join(pieces)[:MAX_COMMAND]


def _echoed(name: str, argv: Sequence[str]) -> str:
    at = 1
    while at < len(argv) and name == "echo" and argv[at] in ("-e", "-n", "-E", "-en", "-ne"):
        at += 1
    if name == "printf" and at < len(argv) and argv[at] == "--":
        at += 1
    pieces: list[str] = []
    size = 0
    for word in argv[at:]:
        pieces.append(word)
        size += len(word)
        if size > MAX_TEXT:
            break
    return " ".join(pieces)


def _shell_script(argv: Sequence[str]) -> tuple[str | None, str]:
    """The script of `bash -c SCRIPT`, and the options given with it ("e", "pipefail")."""
    flags: list[str] = []
    at = 1
    given = False
    while at < len(argv):
        word = argv[at]
        if not word.startswith(("-", "+")) or word in ("-", "--"):
            break
        if word in ("-o", "+o", "-O"):
            if at + 1 < len(argv) and word == "-o":
                flags.append({"errexit": "e"}.get(argv[at + 1], argv[at + 1]))
            at += 2
            continue
        if word.startswith("--"):
            at += 2 if word in ("--rcfile", "--init-file") else 1
            continue
        cluster = word[1:]
        if "e" in cluster and word[0] == "-":
            flags.append("e")
        if "c" in cluster:
            given = True
        at += 1
        if "o" in cluster and at < len(argv):
            flags.append({"errexit": "e"}.get(argv[at], argv[at]))
            at += 1
    if given:
        return (argv[at] if at < len(argv) else "", " ".join(flags))
    return None, " ".join(flags)


def _shell_reads_stdin(argv: Sequence[str]) -> bool:
    operands = [word for word in argv[1:] if not word.startswith("-") or word == "-"]
    return not operands or operands[0] == "-" or "-s" in argv


def _join(folder: str | None, path: str) -> str | None:
    """`path` seen from `folder`; None where it cannot be known. Links are not followed."""
    if folder is not None and len(folder) > MAX_FOLDER:
        return None
    if isinstance(path, Loose):
        for mark in ("$HOME", "${HOME}"):
            if path == mark or path.startswith(mark + "/"):
                rest = path[len(mark) :]
                return None if "$" in rest or "`" in rest else "~" + rest
        for mark in ("$PWD", "${PWD}", "$(pwd)", "`pwd`"):
            if path == mark or path.startswith(mark + "/"):
                rest = path[len(mark) + 1 :]
                return None if "$" in rest or "`" in rest else _join(folder, "./" + rest)
        return None
    if path.startswith("~"):
        return path
    if not path:
        return folder
    if path.startswith("/"):
        return _normal(path)
    if folder is None:
        return None
    if folder.startswith("~"):
        return folder.rstrip("/") + "/" + (_normal(path) or ".")
    return _normal(folder.rstrip("/") + "/" + path if folder else path) if folder != "/" else _normal("/" + path)


def _joined(folder: str | None, path: str) -> str:
    """`_join` for files: "." for the folder of the start itself, "" where unknowable."""
    found = _join(folder, path)
    if found is None or (not path and not isinstance(path, Loose)):
        return ""
    return found or "."


def _normal(path: str) -> str:
    """Takes out "." and "name/..": the folder of the start is ""."""
    rooted = path.startswith("/")
    kept: list[str] = []
    for piece in path.split("/"):
        if piece in ("", "."):
            continue
        if piece == ".." and kept and kept[-1] != "..":
            kept.pop()
        elif piece == ".." and rooted:
            continue
        else:
            kept.append(piece)
    joined = "/".join(kept)
    return "/" + joined if rooted else joined


def _safe(path: str) -> bool:
    return path.startswith(("/tmp/", "/var/tmp/", "/dev/", "/private/tmp/", "/private/var/folders/", "/var/folders/"))


def _chain(tree: Part, checks: Sequence[Check], places: Mapping[int, int]) -> None:
    """Say what would show which check of a chain failed: `make && ./a`, `build && test`, `cmake .. && make`."""
    chain = [number for number, check in enumerate(checks) if check.on_nonzero == "perhaps"]
    if len(chain) < 1:
        return
    lints = False
    for number in chain:
        check = checks[number]
        if check.kind in ("build", "type"):
            # what comes first and may print the like leaves it open
            check.proofs = ("typescript",) if lints else ("diagnostic",)
            break
        if check.kind != "lint":
            break
        lints = True
    if len(chain) < 2 or not proves_failure(tree, frozenset(chain), places[chain[0]]):
        return
    kinds = [checks[number].kind for number in chain]
    exits = tuple(dict.fromkeys(status for number in chain for status in checks[number].usage_exits))
    if len(set(kinds)) == 1:
        carrier = checks[_carrier(checks, chain)]
        carrier.proofs = (*carrier.proofs, "kind")
        carrier.usage_exits = exits
        return
    runs = [number for number in chain if checks[number].kind == "run"]
    builds = [number for number in chain if checks[number].kind in ("build", "type")]
    if any(checks[number].runner.split(" ")[0] not in _COMPILERS for number in builds):
        return  # a build script's own errors look like a program's
    if runs and len(runs) + len(builds) == len(chain) and max(builds) < min(runs):
        carrier = checks[_carrier(checks, runs)]
        carrier.proofs = (*carrier.proofs, "error")


_COMPILERS = frozenset(
    (
        "gcc", "g++", "cc", "c++", "clang", "clang++", "rustc", "javac", "ghc", "nvcc", "gfortran", "kotlinc", "swiftc",
        "go", "cargo", "tsc", "make", "cmake", "ninja", "zig", "csc", "mcs", "swift", "scalac", "nim", "ocamlc",
    )
)  # fmt: skip


def _carrier(checks: Sequence[Check], chain: Sequence[int]) -> int:
    """The check of a chain that stands for all: one that is meant to fail before any other."""
    from .roles import file_role

    return next((number for number in chain if file_role(checks[number].script) == "scratch"), chain[0])


def _read(command: str, named: Mapping[str, Sequence[str]]) -> Line:
    if not named and not worth_parsing(command):
        return Line()
    tree, broken, commands = build(command)
    if tree is None:
        return _unknown_line()
    walk = _Walk(named)
    scope = _Scope()
    walk.walk(tree, scope)
    broken = broken or walk.broken
    if broken:
        walk.harmless = False
    if not broken and not walk.trapped and max(commands, walk.commands) <= MAX_COMMANDS and walk.checks:
        places: dict[int, int] = {}
        places_of(tree, places)
        for number, check in enumerate(walk.checks):
            if walk.hidden[number] or number not in places:
                continue
            check.on_zero, check.on_nonzero = judge(tree, number, places[number])
            if walk.zero_hidden[number]:
                check.on_zero = "unknown"
        _chain(tree, walk.checks, places)
    for check in walk.checks if broken else walk.checks[: walk.followed]:
        check.followed = True
    role = "read"
    for candidate in ("check", "server", "install", "inline", "vcs", "other"):
        if candidate in walk.roles:
            role = candidate
            break
    polls = walk.poll and not any(check.kind != "run" for check in walk.checks)
    return Line(
        checks=tuple(walk.checks),
        writes=tuple(walk.writes),
        polls=polls,
        only_sleeps=walk.sleeps > 0 and walk.others == 0 and not walk.checks and not walk.writes and not broken,
        harmless=walk.harmless,
        role=role,
        background=bool(tree.ops) and tree.ops[-1] == "&",
        cwd=scope.cwd,
        shell_checks_wrapped=walk.wrapped,
        own=tuple(walk.own),
        links=tuple(walk.links),
        inline=tuple(walk.inline),
    )
