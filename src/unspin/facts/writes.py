"""Which files a simple shell command writes, reverts, moves or deletes, as far as its words say it.

What a program does inside itself (`python -c`, a script, a formatter's own choice of files) is not seen: a
path that cannot be known is "". Redirects are read by the walk in `shell.py`, which also joins paths with the
`cd`s before them.
"""

from __future__ import annotations

from .runners import Loose, _has_extension, _operands, git_words, in_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_TEXT = 20_000


class Glob(str):
    """A word that the shell or `find` turns into the files that it matches; `**` stands for any folders."""

    __slots__ = ()


class Write:
    """A file that a shell line changes. All strings; "" where it cannot be known."""

    __slots__ = ("beside", "change", "covers", "how", "path", "script", "source", "text")

    def __init__(
        self,
        path: str,
        change: str = "write",
        how: str = "",
        text: str = "",
        script: str = "",
        source: str = "",
        covers: tuple[str, ...] = (),
    ) -> None:
        self.path = path  # relative to the folder where the line starts, or absolute
        self.change = change  # "write", "revert", "delete" or "move" (the source of a move)
        self.how = how  # "redirect", "tee", "sed -i", "mv", "git checkout", ...
        self.text = text[:MAX_TEXT]  # the new content where it stands in the line
        self.script = script[:MAX_TEXT]  # the expressions of sed or perl
        self.source = source  # what `cp` or `mv` puts there, as written
        self.beside = False  # takes what a check prints, or clears away before one: the check itself edits nothing
        self.covers = covers  # patterns of the files that it may be; with a slash at the end, a folder

    def __repr__(self) -> str:
        return f"Write({self.path!r}, {self.change!r}, {self.how!r}, {self.text[:40]!r}, {self.script[:40]!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Write) and all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash((self.path, self.change, self.how))


def writes_of(name: str, words: Sequence[str], heredoc: str) -> list[Write]:
    """The writes of the command `name` with these words (words[0] is the command); paths not yet joined."""
    reader = _READERS.get(name)
    return reader(name, words, heredoc) if reader is not None else []


def _each(paths: Sequence[str], change: str, how: str, script: str = "", text: str = "") -> list[Write]:
    return [
        Write(path, change, how, text, script)
        if not isinstance(path, Loose)
        else _loose_write(path, change, how, text, script)
        for path in paths[:200]
    ]


def _loose_write(path: str, change: str, how: str, text: str = "", script: str = "") -> Write:
    write = Write("", change, how, text, script)
    write.path = Loose(path)
    return write


def _tee(name: str, words: Sequence[str], heredoc: str) -> list[Write]:
    return _each(_operands(words[1:]), "write", name, text=heredoc)


def _sed(name: str, words: Sequence[str], heredoc: str) -> list[Write]:
    if not in_place(words):
        return []
    scripts: list[str] = []
    files: list[str] = []
    scripted = False
    at, end = 1, len(words)
    options = True
    while at < end:
        word = words[at]
        if options and word == "--":
            options = False
        elif options and word.startswith("--"):
            if word.startswith("--expression"):
                scripted = True
                scripts.append(word.partition("=")[2] or (words[at + 1] if at + 1 < end else ""))
                at += 0 if "=" in word else 1
            elif word.startswith("--file"):
                scripted = True
                at += 0 if "=" in word else 1
        elif options and word.startswith("-") and len(word) > 1:
            cluster = word[1:]
            edit = cluster.find("i")
            expression = min((place for place in (cluster.find("e"), cluster.find("f")) if place >= 0), default=-1)
            if expression >= 0 and not 0 <= edit < expression - (1 if edit == 0 else 0):
                scripted = True
                rest = cluster[expression + 1 :]
                if not rest:
                    at += 1
                    rest = words[at] if at < end else ""
                if cluster[expression] == "e":
                    scripts.append(rest)
            elif cluster.endswith("i") and at + 1 < end and words[at + 1] == "":
                at += 1
        else:
            files.append(word)
        at += 1
    if not scripted and files:
        scripts.append(files.pop(0))
    return _each(files or [Loose("")], "write", "sed -i", "\n".join(scripts))


def _perl(name: str, words: Sequence[str], heredoc: str) -> list[Write]:
    if not in_place(words):
        return []
    scripts: list[str] = []
    files: list[str] = []
    scripted = False
    at, end = 1, len(words)
    while at < end:
        word = words[at]
        if word.startswith("-") and len(word) > 1 and not files:
            cluster = word[1:]
            if cluster[0] in "IM":
                at += 0 if len(cluster) > 1 else 1
            elif cluster.endswith(("e", "E")) and not word.startswith("--"):
                scripted = True
                at += 1
                scripts.append(words[at] if at < end else "")
        else:
            files.append(word)
        at += 1
    if not scripted:
        return []
    return _each(files or [Loose("")], "write", name + " -i", "\n".join(scripts))


def _awk(name: str, words: Sequence[str], heredoc: str) -> list[Write]:
    if "inplace" not in words:
        return []
    operands = _operands(words[1:], ("-i", "-v", "-F", "-f"))
    scripted = "-f" in words
    return _each(
        operands if scripted else operands[1:],
        "write",
        "awk -i inplace",
        "" if scripted else "".join(operands[:1]),
    )


def _copy(name: str, words: Sequence[str], heredoc: str) -> list[Write]:
    values = {
        "install": ("-m", "-o", "-g", "-t", "--mode", "--owner", "--group"),
        "rsync": ("-e", "--exclude", "--include", "--filter", "-f", "--rsh", "--exclude-from"),
        "ln": ("-t",),
        "cp": ("-t", "-S"),
        "mv": ("-t", "-S"),
        "scp": ("-i", "-P", "-o", "-F"),
    }.get(name, ())
    operands = _operands(words[1:], values)
    if "--" in words:
        operands += list(words[words.index("--") + 1 :])
    folder = next((words[at + 1] for at in range(len(words) - 1) if words[at] in ("-t", "--target-directory")), None)
    if name == "install" and "-d" in words:
        return []
    if name == "rsync" and ("-n" in words or "--dry-run" in words):
        return []
    result: list[Write] = []
    if folder is not None:
        sources, target, inside = operands, folder, True
    elif len(operands) >= 2:
        sources, target = operands[:-1], operands[-1]
        inside = target.endswith("/") or target in (".", "..", "~") or len(sources) > 1
    elif name == "ln" and len(operands) == 1:
        sources, target, inside = operands, ".", True
    else:
        return []
    if name in ("scp", "rsync") and ":" in target and not target.startswith(("/", ".")):
        return []
    for source in sources[:100]:
        if name == "mv":
            result.extend(_each([source], "move", "mv"))
        last = source.rstrip("/").rsplit("/", 1)[-1]
        loose = isinstance(source, Loose) or isinstance(target, Loose)
        joined = target.rstrip("/") + "/" + last if target != "/" else "/" + last
        if name == "rsync" and source.endswith("/"):
            joined = target
        within: str = Loose(joined) if loose else joined
        before = len(result)
        if inside:
            result.extend(_each([within], "write", name))
        else:
            result.extend(_each([target], "write", name))
            if (
                not _has_extension(target.rsplit("/", 1)[-1])
                and "-T" not in words
                and within != target
                and name != "install"
            ):
                result.extend(_each([within], "write", name))
        for write in result[before:]:
            write.source = str(source)
    return result


def _dd(name: str, words: Sequence[str], heredoc: str) -> list[Write]:
    return [
        _loose_write(word[3:], "write", "dd") if isinstance(word, Loose) else Write(word[3:], "write", "dd")
        for word in words
        if word.startswith("of=")
    ]


def _truncate(name: str, words: Sequence[str], heredoc: str) -> list[Write]:
    return _each(_operands(words[1:], ("-s", "--size", "-r", "-d", "-t")), "write", name)


def _patch(name: str, words: Sequence[str], heredoc: str) -> list[Write]:
    if "--dry-run" in words:
        return []
    operands = _operands(words[1:], ("-p", "-i", "-d", "-o", "-D", "-F", "-B", "-z", "-r", "--input"))
    if not operands and heredoc:
        found = _patched(heredoc, words, "patch", None)
        folder = next((words[at + 1] for at in range(len(words) - 1) if words[at] in ("-d", "--directory")), "")
        for write in found:
            write.path = folder.rstrip("/") + "/" + write.path if folder else write.path
        if found:
            return found
    return _each(operands[:1] or [""], "write", "patch", text=heredoc)


def _patched(text: str, words: Sequence[str], how: str, strip: int | None) -> list[Write]:
    """The files that a diff names: `+++ b/x` with as many folders off as `-p` says."""
    for at, word in enumerate(words):
        value = word[2:] or (words[at + 1] if at + 1 < len(words) else "") if word.startswith("-p") else ""
        value = word.partition("=")[2] if word.startswith("--strip=") else value
        if value.isdigit():
            strip = min(int(value), 20)
    result: list[Write] = []
    old = ""
    for line in text[: 4 * MAX_TEXT].split("\n"):
        if line.startswith("--- "):
            old = line[4:].split("\t")[0].strip()
        elif line.startswith("+++ ") and old:
            new = line[4:].split("\t")[0].strip()
            gone = new == "/dev/null"
            path = old if gone else new
            old = ""
            if strip is None:
                path = path[2:] if path.startswith(("a/", "b/")) else path
            else:
                path = "/".join(path.split("/")[strip:])
            if path and len(result) < 200:
                result.append(Write(path, "delete" if gone else "write", how))
    return result


def _remove(name: str, words: Sequence[str], heredoc: str) -> list[Write]:
    operands = _operands(words[1:])
    if "--" in words:
        operands += list(words[words.index("--") + 1 :])
    return _each(operands, "delete", name)


def _find(name: str, words: Sequence[str], heredoc: str) -> list[Write]:
    if "-delete" not in words:
        return []
    start = words[1] if len(words) > 1 and not words[1].startswith(("-", "(", "!")) else "."
    if isinstance(start, Loose):
        return _each([start], "delete", "find -delete")
    return [Write(start.rstrip("/") + "/*", "delete", "find -delete")]


def _editor(name: str, words: Sequence[str], heredoc: str) -> list[Write]:
    if name in ("vim", "vi", "nvim") and not any(
        word in ("-c", "-es", "-Es", "-s") or word.startswith("+") for word in words
    ):
        return []
    return _each(
        [word for word in _operands(words[1:], ("-c", "-S", "-u", "-p")) if not word.startswith("+")],
        "write",
        name,
        script=heredoc,
    )


def _curl(name: str, words: Sequence[str], heredoc: str) -> list[Write]:
    result: list[str] = []
    for at, word in enumerate(words):
        following = words[at + 1] if at + 1 < len(words) else ""
        if name == "curl":
            if word in ("-o", "--output") or (
                word.startswith("-") and not word.startswith("--") and word.endswith("o") and word[1:].isalpha()
            ):
                result.append(following)
            elif word.startswith("--output="):
                result.append(word[9:])
            elif word in ("-O", "--remote-name") or (
                word.startswith("-") and not word.startswith("--") and word.endswith("O") and word[1:].isalpha()
            ):
                url = next((part for part in reversed(words) if "/" in part and not part.startswith("-")), "")
                result.append("" if isinstance(url, Loose) else url.split("?")[0].rstrip("/").rsplit("/", 1)[-1])
        elif word in ("-O", "-qO", "--output-document") and following != "-":
            result.append(following)
        elif word.startswith("-O") and len(word) > 2 and word != "-O-":
            result.append(word[2:])
    if name == "wget" and not result and not any(word in ("--spider", "-qO-", "-O-", "-O", "-qO") for word in words):
        url = next((part for part in reversed(words) if "/" in part and not part.startswith("-")), "")
        result.append("" if isinstance(url, Loose) else url.split("?")[0].rstrip("/").rsplit("/", 1)[-1])
    return _each([path for path in result if path != "-"], "write", name)


def _unpack(name: str, words: Sequence[str], heredoc: str) -> list[Write]:
    if name == "tar":
        modes = words[1].lstrip("-") if len(words) > 1 else ""
        if "--extract" in words or ("x" in modes and not words[1].startswith("--")):
            return [Write("", "write", "tar")]
        if "f" in modes and "c" in modes and len(words) > 2:
            return _each([words[2]], "write", "tar")
        return []
    if any(word in ("-l", "-t", "-p", "-Z", "-v") for word in words) and name == "unzip":
        return []
    if "-c" in words or "--stdout" in words:
        return []
    if name in ("gzip", "gunzip", "bzip2", "xz", "zstd"):
        return _each(_operands(words[1:]), "write", name)
    return [Write("", "write", name)]


def _last_file(name: str, words: Sequence[str], heredoc: str) -> list[Write]:
    """Commands that edit the files that come after their other operands: sponge f, sd a b f, yq -i e f."""
    operands = _operands(words[1:], ("-f", "-n"))
    if name == "sponge":
        return _each(operands, "write", name)
    if name == "sd":
        return (
            _each(operands[2:], "write", name, script=" ".join(operands[:2]))
            if not any(word in ("-p", "--preview") for word in words)
            else []
        )
    if name == "yq":
        if any(
            word in ("-i", "--inplace", "--in-place")
            or (word.startswith("-") and not word.startswith("--") and "i" in word)
            for word in words[1:]
        ):
            return _each(operands[1:], "write", "yq -i", script=" ".join(operands[:1]))
        return []
    if name == "sort":
        for at, word in enumerate(words):
            if word in ("-o", "--output") and at + 1 < len(words):
                return _each([words[at + 1]], "write", "sort -o")
            if word.startswith("-o") and len(word) > 2:
                return _each([word[2:]], "write", "sort -o")
        return []
    if name in ("ast-grep", "sg"):
        return [Write("", "write", name)] if "-U" in words or "--update-all" in words else []
    return [Write("", "write", name)]


def _apply_patch(name: str, words: Sequence[str], heredoc: str) -> list[Write]:
    body = heredoc or (words[1] if len(words) > 1 else "")
    result: list[Write] = []
    sections: list[tuple[str, str, list[str]]] = []
    for line in body.split("\n"):
        for mark, change in (
            ("*** Update File: ", "write"),
            ("*** Add File: ", "write"),
            ("*** Delete File: ", "delete"),
            ("*** Move to: ", "write"),
        ):
            if line.startswith(mark):
                sections.append((line[len(mark) :].strip(), change, []))
                break
        else:
            if sections:
                sections[-1][2].append(line)
    for path, change, lines in sections[:200]:
        result.append(Write(path, change, "apply_patch", "\n".join(lines)))
    return result or [Write("", "write", "apply_patch", body)]


_BRANCHES = (
    "feature",
    "feat",
    "fix",
    "bugfix",
    "hotfix",
    "release",
    "releases",
    "origin",
    "upstream",
    "chore",
    "refactor",
    "dependabot",
    "pr",
    "user",
    "users",
    "claude",
    "codex",
    "copilot",
    "cursor",
    "refs",
    "task",
    "wip",
)
_NOT_PATHS = ("HEAD", "FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD", "-")


def _pathlike(word: str) -> bool:
    if word in (".", "..", ":/") or word.startswith((":", "./", "../", "/")) or word.endswith("/") or "*" in word:
        return True
    if word.startswith(_NOT_PATHS):
        return False
    if _has_extension(word.rsplit("/", 1)[-1]):
        return True
    return "/" in word and word.split("/", 1)[0] not in _BRANCHES


def _git(name: str, words: Sequence[str], heredoc: str) -> list[Write]:
    rest, folder = git_words(words)
    if not rest:
        return []
    found = _git_change(rest[0], rest[1:], heredoc)
    if folder:
        for write in found:
            # a write of the whole tree stays ""
            if isinstance(write.path, Loose) or isinstance(folder, Loose):
                write.path = Loose(write.path)
            elif write.path and not write.path.startswith(("/", "~")):
                write.path = folder.rstrip("/") + "/" + write.path
    return found


def _git_change(sub: str, args: Sequence[str], heredoc: str) -> list[Write]:
    after = list(args[args.index("--") + 1 :]) if "--" in args else None
    if sub == "checkout":
        if any(word in ("-b", "-B", "--orphan", "--detach", "-t", "--track", "--help") for word in args):
            return []
        if after is not None:
            return _each(after, "revert", "git checkout")
        operands = _operands(args, ("--conflict", "--pathspec-from-file"))
        if len(operands) > 1 and (operands[0].startswith(_NOT_PATHS) or not _pathlike(operands[0])):
            return _each(operands[1:], "revert", "git checkout")
        paths = [word for word in operands if isinstance(word, Loose) or _pathlike(word)]
        if len(operands) == 1 and isinstance(operands[0], Loose) and not _pathlike(operands[0]):
            return []
        return _each(paths, "revert", "git checkout")
    if sub == "restore":
        staged = any(word in ("--staged", "-S") for word in args)
        if staged and not any(word in ("--worktree", "-W", "-SW", "-WS") for word in args):
            return []
        paths = _operands(args, ("-s", "--source", "--conflict")) + (after or [])
        return _each(paths or [""], "revert", "git restore")
    if sub == "stash":
        first = args[0] if args else "push"
        if first in ("list", "show", "drop", "clear", "create", "store", "branch", "--help"):
            return []
        return _each(after or [""], "revert", "git stash")
    if sub == "reset":
        return (
            [Write("", "revert", "git reset")] if any(word in ("--hard", "--merge", "--keep") for word in args) else []
        )
    if sub == "clean":
        dry = any(
            word in ("-n", "--dry-run") or (word.startswith("-") and not word.startswith("--") and "n" in word)
            for word in args
        )
        forced = any(
            word == "--force" or (word.startswith("-") and not word.startswith("--") and "f" in word) for word in args
        )
        return [Write("", "delete", "git clean")] if forced and not dry else []
    if sub == "rm":
        return [] if "--cached" in args or "-n" in args else _each(_operands(args) + (after or []), "delete", "git rm")
    if sub == "mv":
        found = _copy("mv", ["mv", *args], "")
        for write in found:
            write.how = "git mv"
        return found
    if sub in ("apply", "am"):
        if any(word in ("--check", "--stat", "--numstat", "--summary", "--cached") for word in args):
            return []
        return _patched(heredoc, args, "git " + sub, 1) or [Write("", "write", "git " + sub, heredoc)]
    return []


_READERS = {
    "tee": _tee,
    "sed": _sed,
    "gsed": _sed,
    "perl": _perl,
    "ruby": _perl,
    "awk": _awk,
    "gawk": _awk,
    "cp": _copy,
    "mv": _copy,
    "install": _copy,
    "rsync": _copy,
    "ln": _copy,
    "scp": _copy,
    "dd": _dd,
    "truncate": _truncate,
    "touch": _truncate,
    "patch": _patch,
    "rm": _remove,
    "unlink": _remove,
    "shred": _remove,
    "trash": _remove,
    "find": _find,
    "ed": _editor,
    "ex": _editor,
    "vim": _editor,
    "vi": _editor,
    "nvim": _editor,
    "curl": _curl,
    "wget": _curl,
    "tar": _unpack,
    "unzip": _unpack,
    "gzip": _unpack,
    "gunzip": _unpack,
    "bzip2": _unpack,
    "xz": _unpack,
    "7z": _unpack,
    "sponge": _last_file,
    "sd": _last_file,
    "yq": _last_file,
    "sort": _last_file,
    "ast-grep": _last_file,
    "sg": _last_file,
    "fastmod": _last_file,
    "codemod": _last_file,
    "jscodeshift": _last_file,
    "comby": _last_file,
    "apply_patch": _apply_patch,
    "applypatch": _apply_patch,
    "git": _git,
}
