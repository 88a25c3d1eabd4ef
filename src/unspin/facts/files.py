"""Which files a call changes, what they are, and what the change did.

Paths are made absolute by their text alone; whoever can ask the file system tells the
real ones (``ToolCall.real_paths``).
"""

from __future__ import annotations

from unspin.events import BY_TOOL, EDIT, SHELL, ToolCall, ToolResult
from unspin.facts.digest import digest
from unspin.facts.probes import shows_only, shows_only_by_sed, swap, swap_by_sed
from unspin.facts.roles import file_role, is_test_like
from unspin.facts.step import FileChange
from unspin.facts.wildcards import fits_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from unspin.facts.shell import Line
    from unspin.facts.test_changes import TestChange

_MAX_NAMES = 20
_MAX_ROLES = 512  # files whose role is remembered
SNAPSHOTS = "snapshots"  # what a test runner's own update rewrites: the expected values, wherever they stand
_BACKUPS = (".bak", ".orig", ".backup", ".old", "~")


class Place:
    """The project whose files are meant, and the person's own patterns of test files."""

    __slots__ = ("_roles", "project", "test_paths")

    def __init__(self, project: str = "", test_paths: Sequence[str] = ()):
        self.project = project.rstrip("/")
        self.test_paths = test_paths
        self._roles: dict[str, str] = {}

    def relative(self, path: str) -> str:
        """Return the path as people see it: relative to the project where it lies inside."""
        if self.project and path.startswith(f"{self.project}/"):
            return path[len(self.project) + 1 :]
        return path

    def role(self, path: str) -> str:
        """Return the file's role, judged by its path inside the project where it lies there."""
        role = self._roles.get(path)
        if role is None:
            if len(self._roles) >= _MAX_ROLES:
                self._roles.clear()
            role = self._roles[path] = file_role(self.relative(path), self.test_paths)
        return role

    def targets(self, call: ToolCall, named: Mapping[str, Sequence[str]]) -> list[str]:
        """Return the real paths of the files that a call writes, moves or takes away; see ``covers``.

        A folder that is taken back or away stands for all below it, a pattern for what it matches.
        """
        found: list[str] = [real(call, path) for path in _named(call, named)]
        if call.action != SHELL:
            return found
        from unspin.facts.shell import read_line

        for write in read_line(call.command, named).writes:
            if write.path and write.change != "write":
                found.append(Folder(real(call, write.path)))
            for pattern in write.covers:
                if pattern == write.path:
                    found.append(Pattern(real(call, pattern)))
                elif pattern.endswith("/"):
                    found.append(Folder(self._tree(real(call, pattern))))
                elif pattern:
                    found.append(Pattern(absolute(pattern, call.cwd)))
        return found

    def _tree(self, folder: str) -> str:
        """Return the folder of the work tree in which ``folder`` lies, as far as that is known."""
        return self.project if self.project and folder.startswith(f"{self.project}/") else folder


class Folder(str):
    """Stands for every file below it."""

    __slots__ = ()


class Pattern(str):
    """Stands for every file that it matches, as a shell matches: ``*`` within a name, ``**`` over folders."""

    __slots__ = ()


def covers(target: str, path: str) -> bool:
    """Tell whether ``path`` is among what ``target``, a path of ``Place.targets``, stands for."""
    if target == path:
        return True
    if isinstance(target, Folder):
        return path.startswith(f"{target.rstrip('/')}/")
    return isinstance(target, Pattern) and fits_all(target.split("/"), path.split("/"), "**", _names_match)


def _names_match(pattern: str, name: str) -> bool:
    if name.startswith(".") and pattern[:1] in ("*", "?", "["):
        return False
    return pattern == name or fits_all(_tokens(pattern), name, "*", _token_matches)


def _tokens(pattern: str) -> list[str]:
    """Split a name's pattern into stars, question marks, classes and characters."""
    tokens = []
    at = 0
    while at < len(pattern):
        end = pattern.find("]", at + 2) if pattern[at] == "[" else -1
        tokens.append(pattern[at : end + 1] if end > 0 else pattern[at])
        at = end + 1 if end > 0 else at + 1
    return tokens


def _token_matches(token: str, char: str) -> bool:
    if len(token) == 1:
        return token in ("?", char)
    inside = token[1:-1]
    denied = inside[:1] in ("!", "^")
    found = False
    at = int(denied)
    while at < len(inside):
        if inside[at + 1 : at + 2] == "-" and at + 2 < len(inside):
            found = found or inside[at] <= char <= inside[at + 2]
            at += 3
        else:
            found = found or inside[at] == char
            at += 1
    return found != denied


def real(call: ToolCall, path: str) -> str:
    """Return the file that ``path`` is, by the call's folder and what its maker resolved."""
    full = absolute(path, call.cwd)
    return call.real_paths.get(full, full)


def written_paths(call: ToolCall) -> list[str]:
    """Return the absolute paths that a call names for writing, for whoever can resolve links."""
    return [absolute(path, call.cwd) for path in _named(call, {})]


def _named(call: ToolCall, named: Mapping[str, Sequence[str]]) -> list[str]:
    if call.action == EDIT:
        return [edit.path for edit in call.edits]
    if call.action == SHELL:
        from unspin.facts.shell import read_line

        return [write.path for write in read_line(call.command, named).writes if write.path]
    return []


def absolute(path: str, cwd: str) -> str:
    """Return ``path`` made absolute against ``cwd``, with ``.`` and ``..`` taken out."""
    if not path.startswith("/"):
        if path[1:3] in (":\\", ":/"):
            return path
        path = f"{cwd}/{path}"
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if parts:
                parts.pop()
        elif part and part != ".":
            parts.append(part)
    return "/" + "/".join(parts)


def read_edits(event: ToolResult, place: Place) -> list[FileChange]:
    """Return what an edit tool did or was refused; nothing where somebody else refused it."""
    call = event.call
    if event.refused and event.refused != BY_TOOL:
        return []
    changes = []
    for edit in call.edits:
        path = real(call, edit.path)
        change = FileChange(
            path,
            role=place.role(path),
            refused=event.refused == BY_TOOL or event.failed,
            before=edit.before,
            after=edit.after or call.hashes.get(path, ""),
        )
        if not change.refused:
            change.swap = swap(edit.old, edit.new, change.before, change.after)
            change.probe = "debug" if shows_only(edit.old, edit.new) else ""
            if path in call.texts:
                change.before = edit.before or digest(call.texts[path][0])
                _compare_late(change, *call.texts[path])
            elif edit.old is not None:
                _compare_late(change, edit.old, edit.new)
            elif is_test_like(change.role):
                _compare_late(change, None, edit.new)
        changes.append(change)
    return changes


def read_writes(event: ToolResult, line: Line, place: Place) -> list[FileChange]:
    """Return what a shell line wrote, as far as the line tells."""
    call = event.call
    restores = any(write.change == "move" and write.path.endswith(_BACKUPS) for write in line.writes)
    kept = {write.source for write in line.writes if write.how == "mv" and write.path.endswith(_BACKUPS)}
    changes = []
    for write in line.writes:
        if write.how == "snapshots":
            # the old values go; "move" because no edit of one file is to be counted
            path = f"{place.project or call.cwd}/{SNAPSHOTS}"
            changes.append(FileChange(path, "move", role="snapshot", shell=True, weakened=[0, 1, 0, 0, 0]))
            continue
        path = real(call, write.path) if write.path else ""
        restored = write.source.endswith(_BACKUPS) or (restores and write.how == "mv")
        aside = write.change == "move" and write.path in kept  # set aside, to be put back
        change = FileChange(
            path,
            "revert" if aside or (restored and write.change == "write") else write.change,
            role="scratch" if path.endswith(_BACKUPS) else place.role(path) if path else "source",
            shell=True,
            after=call.hashes.get(path, ""),
        )
        change.beside = write.beside
        change.probe = "format" if write.how == "formatter" else ""
        if write.script and write.how == "sed -i":
            change.swap = swap_by_sed(write.script) or [digest(write.script), ""]
            change.probe = "debug" if shows_only_by_sed(write.script) else ""
        if is_test_like(change.role):
            _read_test_write(change, call, write.script)
        elif write.change == "delete" and path:
            change.gone = [path.rsplit("/", 1)[-1].split(".", 1)[0]]
        changes.append(change)
    return changes


def _read_test_write(change: FileChange, call: ToolCall, script: str) -> None:
    if change.change == "delete":
        change.weakened = [0, 0, 0, 1, 0]
    elif change.path in call.texts:
        _compare_late(change, *call.texts[change.path])
    elif script:
        from unspin.facts.test_changes import changes_by_sed

        _take(change, changes_by_sed(script, change.path))


_COMPARED = ("weakened", "lost", "came", "gone", "mentions")


def _compare_late(change: FileChange, old: str | None, new: str) -> None:
    """Leave what a change did to its file until somebody asks; ``old`` is ``None`` where it is not known."""
    change.defer(lambda to, name: _compare(to, old, new), _COMPARED)


def _compare(change: FileChange, old: str | None, new: str) -> None:
    from unspin.facts.test_changes import compare, removed_names

    change.later = None
    change.weakened, change.lost, change.came, change.gone, change.mentions = None, [], [], [], []
    if not is_test_like(change.role):
        change.gone = sorted(removed_names(old or "", new))[:_MAX_NAMES]
        return
    _take(change, compare(old or "", new, change.path))
    if old is None:  # only what is new can be told
        change.weakened, change.lost = None, []


def _take(change: FileChange, made: TestChange) -> None:
    change.weakened = [
        made.removed_assertions,
        made.altered_assertions,
        made.added_skips,
        made.deleted_tests,
        made.added_assertions,
    ]
    change.lost, change.came = list(made.lost), list(made.came)
    change.mentions = list(made.names[:_MAX_NAMES])
