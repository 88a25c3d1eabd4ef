"""What the exit status of a whole line says of one check in it.

The line is run over sets of abstract states, one bit of a mask each: what became of the check (0 did not run,
1 passed, 2 failed) * 4 + (status not zero) * 2 + (the shell has ended). Every command but the check may
succeed or fail, those that practically cannot fail excepted. What the status says is read off the states
that remain.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .shell_tree import Part


# A state is one bit of a mask: what became of the check (0 did not run, 1 passed, 2 failed) * 4
# + (status not zero) * 2 + (the shell has ended). Masks are sets of states.

_START = 1
_DEAD = 0b101010101010
_LIVE = 0b010101010101
_ZERO = 0b001100110011
_NONZERO = 0b110011001100
_ALL_FATES = (0b000000001111, 0b000011110000, 0b111100000000)


def _set_status(mask: int, zero: bool, nonzero: bool) -> int:
    """Every state with its status replaced."""
    result = 0
    folded = (mask & _ZERO) | ((mask & _NONZERO) >> 2)
    if zero:
        result |= folded
    if nonzero:
        result |= folded << 2
    return result


def _scatter(mask: int) -> int:
    """The check has run, with whatever outcome; status and end kept."""
    base = 0
    for fate in range(3):
        base |= (mask >> (4 * fate)) & 0b1111
    return (base << 4) | (base << 8)


def _end_nonzero(mask: int) -> int:
    """Under errexit: a live state with a status that is not zero ends the shell."""
    failing = mask & _NONZERO & _LIVE
    return (mask & ~failing) | (failing << 1)


def _revive(mask: int) -> int:
    """The end of a subshell ends nothing outside of it."""
    return (mask & _LIVE) | ((mask & _DEAD) >> 1)


class Outcome:
    def __init__(self, check: int, place: int) -> None:
        self.check = check
        self.place = place

    def holds(self, part: Part) -> bool:
        return part.lo <= self.check < part.hi

    def run(self, part: Part, mask: int) -> int:
        if not mask:
            return 0
        kind = part.kind
        if kind == "cmd":
            return self.command(part, mask)
        if kind == "seq":
            ended = 0
            live = mask
            for inner, operator in zip(part.parts, part.ops, strict=False):
                if operator == "&":
                    live = _set_status(_scatter(live) if self.holds(inner) else live, True, False)
                else:
                    live = self.run(inner, live)
                ended |= live & _DEAD
                live &= _LIVE
            return live | ended
        if kind == "andor":
            current = mask
            for inner, operator in zip(part.parts, part.ops, strict=False):
                if operator == "":
                    current = self.run(inner, current)
                else:
                    chosen = current & _LIVE & (_ZERO if operator == "&&" else _NONZERO)
                    current = (current & ~chosen) | self.run(inner, chosen)
            return current
        if kind == "pipe":
            return self.pipe(part, mask)
        if kind == "not":
            for inner in part.parts:
                mask = self.run(inner, mask)
            live = mask & _LIVE
            return (mask & _DEAD) | ((live & _ZERO) << 2) | ((live & _NONZERO) >> 2)
        if kind == "sub":
            for inner in part.parts:
                mask = self.run(inner, mask)
            mask = _revive(mask)
            return _end_nonzero(mask) if part.errexit else mask
        if kind == "group":
            for inner in part.parts:
                mask = self.run(inner, mask)
            return mask
        if kind == "if":
            return self.branch(part, mask)
        if kind == "loop":
            condition = self.run(part.parts[0], _set_status(mask, True, False)) if part.parts[0].parts else mask
            ended = condition & _DEAD
            body = self.run(part.parts[1], condition & _LIVE)
            if self.holds(part):
                return _set_status(_scatter(mask), True, True)
            return ended | body | _set_status(condition & _LIVE, True, False)
        if kind == "case":
            result = _set_status(mask, True, False)
            for inner in part.parts:
                result |= self.run(inner, mask)
            return result
        return _set_status(_scatter(mask) if self.holds(part) else mask, True, False)

    def branch(self, part: Part, mask: int) -> int:
        current = mask
        result = 0
        for place in range(0, len(part.parts) - 1, 2):
            current = self.run(part.parts[place], current)
            result |= current & _DEAD
            current &= _LIVE
            taken = current & _ZERO
            body = part.parts[place + 1]
            result |= self.run(body, taken)
            current &= _NONZERO
        last = part.parts[-1]
        if last.parts:
            return result | self.run(last, current)
        return result | _set_status(current, True, False)

    def pipe(self, part: Part, mask: int) -> int:
        total = _set_status(mask, True, False)
        for place, inner in enumerate(part.parts):
            if self.holds(inner):
                # only one member can hold it: the others say nothing of its fate
                own = _revive(self.run(inner, mask))
                if part.pipefail:
                    zero = own & _ZERO if total & _ZERO else 0
                    nonzero = own & _NONZERO
                    if total & _NONZERO:
                        nonzero |= _set_status(own, False, True)
                    total = zero | nonzero
                else:
                    total = own
                continue
            status = _revive(self.run(inner, _set_status(mask, True, False)))
            can_zero, can_fail = bool(status & _ZERO), bool(status & _NONZERO)
            if part.pipefail and place:
                grown = 0
                if can_zero:
                    grown |= total
                if can_fail:
                    grown |= _set_status(total, False, True)
                total = grown
            else:
                total = _set_status(total, can_zero, can_fail)
        return _end_nonzero(total) if part.errexit else total

    def command(self, part: Part, mask: int) -> int:
        if part.check == self.check:
            folded = 0
            for fate in range(3):
                folded |= (mask >> (4 * fate)) & 0b1111
            folded = (folded & 0b0001) | ((folded & 0b0100) >> 2)
            result = (folded << 4) | (folded << 10)
        elif part.inner is not None:
            result = self.run(part.inner, mask)
            if part.flags == "sub":
                result = _revive(result)
        elif part.ends in ("0", "1", "$", "?"):
            result = mask if part.ends == "$" else _set_status(mask, part.ends in ("0", "?"), part.ends in ("1", "?"))
            return ((result & _LIVE) << 1) | (result & _DEAD)
        elif part.ends == "false":
            result = _set_status(mask, False, True)
        else:
            sure = part.sure or (part.sure_after and part.place > self.place)
            result = _set_status(mask, True, not sure)
        if part.subs and any(self.holds(sub) for sub in part.subs):
            result = _set_status(_scatter(result), bool(result & _ZERO), True)
        if part.ends == "exec":
            return ((result & _LIVE) << 1) | (result & _DEAD)
        return _end_nonzero(result) if part.errexit else result


def always_zero(part: Part) -> bool:
    """Can this substitution only end in status zero?"""
    return not Outcome(-2, 1 << 30).run(part, _START) & _NONZERO


def judge(tree: Part, number: int, place: int) -> tuple[str, str]:
    mask = Outcome(number, place).run(tree, _START)
    idle, passed, failed = _ALL_FATES
    zero, nonzero = mask & _ZERO, mask & _NONZERO
    on_zero = "passed" if zero and not zero & (idle | failed) else "unknown"
    if nonzero and not nonzero & (idle | passed):
        on_nonzero = "failed"
    elif nonzero & failed and not zero & failed:
        on_nonzero = "perhaps"
    else:
        on_nonzero = "unknown"
    return on_zero, on_nonzero


class _Any(Outcome):
    """Run with several checks at once: fate 2 is "one of them failed", and stays."""

    def __init__(self, checks: frozenset[int], place: int) -> None:
        super().__init__(-2, place)
        self.checks = checks

    def command(self, part: Part, mask: int) -> int:
        if part.check not in self.checks:
            return super().command(part, mask)
        dead = mask & _DEAD
        live = mask & _LIVE
        passed = _set_status(live, True, False)
        merged = (live | live >> 4 | live >> 8) & 0b1111
        failed = _set_status(merged << 8, False, True)
        result = dead | passed | failed
        return _end_nonzero(result) if part.errexit else result


def proves_failure(tree: Part, checks: frozenset[int], place: int) -> bool:
    """Does a status that is not zero prove that one of these checks failed?"""
    mask = _Any(checks, place).run(tree, _START)
    failed = _ALL_FATES[2]
    nonzero = mask & _NONZERO
    return bool(nonzero) and not nonzero & ~failed and not mask & _ZERO & failed


def places_of(tree: Part, result: dict[int, int]) -> None:
    stack = [tree]
    while stack:
        part = stack.pop()
        if part.check >= 0:
            result[part.check] = part.place
        stack.extend(part.parts)
        stack.extend(part.subs)
        if part.inner is not None:
            stack.append(part.inner)
