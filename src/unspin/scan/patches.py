"""Patches as agents write them, to edits: ``*** Begin Patch`` envelopes and unified diffs, a hunk at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from unspin.events import Edit

BEGIN = "*** Begin Patch"
_UPDATE, _ADD, _DELETE, _MOVE = "*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "


def edits_of(patch: str) -> list[Edit]:
    """Return what a patch in an envelope asks for, in its order: an edit a hunk.

    A deleted file is one whose new content is empty; what stood there is not in the patch. A moved
    file's hunks are edits of the file that was there, with one more edit of where it went.
    """
    edits: list[Edit] = []
    path, added, moved = "", False, ""
    body: list[str] = []

    def end() -> None:
        if not path:
            return
        if added:
            edits.append(Edit(path, "", "".join(f"{line[1:]}\n" for line in body if line[:1] == "+")))
        else:
            edits.extend(hunks(path, body))
        if moved:
            edits.append(Edit(moved))

    for line in patch.splitlines():
        if not line.startswith("*** "):
            body.append(line)
            continue
        if line.startswith(_MOVE):
            moved = line[len(_MOVE) :].strip()
            continue
        if line.startswith("*** End of File"):
            continue
        end()
        path, added, moved, body = "", False, "", []
        if line.startswith(_UPDATE):
            path = line[len(_UPDATE) :].strip()
        elif line.startswith(_ADD):
            path, added = line[len(_ADD) :].strip(), True
        elif line.startswith(_DELETE):
            gone = line[len(_DELETE) :].strip()
            if gone:
                edits.append(Edit(gone))
    end()
    return edits


def hunks(path: str, lines: Iterable[str]) -> Iterator[Edit]:
    """Yield an edit for each hunk: the lines of a diff of one file, from ``@@`` to ``@@``."""
    old: list[str] = []
    new: list[str] = []
    changed = False
    for line in lines:
        sign = line[:1]
        if line.startswith("@@"):
            if changed:
                yield Edit(path, "\n".join(old), "\n".join(new))
            old, new, changed = [], [], False
        elif line.startswith(("--- ", "+++ ")) and not changed and not old:
            continue
        elif sign == "-":
            old.append(line[1:])
            changed = True
        elif sign == "+":
            new.append(line[1:])
            changed = True
        elif sign in (" ", ""):
            old.append(line[1:])
            new.append(line[1:])
    if changed:
        yield Edit(path, "\n".join(old), "\n".join(new))
