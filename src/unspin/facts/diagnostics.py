"""Does an output show that a compiler, linker or type checker refused the source?

Asked of a chain such as `make && ./a`, whose exit status does not say which part failed. Only what names a
place in a source file, or is worded as one compiler words it, counts: a program's own errors are none.
Linear, and raises on no text.
"""

from __future__ import annotations

from unspin.facts.normalise import clean_lines
from unspin.facts.patterns import pattern

_TYPESCRIPT = pattern(r"[^\s:(]{1,300}\.(?:[cm]?tsx?|vue|svelte|[cm]?jsx?)(?:\(\d+,\d+\):|:\d+:\d+ -) error TS\d+: ")
_PLACE = pattern(
    r"(?:vet: |ERROR in |\[ERROR\] |e: (?:file://)?)?(?:[A-Za-z]:)?[^\s:(]{1,300}\."
    r"(?:c|cc|cpp|cxx|cu|d|f90|go|h|hh|hpp|hs|java|kts?|m|mm|ml|nim|pas|pyi?|pyx|rs|scala|swift|vala|zig|cs|fs|vb)"
    r"(?:"
    r"(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\)) ?(?::|-) (?:fatal )?error\b"  # a.c:3:5: error, a.cs(3,5): error
    r"|:\[\d+,\d+\] \S"  # A.java:[3,5]
    r"|: ?\(\d+, \d+\): \S"  # e: A.kt: (3, 5):
    r")"
)
_GO = pattern(r"(?:vet: )?[^\s:(]{1,300}\.go:\d+:\d+: \S")
_KOTLIN = pattern(r"e: (?:file://)?[^\s:(]{1,300}\.kts?:\d+:\d+ \S")
_RUST = pattern(r"error\[E\d{3,5}\]: |error: could not compile `|error: aborting due to ")
_LINKER = ("ld returned ", "linker command failed", "undefined reference to ", "symbol(s) not found for architecture")
_STOPPED = (
    "make: ***", "gmake: ***", "make[", "ninja: build stopped", "cmake error", "npm err", "build failed",
    "gcc: ", "g++: ", "cc: ", "clang: ", "clang++: ", "rustc: ", "javac: ", "ld: ", "/usr/bin/ld: ", "collect2: ",
    "error: could not", "error: failed to", "error: file not found", "error: package `", "failed to compile",
    "error during build", "failed: ", "build error", "x build failed", "✗ build failed", "error: no main", "go: ",
)  # fmt: skip


def compiler_error(output: str, *, typescript_only: bool = False) -> bool:
    """Tell whether a compiler, linker or type checker names its error in the output."""
    for raw in clean_lines(output):
        line = raw.strip()
        if _TYPESCRIPT.match(line):
            return True
        if typescript_only:
            continue
        if _PLACE.match(line) or _RUST.match(line) or _KOTLIN.match(line) or _GO.match(line):
            return True
        if any(words in line for words in _LINKER):
            return True
    return False


def build_stopped(output: str) -> bool:
    """Tell whether a compiler or a build tool says that the build ended early, for whatever reason."""
    return compiler_error(output) or any(line.strip().lower().startswith(_STOPPED) for line in clean_lines(output))
